/* Forward of x with one channel, as in most first layers: see kernel_loops.h for the
 * macros.  There is so little to multiply that gathering would take a third of the
 * time.  One sample of x, with a zero behind it for empty slots, stays in the
 * first-level cache, and its values are read from there through a table of 32-bit
 * places made once for all samples. */

/* Largest sample of x to be kept in the first-level cache. */
enum { NAME(scalar_nodes) = 16384 / sizeof(REAL) };

/* Fewest samples; not fewer than lanes, which grad_x_lanes needs. */
enum { NAME(scalar_samples) = 16 };
_Static_assert(NAME(scalar_samples) * sizeof(REAL) >= VECTOR_BYTES, "a vector of samples");

struct NAME(scalar_plan) {
    const struct problem *problem;
    const REAL *packed; /* weight (p, f) as panels */
    const REAL *base;   /* bias or zeros, padded (f) */
    const int32_t *place; /* (N, p): index, or n_in for an empty slot */
};

/* Whether the sums can be done here: the samples share a table, and are enough of
 * them to be the work items, or the lanes of a vector. */
static int NAME(is_scalar)(const struct problem *a)
{
    return a->depth == 1 && !a->scale && !a->per_sample && a->n_in < NAME(scalar_nodes) &&
           a->n_samples >= NAME(scalar_samples);
}

/* out[i, :columns] = base + sum over r of x[place[i, r]] * panel[r] for a tile of rows,
 * f apart. */
static ALWAYS_INLINE void
NAME(scalar_tile)(const int tile_rows, const int nv, const REAL *x, const int32_t *place,
                  int64_t p, const REAL *panel, const REAL *base, REAL *out, int64_t f,
                  int64_t columns)
{
    VECTOR sum[8][3];
    UNROLL
    for (int i = 0; i < tile_rows; i++)
        UNROLL
        for (int v = 0; v < nv; v++)
            sum[i][v] = ((const VECTOR *)base)[v];

    for (int64_t r = 0; r < p; r++, panel += nv * LANES)
        UNROLL
        for (int i = 0; i < tile_rows; i++)
            UNROLL
            for (int v = 0; v < nv; v++)
                sum[i][v] += x[place[i * p + r]] * ((const VECTOR *)panel)[v];

    const int64_t last_lanes = columns - (nv - 1) * LANES;
    UNROLL
    for (int i = 0; i < tile_rows; i++, out += f)
        UNROLL
        for (int v = 0; v < nv; v++)
            if (v == nv - 1 && last_lanes < LANES)
                NAME(store_part)(out + v * LANES, sum[i][v], last_lanes, 0);
            else
                *(UNALIGNED *)(out + v * LANES) = sum[i][v];
}

/* The same for any number of rows. */
#define DEFINE_SCALAR_ROWS(function, nv)                                                       \
    static void function(const REAL *x, const int32_t *place, int64_t rows, int64_t p,         \
                         const REAL *panel, const REAL *base, REAL *out, int64_t f,            \
                         int64_t columns)                                                      \
    {                                                                                          \
        int64_t i = 0;                                                                         \
        for (; i + TILE_ROWS(nv) <= rows; i += TILE_ROWS(nv))                                  \
            NAME(scalar_tile)(TILE_ROWS(nv), nv, x, place + i * p, p, panel, base,             \
                              out + i * f, f, columns);                                        \
        for (; i < rows; i++)                                                                  \
            NAME(scalar_tile)(1, nv, x, place + i * p, p, panel, base, out + i * f, f,         \
                              columns);                                                        \
    }
DEFINE_SCALAR_ROWS(NAME(scalar_rows_1), 1)
DEFINE_SCALAR_ROWS(NAME(scalar_rows_2), 2)
DEFINE_SCALAR_ROWS(NAME(scalar_rows_3), 3)
#undef DEFINE_SCALAR_ROWS

/* Work item: one sample, in blocks of rows that stay in the cache for all panels. */
static void NAME(scalar_item)(const void *context, int64_t sample, void *scratch)
{
    const struct NAME(scalar_plan) *plan = context;
    const struct problem *a = plan->problem;
    const int64_t p = a->n_ranks, f = a->width;
    const REAL *from = (const REAL *)a->x + sample * a->n_in;
    REAL *x = scratch, *out = (REAL *)a->out + sample * a->n_out * f;

    for (int64_t j = 0; j < a->n_in; j++)
        x[j] = from[j];
    x[a->n_in] = 0;
    for (int64_t row = 0; row < a->n_out; row += ROWS) {
        const int32_t *place = plan->place + row * p;
        const int64_t rows = min64(ROWS, a->n_out - row);
        for (int64_t column = 0; column < f;) {
            const int nv = NAME(panel_vectors)(column, f);
            const REAL *panel = plan->packed + p * column, *base = plan->base + column;
            REAL *target = out + row * f + column;
            if (nv == 1)
                NAME(scalar_rows_1)(x, place, rows, p, panel, base, target, f, f - column);
            else if (nv == 2)
                NAME(scalar_rows_2)(x, place, rows, p, panel, base, target, f, f - column);
            else
                NAME(scalar_rows_3)(x, place, rows, p, panel, base, target, f, f - column);
            column += nv * LANES;
        }
    }
}

/* out[m, i] = bias + sum_r x[m, index[i, r]] * weight[r], with weight packed. */
static int NAME(forward_scalar)(const struct problem *a, const REAL *packed, const REAL *base)
{
    int32_t *place = scalar_places(a);
    if (!place)
        return WALKCONV_NO_MEMORY;
    const struct NAME(scalar_plan) plan = {a, packed, base, place};
    const double cost = (double)(a->n_samples * a->n_out * (a->n_ranks + 4)) * (double)a->width;
    const int status =
        parallel_items(a->n_threads, a->n_samples, cost,
                       (size_t)(a->n_in + 1) * sizeof(REAL), NAME(scalar_item), &plan);
    free(place);
    return status;
}
