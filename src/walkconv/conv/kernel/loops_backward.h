/* Backward: grad_x (M, n_in, d), grad_weight (p, d, f), grad_bias (f); see
 * kernel_loops.h for the macros.
 *
 * grad_x[m, j] sums grad_out[m, i] @ weight[r]^T over the slots (i, r) that
 * hold j.  Slots come in buckets of one rank, so that the rows of a tile share
 * a weight; a bucket's products are added to rows of grad_x owned by the work
 * item.  grad_weight is summed over blocks of rows into a number of partial
 * sums fixed by the shapes, and these are added in order. */

/* Rows (M * N) of grad_out that meet one chunk of gathered x in grad_weight. */
enum { NAME(block_rows) = 64 };

/* Columns of (p, d) gathered at a time in grad_weight, if they are gathered. */
enum { NAME(gather_columns) = 512 / sizeof(REAL) };

/* Most columns of (p, d) in the panel of grad_x_narrow. */
enum { NAME(narrow_columns) = 2048 / sizeof(REAL) };

struct NAME(backward_plan) {
    const struct problem *problem;
    struct NAME(neighbours) from;
    int narrow;             /* grad_x in a panel of all ranks: see grad_x_narrow */
    const REAL *packed;     /* weight as (p * f, d) panels, or (f, p * d) if narrow */
    const REAL *zeros;      /* at least padded (p * d) if narrow */
    int prefetch_x, prefetch_grad;
    int64_t n_blocks;       /* of input nodes; 0: an item is a whole sample */
    int64_t grad_x_items;
    REAL *partial;          /* (n_partials, p * d + 1, f padded): grad_weight, grad_bias */
    int64_t n_partials, partial_blocks; /* blocks of rows in one partial sum */
    int64_t n_slices, slice_columns;    /* slices of (p, d): further work items */
};

/* ---- grad_x ------------------------------------------------------------- */

/* One thread's rows of a bucket: what is multiplied, and what it is added to. */
struct NAME(bucket) {
    const REAL *source[ROWS]; /* rows of grad_out */
    REAL *target[ROWS];       /* rows of grad_x */
    REAL factor[ROWS];        /* scale, or ones */
    const REAL *ahead[ROWS];  /* rows of grad_out wanted next */
} __attribute__((aligned(64)));

/* target[i] += factor[i] * source[i] @ matrix, or = base + that without factor,
 * where matrix (f, width) is the packed weight (n_k, width) from row k. */
static void NAME(add_products)(const struct NAME(backward_plan) *plan, struct NAME(bucket) *b,
                               int64_t rows, int64_t n_k, int64_t k, int64_t width,
                               const REAL *base)
{
    const int64_t f = plan->problem->width;
    if (rows == 0)
        return;
    NAME(fill_tile)(b->source, 1, rows);
    for (int64_t first = 0; first < f; first += NAME(chunk_columns)) {
        const int64_t run = min64(NAME(chunk_columns), f - first);
        struct NAME(product) product = {.source = b->source,
                                        .n_runs = 1,
                                        .run = run,
                                        .target = b->target,
                                        .factor = b->factor};
        NAME(rows_times_panels)(&product, rows, plan->packed, n_k, k + first, width,
                                first == 0 ? base : NULL);
        for (int64_t i = 0; i < min64(ROWS, rows + 8); i++)
            b->source[i] += run;
    }
}

/* Work item: one block of input nodes of one sample, by the reverse list. */
static void NAME(grad_x_block)(const struct NAME(backward_plan) *plan, int64_t item,
                               struct NAME(bucket) *b)
{
    const struct problem *a = plan->problem;
    const int64_t p = a->n_ranks, d = a->depth, f = a->width;
    const int64_t sample = item / plan->n_blocks, block = item % plan->n_blocks;
    const int64_t table = a->per_sample ? sample : 0;
    const int64_t *start = a->reverse_start + table * (plan->n_blocks * p + 1) + block * p;
    const int64_t *slots = a->reverse_slot + table * a->n_out * p;
    const REAL *scale = plan->from.scale ? plan->from.scale + table * a->n_out * p : NULL;
    const REAL *grad_out = (const REAL *)a->grad_out + sample * a->n_out * f;
    const int64_t nodes = min64(BLOCK_NODES, a->n_in - block * BLOCK_NODES);
    REAL *grad_x = (REAL *)a->grad_x + (sample * a->n_in + block * BLOCK_NODES) * d;

    /* No more rows than a core can fetch at once, if they are to be fetched. */
    const int64_t most = plan->prefetch_grad ? ROWS / 2 : ROWS;

    for (int64_t j = 0; j < nodes * d; j++)
        grad_x[j] = 0;
    for (int64_t r = 0; r < p; r++)
        for (int64_t first = start[r]; first < start[r + 1]; first += most) {
            const int64_t rows = min64(most, start[r + 1] - first);
            const int64_t *slot = slots + first;
            for (int64_t i = 0; i < rows; i++) {
                b->source[i] = grad_out + (slot[i] >> BLOCK_BITS) * f;
                b->target[i] = grad_x + (slot[i] & (BLOCK_NODES - 1)) * d;
            }
            for (int64_t i = 0; scale && i < rows; i++)
                b->factor[i] = scale[(slot[i] >> BLOCK_BITS) * p + r];
            if (plan->prefetch_grad && first + rows + most <= start[p]) {
                for (int64_t i = 0; i < most; i++)
                    b->ahead[i] = grad_out + (slot[rows + i] >> BLOCK_BITS) * f;
                NAME(prefetch)(b->ahead, most, f);
            }
            NAME(add_products)(plan, b, rows, p * f, r * f, d, NULL);
        }
}

/* Work item: one whole sample, by its table, block after block of output nodes. */
static void NAME(grad_x_sample)(const struct NAME(backward_plan) *plan, int64_t sample,
                                struct NAME(bucket) *b)
{
    const struct problem *a = plan->problem;
    const int64_t p = a->n_ranks, d = a->depth, f = a->width;
    const int64_t table = a->per_sample ? sample : 0;
    const int64_t *index = a->index + table * a->n_out * p;
    const REAL *scale = plan->from.scale ? plan->from.scale + table * a->n_out * p : NULL;
    const REAL *grad_out = (const REAL *)a->grad_out + sample * a->n_out * f;
    REAL *grad_x = (REAL *)a->grad_x + sample * a->n_in * d;

    for (int64_t j = 0; j < a->n_in * d; j++)
        grad_x[j] = 0;
    for (int64_t first = 0; first < a->n_out; first += ROWS)
        for (int64_t r = 0; r < p; r++) {
            int64_t rows = 0;
            for (int64_t i = first; i < min64(a->n_out, first + ROWS); i++) {
                const int64_t j = index[i * p + r];
                const int used = (uint64_t)j < (uint64_t)a->n_in;
                b->source[rows] = grad_out + i * f;
                b->target[rows] = grad_x + (used ? j : 0) * d;
                b->factor[rows] = scale ? scale[i * p + r] : 1;
                rows += used;
            }
            NAME(add_products)(plan, b, rows, p * f, r * f, d, NULL);
        }
}

/* grad_x[index[i, r]] += scale[i, r] * panel[i, r] for panel (rows, p, d), whose
 * rows are `columns` apart. */
static ALWAYS_INLINE void
NAME(scatter)(const int d, const REAL *panel, int64_t columns, int64_t rows, int64_t p,
              const int64_t *index, const REAL *scale, REAL *grad_x, int64_t n_in)
{
    for (int64_t i = 0; i < rows; i++, panel += columns, index += p)
        for (int64_t r = 0; r < p; r++) {
            const REAL factor = scale ? scale[i * p + r] : 1;
            if ((uint64_t)index[r] < (uint64_t)n_in)
                UNROLL
                for (int c = 0; c < d; c++)
                    grad_x[index[r] * d + c] += factor * panel[r * d + c];
        }
}

/* Work item: one whole sample of x too narrow for vectors over its channels.  Rows
 * of grad_out @ weight^T (f, p * d), then each rank's values to its node. */
static void NAME(grad_x_narrow)(const struct NAME(backward_plan) *plan, int64_t sample,
                                struct NAME(bucket) *b)
{
    const struct problem *a = plan->problem;
    const int64_t p = a->n_ranks, d = a->depth, f = a->width, columns = NAME(padded)(p * d);
    const int64_t table = a->per_sample ? sample : 0;
    const int64_t *index = a->index + table * a->n_out * p;
    const REAL *scale = plan->from.scale ? plan->from.scale + table * a->n_out * p : NULL;
    const REAL *grad_out = (const REAL *)a->grad_out + sample * a->n_out * f;
    REAL *grad_x = (REAL *)a->grad_x + sample * a->n_in * d;
    REAL *panel = (REAL *)(b + 1); /* (ROWS, columns) */

    for (int64_t j = 0; j < a->n_in * d; j++)
        grad_x[j] = 0;
    for (int64_t i = 0; i < ROWS; i++)
        b->target[i] = panel + i * columns;
    for (int64_t first = 0; first < a->n_out; first += ROWS) {
        const int64_t rows = min64(ROWS, a->n_out - first);
        for (int64_t i = 0; i < rows; i++)
            b->source[i] = grad_out + (first + i) * f;
        NAME(add_products)(plan, b, rows, f, 0, columns, plan->zeros);
        if (d == 1)
            NAME(scatter)(1, panel, columns, rows, p, index, scale, grad_x, a->n_in);
        else if (d == 2)
            NAME(scatter)(2, panel, columns, rows, p, index, scale, grad_x, a->n_in);
        else
            NAME(scatter)(3, panel, columns, rows, p, index, scale, grad_x, a->n_in);
        index += rows * p;
        scale += scale ? rows * p : 0;
    }
}

/* ---- grad_weight, grad_bias --------------------------------------------- */

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

/* sum[c, :] += sum over rows of source[row][c] * grad[row, :] for n_c <= 8
 * columns c of the (p, d) axis and nv vectors of grad, the last one at `last`. */
static ALWAYS_INLINE void
NAME(weight_tile)(const int n_c, const int nv, int64_t rows, const REAL *const *source,
                  int64_t column, const REAL *grad, int64_t step, int64_t last, REAL *sum,
                  int64_t sum_stride)
{
    VECTOR tile[8][3];
    UNROLL
    for (int c = 0; c < n_c; c++)
        UNROLL
        for (int v = 0; v < nv; v++)
            tile[c][v] = (VECTOR){0};

    for (int64_t i = 0; i < rows; i++, grad += step) {
        const REAL *value = source[i] + column;
        VECTOR row_grad[3];
        UNROLL
        for (int v = 0; v < nv; v++)
            row_grad[v] = *(const UNALIGNED *)(grad + (v < nv - 1 ? v * LANES : last));
        UNROLL
        for (int c = 0; c < n_c; c++)
            UNROLL
            for (int v = 0; v < nv; v++)
                tile[c][v] += value[c] * row_grad[v];
    }

    UNROLL
    for (int c = 0; c < n_c; c++)
        UNROLL
        for (int v = 0; v < nv; v++)
            *(VECTOR *)(sum + c * sum_stride + v * LANES) += tile[c][v];
}

#define WEIGHT_TILE(n_c, nv)                                                                   \
    case n_c:                                                                                  \
        NAME(weight_tile)(n_c, nv, rows, source, column, grad, step, last, sum, sum_stride);   \
        break;

/* weight_tile for n_c columns, with constant bounds for the compiler. */
static void NAME(weight_columns_1)(int64_t n_c, int64_t rows, const REAL *const *source,
                                   int64_t column, const REAL *grad, int64_t step,
                                   int64_t last, REAL *sum, int64_t sum_stride)
{
    switch (n_c) {
        WEIGHT_TILE(1, 1)
        WEIGHT_TILE(2, 1)
        WEIGHT_TILE(3, 1)
        WEIGHT_TILE(4, 1)
        WEIGHT_TILE(5, 1)
        WEIGHT_TILE(6, 1)
        WEIGHT_TILE(7, 1)
        WEIGHT_TILE(8, 1)
    }
}

static void NAME(weight_columns_2)(int64_t n_c, int64_t rows, const REAL *const *source,
                                   int64_t column, const REAL *grad, int64_t step,
                                   int64_t last, REAL *sum, int64_t sum_stride)
{
    switch (n_c) {
        WEIGHT_TILE(1, 2)
        WEIGHT_TILE(2, 2)
        WEIGHT_TILE(3, 2)
        WEIGHT_TILE(4, 2)
        WEIGHT_TILE(5, 2)
        WEIGHT_TILE(6, 2)
    }
}

static void NAME(weight_columns_3)(int64_t n_c, int64_t rows, const REAL *const *source,
                                   int64_t column, const REAL *grad, int64_t step,
                                   int64_t last, REAL *sum, int64_t sum_stride)
{
    switch (n_c) {
        WEIGHT_TILE(1, 3)
        WEIGHT_TILE(2, 3)
        WEIGHT_TILE(3, 3)
        WEIGHT_TILE(4, 3)
    }
}

#undef WEIGHT_TILE

/* sum (columns, f padded) += source^T @ grad for one block of rows, in tiles of
 * nearly equal height; `ahead` (rows) is what the next block reads, or NULL. */
static void NAME(add_weight)(int64_t rows, const REAL *const *source, int64_t columns,
                             struct NAME(grad_rows) g, int64_t f, REAL *sum,
                             const REAL *const *ahead)
{
    const int64_t sum_stride = NAME(padded)(f);
    for (int64_t column = 0; column < f;) {
        const int nv = NAME(panel_vectors)(column, f);
        const int64_t n_tiles = ceil_div(columns, TILE_ROWS(nv));
        const REAL *grad = g.first + column;
        const int64_t step = g.step, last = min64((nv - 1) * LANES, g.last - column);
        int64_t k = 0;
        for (int64_t t = 0; t < n_tiles; t++) {
            const int64_t n_c = ceil_div(columns - k, n_tiles - t);
            REAL *target = sum + k * sum_stride + column;
            if (ahead)
                NAME(prefetch)(ahead + rows * t / n_tiles,
                               rows * (t + 1) / n_tiles - rows * t / n_tiles, columns);
            if (nv == 1)
                NAME(weight_columns_1)(n_c, rows, source, k, grad, step, last, target, sum_stride);
            else if (nv == 2)
                NAME(weight_columns_2)(n_c, rows, source, k, grad, step, last, target, sum_stride);
            else
                NAME(weight_columns_3)(n_c, rows, source, k, grad, step, last, target, sum_stride);
            k += n_c;
        }
        ahead = NULL;
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
static void NAME(set_weight_step)(const struct NAME(backward_plan) *plan, int64_t row,
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
static void NAME(grad_weight_item)(const struct NAME(backward_plan) *plan, int64_t item,
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
        const int prefetch = plan->prefetch_x && next.rows >= now.rows;
        NAME(add_weight)(now.rows, now.source, columns, grad, f, sum + now.k * f_padded,
                         prefetch ? next.source : NULL);
        const struct NAME(weight_step) done = now;
        now = next;
        next = done;
    }
}

/* Work item of the last step: row k of (p * d + 1, f), partial sums in order. */
static void NAME(reduce_item)(const void *context, int64_t k, void *scratch)
{
    const struct NAME(backward_plan) *plan = context;
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

/* ---- both ---------------------------------------------------------------- */

/* Work items: those of grad_x, then those of grad_weight. */
static void NAME(backward_item)(const void *context, int64_t item, void *scratch)
{
    const struct NAME(backward_plan) *plan = context;
    if (item >= plan->grad_x_items) {
        NAME(grad_weight_item)(plan, item - plan->grad_x_items, scratch);
    } else {
        struct NAME(bucket) *bucket = scratch;
        for (int64_t i = 0; i < ROWS; i++)
            bucket->factor[i] = 1;
        if (plan->n_blocks)
            NAME(grad_x_block)(plan, item, bucket);
        else if (plan->narrow)
            NAME(grad_x_narrow)(plan, item, bucket);
        else
            NAME(grad_x_sample)(plan, item, bucket);
    }
}

/* Bytes of scratch that suffice for either kind of item. */
static size_t NAME(backward_scratch)(void)
{
    const size_t row_bytes =
        2 * sizeof(REAL *) + sizeof(REAL) * (size_t)(LANES + 2 * NAME(gather_columns));
    const size_t weight_bytes = NAME(block_rows) * row_bytes;
    const size_t x_bytes =
        sizeof(struct NAME(bucket)) + ROWS * NAME(narrow_columns) * sizeof(REAL);
    return weight_bytes > x_bytes ? weight_bytes : x_bytes;
}

/* Gradients of x, weight and bias; each only if its array is given. */
static int NAME(backward)(const struct problem *a)
{
    const int64_t p = a->n_ranks, d = a->depth, f = a->width, n_k = p * d;
    const int64_t f_padded = NAME(padded)(f), rows = a->n_samples * a->n_out;
    const int64_t sum_size = (n_k + 1) * f_padded;
    const int weights = (a->grad_weight || a->grad_bias) && f > 0;
    const int64_t n_row_blocks = ceil_div(rows, NAME(block_rows));

    struct NAME(backward_plan) plan = {.problem = a};
    plan.narrow = !a->reverse_start && d < NAME(direct_depth) &&
                  n_k <= NAME(narrow_columns) && f > 0;
    plan.prefetch_grad = NAME(exceeds)(256, a->n_out, f);
    plan.n_blocks = a->reverse_start ? ceil_div(a->n_in, BLOCK_NODES) : 0;
    if (a->grad_x)
        plan.grad_x_items = a->n_samples * (a->reverse_start ? plan.n_blocks : a->n_in > 0);
    if (weights) {
        /* At most 64 partial sums and 4 MiB of them; slices where these are few. */
        const int64_t most = (4 << 20) / (sum_size * (int64_t)sizeof(REAL));
        const int64_t wanted = max64(1, min64(min64(64, most), n_row_blocks));
        plan.partial_blocks = max64(1, ceil_div(n_row_blocks, wanted));
        plan.n_partials = max64(1, ceil_div(n_row_blocks, plan.partial_blocks));
        const int64_t n_slices = a->grad_weight ? ceil_div(32, plan.n_partials) : 1;
        const int64_t unit = p >= n_slices ? d : 24; /* whole ranks, or whole tiles */
        plan.slice_columns = max64(1, ceil_div(n_k, n_slices * unit)) * unit;
        plan.n_slices = max64(1, ceil_div(n_k, plan.slice_columns));
    }

    const int64_t packed_size = max64(p * NAME(padded)(d), NAME(padded)(n_k)) * f;
    const int64_t zeros = NAME(padded)(plan.narrow ? max64(d, n_k) : d);
    REAL *memory = allocate(NAME(padded)(packed_size) + zeros + plan.n_partials * sum_size,
                            sizeof(REAL));
    if (!memory)
        return WALKCONV_NO_MEMORY;
    REAL *zero = memory + NAME(padded)(packed_size);
    plan.packed = memory;
    plan.zeros = zero;
    plan.partial = zero + zeros;
    plan.from = NAME(neighbours_of)(a, zero);
    plan.prefetch_x = !plan.from.gathered && NAME(exceeds)(32, a->n_in, d);
    for (int64_t j = 0; j < zeros; j++)
        zero[j] = 0;
    if (a->grad_x && plan.narrow)
        NAME(pack_transposed)(f, 0, f, n_k, a->weight, f, memory);
    else if (a->grad_x)
        for (int64_t r = 0; r < p; r++)
            NAME(pack_transposed)(p * f, r * f, f, d, (const REAL *)a->weight + r * d * f, f,
                                  memory);

    const size_t scratch = NAME(backward_scratch)();
    const double cost = (double)rows * (double)(n_k * f_padded + 8 * p + 8 * f);
    int status = parallel_items(
        a->n_threads, plan.grad_x_items + plan.n_partials * plan.n_slices,
        cost * ((a->grad_x != NULL) + weights), scratch, NAME(backward_item), &plan);
    if (status == WALKCONV_OK && weights)
        status = parallel_items(a->n_threads, n_k + 1,
                                (double)(plan.n_partials * sum_size) / 4, 0,
                                NAME(reduce_item), &plan);
    free(memory);
    return status;
}

#undef LANES
#undef QUAD_LANES
#undef VECTOR
#undef UNALIGNED
#undef QUAD
#undef TILE_ROWS
