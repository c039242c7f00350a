/* grad_weight (p, d, f) and grad_bias (f): see kernel_loops.h for the macros.
 *
 * They are summed over blocks of rows into a number of partial sums fixed by the
 * shapes, and these are added in order. */

/* Rows (M * N) of grad_out that meet one chunk of gathered x. */
enum { NAME(block_rows) = 96 };

/* Columns of (p, d) gathered at a time, if they are gathered. */
enum { NAME(gather_columns) = 512 / sizeof(REAL) };

struct NAME(weight_plan) {
    const struct problem *problem;
    struct NAME(neighbours) from;
    int prefetch;
    REAL *partial; /* (n_partials, p * d + 1, f padded): grad_weight, grad_bias */
    int64_t n_partials, partial_blocks; /* blocks of rows in one partial sum */
    int64_t n_slices, slice_columns;    /* slices of (p, d): further work items */
};

/* A block of rows and a chunk of (p, d), and where its values of x are. */
struct NAME(weight_step) {
    int64_t row, rows, k;
    struct chunk chunk;
    const REAL **source; /* (block_rows) */
    REAL *gathered;      /* (block_rows, gather_columns), if gathered */
};

/* Rows of grad_out, where they are if they have a whole vector, else copied and padded. */
struct NAME(grad_rows) {
    const REAL *first;
    int64_t step; /* from row to row */
    int64_t last; /* where the last vector begins: it may begin within the one before */
};

/* The values of (p, d) that meet a block of rows: row i has them at source[i] or, if
 * place is given, at x[place[i, :]]. */
struct NAME(values) {
    const REAL *const *source;
    const REAL *x;
    const int32_t *place; /* (rows, p) */
    int64_t p;
};

/* sum[c, :] += sum over rows of value[row, first + c] * grad[row, :] for n_c <= 8
 * columns c of the (p, d) axis and nv vectors of grad, the last one at `last`. */
static ALWAYS_INLINE void
NAME(weight_tile)(const int n_c, const int nv, const int placed, int64_t rows,
                  const struct NAME(values) *values, int64_t first, const REAL *grad,
                  int64_t step, int64_t last, REAL *sum, int64_t sum_stride)
{
    VECTOR tile[8][3];
    UNROLL
    for (int c = 0; c < n_c; c++)
        UNROLL
        for (int v = 0; v < nv; v++)
            tile[c][v] = (VECTOR){0};

    const REAL *const *source = values->source, *x = values->x;
    const int32_t *place = placed ? values->place + first : NULL;
    for (int64_t i = 0; i < rows; i++, grad += step, place += placed ? values->p : 0) {
        const REAL *value = placed ? NULL : source[i] + first;
        VECTOR row_grad[3];
        UNROLL
        for (int v = 0; v < nv; v++)
            row_grad[v] = *(const UNALIGNED *)(grad + (v < nv - 1 ? v * LANES : last));
        UNROLL
        for (int c = 0; c < n_c; c++)
            UNROLL
            for (int v = 0; v < nv; v++)
                tile[c][v] += (placed ? x[place[c]] : value[c]) * row_grad[v];
    }

    UNROLL
    for (int c = 0; c < n_c; c++)
        UNROLL
        for (int v = 0; v < nv; v++)
            *(VECTOR *)(sum + c * sum_stride + v * LANES) += tile[c][v];
}

#define WEIGHT_TILE(n_c, nv)                                                                   \
    case n_c:                                                                                  \
        if (values->place)                                                                     \
            NAME(weight_tile)(n_c, nv, 1, rows, values, first, grad, step, last, sum, stride); \
        else                                                                                   \
            NAME(weight_tile)(n_c, nv, 0, rows, values, first, grad, step, last, sum, stride); \
        break;
#define WEIGHT_TILES_4(nv)                                                                     \
    WEIGHT_TILE(1, nv) WEIGHT_TILE(2, nv) WEIGHT_TILE(3, nv) WEIGHT_TILE(4, nv)
#define WEIGHT_TILES_6(nv) WEIGHT_TILES_4(nv) WEIGHT_TILE(5, nv) WEIGHT_TILE(6, nv)
#define WEIGHT_TILES_8(nv) WEIGHT_TILES_6(nv) WEIGHT_TILE(7, nv) WEIGHT_TILE(8, nv)

/* weight_tile for n_c columns, with constant bounds for the compiler. */
#define DEFINE_WEIGHT_COLUMNS(function, tiles)                                                 \
    static void function(int64_t n_c, int64_t rows, const struct NAME(values) *values,         \
                         int64_t first, const REAL *grad, int64_t step, int64_t last,          \
                         REAL *sum, int64_t stride)                                            \
    {                                                                                          \
        switch (n_c) {                                                                         \
            tiles                                                                              \
        }                                                                                      \
    }
DEFINE_WEIGHT_COLUMNS(NAME(weight_columns_1), WEIGHT_TILES_8(1))
DEFINE_WEIGHT_COLUMNS(NAME(weight_columns_2), WEIGHT_TILES_6(2))
DEFINE_WEIGHT_COLUMNS(NAME(weight_columns_3), WEIGHT_TILES_4(3))
#undef DEFINE_WEIGHT_COLUMNS
#undef WEIGHT_TILES_8
#undef WEIGHT_TILES_6
#undef WEIGHT_TILES_4
#undef WEIGHT_TILE

/* What is read next, and asked for meanwhile. */
struct NAME(wanted) {
    const REAL *const *source; /* (rows): of x, or NULL */
    const REAL *grad;          /* n_grad values of grad_out */
    int64_t n_grad;
};

/* Asks for part t of n of it. */
static ALWAYS_INLINE void NAME(ask_for)(const struct NAME(wanted) *next, int64_t rows,
                                        int64_t columns, int64_t t, int64_t n)
{
    const int64_t row = rows * t / n;
    if (next->source)
        NAME(prefetch)(next->source + row, rows * (t + 1) / n - row, columns);
    const int64_t end = next->n_grad * (t + 1) / n;
    for (int64_t j = next->n_grad * t / n; j < end; j += 64 / (int64_t)sizeof(REAL))
        __builtin_prefetch(next->grad + j);
}

/* sum (columns, f padded) += values^T @ grad for one block of rows, in tiles of
 * nearly equal height. */
static void NAME(add_weight)(int64_t rows, const struct NAME(values) *values, int64_t columns,
                             struct NAME(grad_rows) g, int64_t f, REAL *sum,
                             const struct NAME(wanted) *next)
{
    const int64_t stride = NAME(padded)(f);
    for (int64_t column = 0; column < f;) {
        const int nv = NAME(panel_vectors)(column, f);
        const int64_t n_tiles = ceil_div(columns, TILE_ROWS(nv));
        const REAL *grad = g.first + column;
        const int64_t step = g.step, last = min64((nv - 1) * LANES, g.last - column);
        int64_t k = 0;
        for (int64_t t = 0; t < n_tiles; t++) {
            const int64_t n_c = ceil_div(columns - k, n_tiles - t);
            REAL *target = sum + k * stride + column;
            if (column == 0)
                NAME(ask_for)(next, rows, columns, t, n_tiles);
            if (nv == 1)
                NAME(weight_columns_1)(n_c, rows, values, k, grad, step, last, target, stride);
            else if (nv == 2)
                NAME(weight_columns_2)(n_c, rows, values, k, grad, step, last, target, stride);
            else
                NAME(weight_columns_3)(n_c, rows, values, k, grad, step, last, target, stride);
            k += n_c;
        }
        column += nv * LANES;
    }
}

/* sum (f padded) += sum of the rows of grad_out: four rows at a time, as one
 * addition must wait for the one before it. */
static void NAME(add_bias)(int64_t rows, struct NAME(grad_rows) g, int64_t f, REAL *sum)
{
    for (int64_t column = 0; column < f; column += LANES) {
        const REAL *grad = g.first + min64(column, g.last);
        VECTOR total[4] = {{0}, {0}, {0}, {0}};
        int64_t i = 0;
        for (; i + 4 <= rows; i += 4)
            UNROLL
            for (int t = 0; t < 4; t++)
                total[t] += *(const UNALIGNED *)(grad + (i + t) * g.step);
        for (; i < rows; i++)
            total[0] += *(const UNALIGNED *)(grad + i * g.step);
        *(VECTOR *)(sum + column) += (total[0] + total[1]) + (total[2] + total[3]);
    }
}

/* Sets a step to the rows from `row` before end_row and the chunk from k. */
static void NAME(set_weight_step)(const struct NAME(weight_plan) *plan, int64_t row,
                                  int64_t end_row, int64_t k, int64_t end_k,
                                  struct NAME(weight_step) *s)
{
    const int64_t depth = plan->problem->depth;
    s->row = row;
    s->rows = min64(NAME(block_rows), end_row - row);
    s->k = k;
    s->chunk = chunk_at(k, end_k, depth, plan->from.gathered ? NAME(gather_columns) : depth);
    if (s->rows > 0)
        NAME(find_rows)(&plan->from, row, s->rows, s->chunk, NAME(block_rows), s->source,
                        s->gathered);
}

/* Work item: one slice of the columns (p, d) of one partial sum. */
static void NAME(grad_weight_item)(const struct NAME(weight_plan) *plan, int64_t item,
                                   void *scratch)
{
    const struct problem *a = plan->problem;
    const int64_t n_k = a->n_ranks * a->depth, f = a->width, f_padded = NAME(padded)(f);
    const int64_t part = item / plan->n_slices, slice = item % plan->n_slices;
    const int64_t first_k = a->grad_weight ? min64(n_k, slice * plan->slice_columns) : n_k;
    const int64_t end_k = min64(n_k, first_k + plan->slice_columns);
    const int64_t first_row = part * plan->partial_blocks * NAME(block_rows);
    const int64_t end_row = min64(a->n_samples * a->n_out,
                                  first_row + plan->partial_blocks * NAME(block_rows));
    const int bias = a->grad_bias && slice == 0;
    REAL *sum = plan->partial + part * (n_k + 1) * f_padded, *bias_sum = sum + n_k * f_padded;
    REAL *copy = scratch; /* (block_rows, LANES) of grad_out, if it is narrower than that */
    struct NAME(grad_rows) grad = {.step = max64(f, LANES), .last = max64(f - LANES, 0)};
    struct NAME(weight_step) now, next;
    now.gathered = copy + NAME(block_rows) * LANES;
    next.gathered = now.gathered + NAME(block_rows) * NAME(gather_columns);
    now.source = (const REAL **)(next.gathered + NAME(block_rows) * NAME(gather_columns));
    next.source = now.source + NAME(block_rows);

    for (int64_t j = first_k * f_padded; j < end_k * f_padded; j++)
        sum[j] = 0;
    for (int64_t j = 0; bias && j < f_padded; j++)
        bias_sum[j] = 0;

    NAME(set_weight_step)(plan, first_row, end_row, first_k, end_k, &now);
    while (now.rows > 0) {
        const int64_t columns = now.chunk.n_ranks * now.chunk.length, k = now.k + columns;
        if (k < end_k)
            NAME(set_weight_step)(plan, now.row, end_row, k, end_k, &next);
        else
            NAME(set_weight_step)(plan, now.row + NAME(block_rows), end_row, first_k, end_k,
                                  &next);
        if (now.k == first_k) {
            grad.first = (const REAL *)a->grad_out + now.row * f;
            if (f < LANES) {
                NAME(pack)(NAME(block_rows), 0, now.rows, f, grad.first, f, copy);
                grad.first = copy;
            }
            if (bias)
                NAME(add_bias)(now.rows, grad, f, bias_sum);
        }
        const struct NAME(values) values = {.source = now.source};
        /* The next block of grad_out, a part of it with each chunk. */
        const int64_t n_grad = min64(NAME(block_rows), end_row - now.row - now.rows) * f;
        const int64_t asked = n_grad * (now.k - first_k) / max64(1, end_k - first_k);
        const struct NAME(wanted) wanted = {
            .source = plan->prefetch && next.rows >= now.rows ? next.source : NULL,
            .grad = (const REAL *)a->grad_out + (now.row + now.rows) * f + asked,
            .n_grad = n_grad * (k - first_k) / max64(1, end_k - first_k) - asked,
        };
        NAME(add_weight)(now.rows, &values, columns, grad, f, sum + now.k * f_padded, &wanted);
        const struct NAME(weight_step) done = now;
        now = next;
        next = done;
    }
}

/* Work item of the last step: row k of (p * d + 1, f), partial sums in order. */
static void NAME(reduce_item)(const void *context, int64_t k, void *scratch)
{
    const struct NAME(weight_plan) *plan = context;
    const struct problem *a = plan->problem;
    const int64_t n_k = a->n_ranks * a->depth, f = a->width, f_padded = NAME(padded)(f);
    const int64_t size = (n_k + 1) * f_padded;
    REAL *target = k < n_k ? a->grad_weight : a->grad_bias;
    (void)scratch;
    if (!target)
        return;
    if (k < n_k)
        target += k * f;
    for (int64_t column = 0; column < f; column += LANES) {
        VECTOR sum = {0};
        for (int64_t part = 0; part < plan->n_partials; part++)
            sum += *(const VECTOR *)(plan->partial + part * size + k * f_padded + column);
        const int64_t first = min64(column, max64(f - LANES, 0)); /* as in grad_rows */
        for (int64_t j = 0; j < min64(f, LANES); j++)
            target[first + j] = sum[j];
    }
}

/* Adds the partial sums up. */
static int NAME(reduce)(const struct NAME(weight_plan) *plan)
{
    const struct problem *a = plan->problem;
    const int64_t rows = a->n_ranks * a->depth + 1;
    const double cost = (double)(plan->n_partials * rows * NAME(padded)(a->width)) / 4;
    return parallel_items(a->n_threads, rows, cost, 0, NAME(reduce_item), plan);
}

/* Bytes of scratch of one thread. */
static size_t NAME(weight_scratch)(void)
{
    const size_t values = (size_t)(LANES + 2 * NAME(gather_columns));
    return NAME(block_rows) * (2 * sizeof(REAL *) + values * sizeof(REAL));
}

/* Cuts the rows of grad_out into partial sums: at most 64, and 2 MiB of them, whatever
 * the number of rows; and (p, d) into slices where these are few. */
static void NAME(cut_weight)(struct NAME(weight_plan) *plan)
{
    const struct problem *a = plan->problem;
    const int64_t n_k = a->n_ranks * a->depth, size = (n_k + 1) * NAME(padded)(a->width);
    const int64_t n_blocks = ceil_div(a->n_samples * a->n_out, NAME(block_rows));
    const int64_t most = (2 << 20) / (size * (int64_t)sizeof(REAL));
    const int64_t wanted = max64(1, min64(min64(64, most), n_blocks));
    plan->partial_blocks = max64(1, ceil_div(n_blocks, wanted));
    plan->n_partials = max64(1, ceil_div(n_blocks, plan->partial_blocks));
    const int64_t n_slices = a->grad_weight ? ceil_div(32, plan->n_partials) : 1;
    const int64_t unit = a->n_ranks >= n_slices ? a->depth : 24; /* whole ranks, or tiles */
    plan->slice_columns = max64(1, ceil_div(n_k, n_slices * unit)) * unit;
    plan->n_slices = max64(1, ceil_div(n_k, plan->slice_columns));
}
