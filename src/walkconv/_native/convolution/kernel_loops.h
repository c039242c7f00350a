/* Vector types, packing and the register tile shared by forward and backward.
 *
 * Included once per instruction set and dtype, with these macros defined:
 *   REAL, WHOLE   float or double, and an integer of the same size
 *   VECTOR_BYTES  16, 32 or 64
 *   NAME(x)       x with a suffix naming instruction set and dtype
 *
 * All products have the form  rows (n, k) @ panel (k, nv * LANES)  where the
 * rows are reached through pointers (so nothing is gathered for wide rows) and
 * the panel is a zero-padded, aligned copy of nv <= 3 vectors' worth of
 * columns.  A tile keeps TILE_ROWS(nv) * nv = 8 or 12 accumulators, enough to
 * hide the latency of a multiply-add and few enough for 16 registers. */

#define LANES ((int64_t)(VECTOR_BYTES / sizeof(REAL)))
#define QUAD_LANES ((int64_t)(16 / sizeof(REAL)))

typedef REAL NAME(vector) __attribute__((vector_size(VECTOR_BYTES), may_alias));
typedef REAL NAME(unaligned)
    __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(REAL)), may_alias));
typedef REAL NAME(quad) __attribute__((vector_size(16), aligned(sizeof(REAL)), may_alias));
#define VECTOR NAME(vector)
#define UNALIGNED NAME(unaligned)
#define QUAD NAME(quad)

/* Width of `width` columns padded to whole vectors. */
static inline int64_t NAME(padded)(int64_t width)
{
    return ceil_div(width, LANES) * LANES;
}

/* Vectors in the panel that begins at column `column`: pairs, and one triple
 * where the number of vectors is odd; a single one only if there is one. */
static inline int NAME(panel_vectors)(int64_t column, int64_t width)
{
    const int64_t left = ceil_div(width - column, LANES);
    return left == 1 ? 1 : left == 3 ? 3 : 2;
}

/* target[:n] = value[:n], or += if adds, for n < LANES values: no more is touched. */
static ALWAYS_INLINE void NAME(store_part)(REAL *target, VECTOR value, int64_t n,
                                           const int adds)
{
    const QUAD *quads = (const QUAD *)&value;
    UNROLL
    for (int q = 0; q < VECTOR_BYTES / 16 - 1; q++)
        if (n >= (q + 1) * QUAD_LANES) {
            if (adds)
                *(QUAD *)(target + q * QUAD_LANES) += quads[q];
            else
                *(QUAD *)(target + q * QUAD_LANES) = quads[q];
        }
    for (int64_t j = n / QUAD_LANES * QUAD_LANES; j < n; j++)
        target[j] = adds ? target[j] + ((const REAL *)&value)[j] : ((const REAL *)&value)[j];
}

/* Packs a matrix (total, width) as panels: the panel beginning at column c is
 * (total, nv * LANES), zero-padded, at packed + total * c.  This call fills its
 * rows first .. first + n_k from source (n_k, width) with rows `step` apart. */
static void NAME(pack)(int64_t total, int64_t first, int64_t n_k, int64_t width,
                       const REAL *source, int64_t step, REAL *packed)
{
    for (int64_t column = 0; column < width;) {
        const int64_t panel = NAME(panel_vectors)(column, width) * LANES;
        const int64_t columns = min64(panel, width - column);
        REAL *to = packed + total * column + first * panel;
        const REAL *from = source + column;
        int64_t j = 0;
        for (; j + LANES <= columns; j += LANES)
            for (int64_t k = 0; k < n_k; k++)
                *(VECTOR *)(to + k * panel + j) = *(const UNALIGNED *)(from + k * step + j);
        for (int64_t k = 0; j < columns && k < n_k; k++) {
            *(VECTOR *)(to + k * panel + j) = (VECTOR){0};
            int64_t i = j;
            for (; i + QUAD_LANES <= columns; i += QUAD_LANES)
                *(QUAD *)(to + k * panel + i) = *(const QUAD *)(from + k * step + i);
            for (; i < columns; i++)
                to[k * panel + i] = from[k * step + i];
        }
        column += panel;
    }
}

/* The same for the transpose of source, given as (width, n_k) rows `step` apart. */
static void NAME(pack_transposed)(int64_t total, int64_t first, int64_t n_k, int64_t width,
                                  const REAL *source, int64_t step, REAL *packed)
{
    for (int64_t column = 0; column < width;) {
        const int64_t panel = NAME(panel_vectors)(column, width) * LANES;
        REAL *to = packed + total * column + first * panel;
        for (int64_t k = 0; k < n_k; k++, to += panel)
            for (int64_t j = 0; j < panel; j++)
                to[j] = column + j < width ? source[(column + j) * step + k] : 0;
        column += panel;
    }
}

/* A product of rows with one panel.  Row i is the n_runs runs of `run` values at
 * source[q * ROWS + i]; source must be valid up to a whole tile of rows. */
struct NAME(product) {
    const REAL *const *source;
    int64_t n_runs, run;
    const REAL *panel;   /* (n_runs * run, nv * LANES) */
    REAL *const *target; /* row i of the result, where its column 0 is */
    int64_t column;      /* where the panel begins in the result */
    int64_t columns;     /* from there to the result's last column */
    const REAL *base;    /* (columns), padded: begins each sum; NULL: add to the result */
    const REAL *factor;  /* of each row, when added to the result */
    int prefetch;        /* ask for the sources of the tile after the present one, */
    const REAL *const *ahead; /* which for the last tile are here: (n_runs, ROWS) or NULL */
};

/* Asks for the cache lines of `length` values at each of n places, before they
 * are needed.  Inlined by force: GCC takes a function that only prefetches for
 * one without effect, and drops its calls. */
static ALWAYS_INLINE void
NAME(prefetch)(const REAL *const *values, int64_t n, int64_t length)
{
    const int64_t bytes = length * (int64_t)sizeof(REAL);
    for (int64_t offset = 0; offset < bytes; offset += 64)
        for (int64_t i = 0; i < n; i++)
            __builtin_prefetch((const char *)values[i] + offset);
    if (bytes % 64) /* the values may straddle one line more */
        for (int64_t i = 0; i < n; i++)
            __builtin_prefetch((const char *)values[i] + bytes - 1);
}

/* Rows first .. first + rows of a product, rows <= tile_rows:
 * target = base + row @ panel, or, if adds, target += factor * (row @ panel).
 * `wanted` (n_runs, ROWS), if not NULL, are the sources to ask for meanwhile: few at
 * a time, as a core fetches only some twenty lines at once. */
static ALWAYS_INLINE void
NAME(tile)(const int tile_rows, const int nv, const int adds, const struct NAME(product) *a,
           int64_t first, int64_t rows, const REAL *const *wanted)
{
    VECTOR sum[8][3];
    UNROLL
    for (int i = 0; i < tile_rows; i++)
        UNROLL
        for (int v = 0; v < nv; v++)
            sum[i][v] = adds ? (VECTOR){0} : ((const VECTOR *)a->base)[v];

    const VECTOR *panel = (const VECTOR *)a->panel;
    const REAL *const *source = a->source + first;
    const int64_t run = a->run;
    for (int64_t q = a->n_runs; q > 0; q--, source += ROWS) {
        const REAL *row[8];
        UNROLL
        for (int i = 0; i < tile_rows; i++)
            row[i] = source[i];
        if (wanted) {
            NAME(prefetch)(wanted, tile_rows, run);
            wanted += ROWS;
        }
        for (int64_t k = 0; k < run; k++, panel += nv) {
            UNROLL
            for (int i = 0; i < tile_rows; i++)
                UNROLL
                for (int v = 0; v < nv; v++)
                    sum[i][v] += row[i][k] * panel[v];
        }
    }

    REAL *const *targets = a->target + first;
    const REAL *factors = adds ? a->factor + first : NULL;
    const int64_t column = a->column, last_lanes = a->columns - (nv - 1) * LANES;
    UNROLL
    for (int i = 0; i < tile_rows; i++) {
        if (i >= rows)
            break;
        REAL *target = targets[i] + column;
        UNROLL
        for (int v = 0; v < nv; v++) {
            VECTOR value = sum[i][v];
            if (adds)
                value *= factors[i];
            if (v == nv - 1 && last_lanes < LANES)
                NAME(store_part)(target + v * LANES, value, last_lanes, adds);
            else if (adds)
                *(UNALIGNED *)(target + v * LANES) += value;
            else
                *(UNALIGNED *)(target + v * LANES) = value;
        }
    }
}

#define TILE_ROWS(nv) ((nv) == 1 ? 8 : (nv) == 2 ? 6 : 4)

/* All rows of a product with a panel of nv vectors. */
#define DEFINE_PRODUCT(function, nv)                                                           \
    static void function(const struct NAME(product) *a, int64_t rows)                          \
    {                                                                                          \
        for (int64_t i = 0; i < rows; i += TILE_ROWS(nv)) {                                    \
            const int64_t next = i + TILE_ROWS(nv);                                            \
            const REAL *const *wanted = next < rows ? a->source + next : a->ahead;             \
            if (!a->prefetch)                                                                  \
                wanted = NULL;                                                                 \
            if (a->base)                                                                       \
                NAME(tile)(TILE_ROWS(nv), nv, 0, a, i, rows - i, wanted);                      \
            else                                                                               \
                NAME(tile)(TILE_ROWS(nv), nv, 1, a, i, rows - i, wanted);                      \
        }                                                                                      \
    }
DEFINE_PRODUCT(NAME(product_1), 1)
DEFINE_PRODUCT(NAME(product_2), 2)
DEFINE_PRODUCT(NAME(product_3), 3)
#undef DEFINE_PRODUCT

/* Rows times all panels of a packed matrix (n_k, width), of which the rows meet
 * rows k .. k + n_runs * run; base is padded (width) or NULL. */
static void NAME(rows_times_panels)(struct NAME(product) *a, int64_t rows, const REAL *packed,
                                    int64_t n_k, int64_t k, int64_t width, const REAL *base)
{
    for (int64_t column = 0; column < width;) {
        const int nv = NAME(panel_vectors)(column, width);
        a->panel = packed + n_k * column + k * nv * LANES;
        a->column = column;
        a->columns = width - column;
        a->base = base ? base + column : NULL;
        if (nv == 1)
            NAME(product_1)(a, rows);
        else if (nv == 2)
            NAME(product_2)(a, rows);
        else
            NAME(product_3)(a, rows);
        a->prefetch = 0;
        column += nv * LANES;
    }
}

/* Depth wide enough to read neighbours in place; narrower ones are gathered. */
enum { NAME(direct_depth) = 4 };

/* Most columns of (p, d) in one chunk, so that a panel of three vectors stays
 * in the first-level cache. */
enum { NAME(chunk_columns) = 1024 / sizeof(REAL) };

/* Where flattened output row `row` = (sample, node) finds its neighbours. */
struct NAME(neighbours) {
    const struct problem *problem;
    const REAL *x, *scale;
    const REAL *zero;      /* (d) zeros: what an empty slot points at */
    const int32_t *offset; /* from share_offsets, or NULL */
    int gathered;          /* rows are copied (narrow or scaled) instead of pointed at */
};

/* Whether rows are copied. */
static int NAME(is_gathered)(const struct problem *a)
{
    return a->scale != NULL || a->depth < NAME(direct_depth);
}

/* Pointers into x (one sample) for `rows` rows and n_ranks ranks of offsets, whose
 * ranks are n_out apart: source (n_ranks, stride). */
static void NAME(point_by_offset)(const REAL *x, const REAL *zero, const int32_t *offset,
                                  int64_t n_out, int64_t rows, int64_t n_ranks,
                                  int64_t stride, const REAL **source)
{
    for (int64_t r = 0; r < n_ranks; r++, offset += n_out, source += stride)
        for (int64_t i = 0; i < rows; i++)
            source[i] = offset[i] >= 0 ? x + offset[i] : zero;
}

/* The same by `rows` rows of index, `step` apart.  Anything outside [0, n_in) is an
 * empty slot. */
static void NAME(point_at)(const REAL *x, const REAL *zero, int64_t n_in, int64_t d,
                           const int64_t *index, int64_t step, int64_t rows, int64_t n_ranks,
                           int64_t stride, const REAL **source)
{
    for (int64_t r = 0; r < n_ranks; r++, index++, source += stride)
        for (int64_t i = 0; i < rows; i++) {
            const int64_t j = index[i * step];
            source[i] = (uint64_t)j < (uint64_t)n_in ? x + j * d : zero;
        }
}

/* x[j], or zero for an empty slot. */
static ALWAYS_INLINE REAL NAME(scalar_at)(const REAL *x, int64_t n_in, int64_t j)
{
    return (uint64_t)j < (uint64_t)n_in ? x[j] : 0;
}

/* The same for x (n_in, 1), copied to panel (rows, n_ranks); four rows at a time,
 * as this is most of the work of a first layer. */
static void NAME(gather_scalars)(const REAL *x, int64_t n_in, const int64_t *index,
                                 int64_t step, int64_t rows, int64_t n_ranks, REAL *panel)
{
    int64_t i = 0;
    for (; i + 4 <= rows; i += 4, index += 4 * step, panel += 4 * n_ranks)
        for (int64_t r = 0; r < n_ranks; r++) {
            panel[r] = NAME(scalar_at)(x, n_in, index[r]);
            panel[n_ranks + r] = NAME(scalar_at)(x, n_in, index[step + r]);
            panel[2 * n_ranks + r] = NAME(scalar_at)(x, n_in, index[2 * step + r]);
            panel[3 * n_ranks + r] = NAME(scalar_at)(x, n_in, index[3 * step + r]);
        }
    for (; i < rows; i++, index += step, panel += n_ranks)
        for (int64_t r = 0; r < n_ranks; r++)
            panel[r] = NAME(scalar_at)(x, n_in, index[r]);
}

/* The same values copied to panel (rows, n_ranks * length), scaled if scale. */
static void NAME(gather)(const REAL *x, const REAL *zero, int64_t n_in, int64_t d,
                         const int64_t *index, const REAL *scale, int64_t step, int64_t rows,
                         int64_t n_ranks, int64_t length, REAL *panel)
{
    if (d == 1 && !scale) {
        NAME(gather_scalars)(x, n_in, index, step, rows, n_ranks, panel);
        return;
    }
    for (int64_t i = 0; i < rows; i++, index += step, panel += n_ranks * length) {
        for (int64_t r = 0; r < n_ranks; r++) {
            const REAL *value = (uint64_t)index[r] < (uint64_t)n_in ? x + index[r] * d : zero;
            const REAL factor = scale ? scale[r] : 1;
            for (int64_t j = 0; j < length; j++)
                panel[r * length + j] = factor * value[j];
        }
        scale += scale ? step : 0;
    }
}

/* Sources of flattened rows row .. row + rows of (M, N) for one chunk: pointers
 * (n_ranks, stride) into x or, if gathered, (stride) into the filled panel. */
static void NAME(find_rows)(const struct NAME(neighbours) *from, int64_t row, int64_t rows,
                            struct chunk c, int64_t stride, const REAL **source, REAL *panel)
{
    const struct problem *a = from->problem;
    const int64_t p = a->n_ranks, d = a->depth, columns = c.n_ranks * c.length;
    for (int64_t done = 0; done < rows;) {
        const int64_t sample = (row + done) / a->n_out, node = (row + done) % a->n_out;
        const int64_t n = min64(rows - done, a->n_out - node);
        const int64_t slot = (a->per_sample ? row + done : node) * p + c.rank;
        const REAL *x = from->x + sample * a->n_in * d + c.first;
        if (from->gathered) {
            NAME(gather)(x, from->zero, a->n_in, d, a->index + slot,
                         from->scale ? from->scale + slot : NULL, p, n, c.n_ranks, c.length,
                         panel + done * columns);
            for (int64_t i = done; i < done + n; i++)
                source[i] = panel + i * columns;
        } else if (from->offset) {
            NAME(point_by_offset)(x, from->zero, from->offset + c.rank * a->n_out + node,
                                  a->n_out, n, c.n_ranks, stride, source + done);
        } else {
            NAME(point_at)(x, from->zero, a->n_in, d, a->index + slot, p, n, c.n_ranks, stride,
                           source + done);
        }
        done += n;
    }
}

/* Repeats the last row's source up to a whole tile: sources are (n_runs, ROWS). */
static void NAME(fill_tile)(const REAL **source, int64_t n_runs, int64_t rows)
{
    for (int64_t q = 0; q < n_runs; q++, source += ROWS)
        for (int64_t i = rows; i < min64(ROWS, rows + 8); i++)
            source[i] = source[rows - 1];
}

/* Whether an array (rows, length) is larger than `kib` KiB: then it pays to ask
 * for its rows before they are needed. */
static inline int NAME(exceeds)(int64_t kib, int64_t rows, int64_t length)
{
    return rows * length * (int64_t)sizeof(REAL) > kib * 1024;
}
