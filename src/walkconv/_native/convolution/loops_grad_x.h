/* grad_x (M, n_in, d): see kernel_loops.h for the macros.
 *
 * grad_x[m, j] sums grad_out[m, i] @ weight[r]^T over the slots (i, r) that
 * hold j.  Slots come in buckets of one rank, so that the rows of a tile share
 * a weight; a bucket's products are added to rows of grad_x owned by the work
 * item.  Where many samples share a table, loops_grad_x_samples.h does better. */

/* Most columns of (p, d) in the panel of grad_x_narrow. */
enum { NAME(narrow_columns) = 2048 / sizeof(REAL) };

struct NAME(grad_x_plan) {
    const struct problem *problem;
    int64_t n_items;
    int narrow;         /* in a panel of all ranks: see grad_x_narrow */
    const REAL *packed; /* weight as (p * f, d) panels, or (f, p * d) if narrow */
    const REAL *zeros;  /* padded (p * d) if narrow */
    int prefetch;
    int64_t n_blocks;   /* of input nodes; 0: an item is a whole sample */
    int sample_wise;    /* see grad_x_samples */
    const int64_t *uses;
};

/* One thread's rows of a bucket: what is multiplied, and what it is added to. */
struct NAME(bucket) {
    const REAL *source[ROWS]; /* rows of grad_out */
    REAL *target[ROWS];       /* rows of grad_x */
    REAL factor[ROWS];        /* scale, or ones */
    const REAL *ahead[ROWS];  /* rows of grad_out wanted next */
} __attribute__((aligned(64)));

/* The bucket at the beginning of a thread's scratch, every factor one. */
static struct NAME(bucket) *NAME(bucket_in)(void *scratch)
{
    struct NAME(bucket) *b = scratch;
    for (int64_t i = 0; i < ROWS; i++)
        b->factor[i] = 1;
    return b;
}

/* target[i] += factor[i] * source[i] @ matrix, or = base + that without factor,
 * where matrix (f, width) is the packed weight (n_k, width) from row k. */
static void NAME(add_products)(const struct NAME(grad_x_plan) *plan, struct NAME(bucket) *b,
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
static void NAME(grad_x_block)(const struct NAME(grad_x_plan) *plan, int64_t item,
                               struct NAME(bucket) *b)
{
    const struct problem *a = plan->problem;
    const int64_t p = a->n_ranks, d = a->depth, f = a->width;
    const int64_t sample = item / plan->n_blocks, block = item % plan->n_blocks;
    const int64_t table = a->per_sample ? sample : 0;
    const int64_t *start = a->reverse_start + table * (plan->n_blocks * p + 1) + block * p;
    const int64_t *slots = a->reverse_slot + table * a->n_out * p;
    const REAL *scale = a->scale ? (const REAL *)a->scale + table * a->n_out * p : NULL;
    const REAL *grad_out = (const REAL *)a->grad_out + sample * a->n_out * f;
    const int64_t nodes = min64(BLOCK_NODES, a->n_in - block * BLOCK_NODES);
    REAL *grad_x = (REAL *)a->grad_x + (sample * a->n_in + block * BLOCK_NODES) * d;

    /* No more rows than a core can fetch at once, if they are to be fetched. */
    const int64_t most = plan->prefetch ? ROWS / 2 : ROWS;

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
            if (plan->prefetch && first + rows + most <= start[p]) {
                for (int64_t i = 0; i < most; i++)
                    b->ahead[i] = grad_out + (slot[rows + i] >> BLOCK_BITS) * f;
                NAME(prefetch)(b->ahead, most, f);
            }
            NAME(add_products)(plan, b, rows, p * f, r * f, d, NULL);
        }
}

/* Work item: one whole sample, by its table, block after block of output nodes. */
static void NAME(grad_x_sample)(const struct NAME(grad_x_plan) *plan, int64_t sample,
                                struct NAME(bucket) *b)
{
    const struct problem *a = plan->problem;
    const int64_t p = a->n_ranks, d = a->depth, f = a->width;
    const int64_t table = a->per_sample ? sample : 0;
    const int64_t *index = a->index + table * a->n_out * p;
    const REAL *scale = a->scale ? (const REAL *)a->scale + table * a->n_out * p : NULL;
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
static void NAME(grad_x_narrow)(const struct NAME(grad_x_plan) *plan, int64_t sample,
                                struct NAME(bucket) *b)
{
    const struct problem *a = plan->problem;
    const int64_t p = a->n_ranks, d = a->depth, f = a->width, columns = NAME(padded)(p * d);
    const int64_t table = a->per_sample ? sample : 0;
    const int64_t *index = a->index + table * a->n_out * p;
    const REAL *scale = a->scale ? (const REAL *)a->scale + table * a->n_out * p : NULL;
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

/* Work item: whichever of these suits the shapes. */
static void NAME(grad_x_item)(const struct NAME(grad_x_plan) *plan, int64_t item, void *scratch)
{
    if (plan->sample_wise) {
        NAME(grad_x_samples)(plan->problem, plan->packed, plan->uses, item);
        return;
    }
    struct NAME(bucket) *bucket = NAME(bucket_in)(scratch);
    if (plan->n_blocks)
        NAME(grad_x_block)(plan, item, bucket);
    else if (plan->narrow)
        NAME(grad_x_narrow)(plan, item, bucket);
    else
        NAME(grad_x_sample)(plan, item, bucket);
}

/* Bytes of scratch of one thread. */
static size_t NAME(grad_x_scratch)(const struct NAME(grad_x_plan) *plan)
{
    const int64_t columns = NAME(padded)(plan->problem->n_ranks * plan->problem->depth);
    const size_t panel = plan->narrow ? ROWS * (size_t)columns * sizeof(REAL) : 0;
    return sizeof(struct NAME(bucket)) + panel;
}

/* Values in `packed` and, behind them, `zeros`. */
static int64_t NAME(grad_x_values)(const struct NAME(grad_x_plan) *plan)
{
    const struct problem *a = plan->problem;
    const int64_t columns = NAME(padded)(a->n_ranks * a->depth);
    return plan->narrow ? columns * (a->width + 1)
                        : a->n_ranks * a->width * NAME(padded)(a->depth);
}

/* Fills them, at the beginning of memory. */
static void NAME(pack_grad_x)(struct NAME(grad_x_plan) *plan, REAL *memory)
{
    const struct problem *a = plan->problem;
    const int64_t p = a->n_ranks, d = a->depth, f = a->width;
    const REAL *weight = a->weight;
    plan->packed = memory;
    if (plan->narrow) {
        REAL *zeros = memory + NAME(padded)(p * d) * f;
        NAME(pack_transposed)(f, 0, f, p * d, weight, f, memory);
        for (int64_t j = 0; j < NAME(padded)(p * d); j++)
            zeros[j] = 0;
        plan->zeros = zeros;
    } else {
        for (int64_t r = 0; r < p; r++)
            NAME(pack_transposed)(p * f, r * f, f, d, weight + r * d * f, f, memory);
    }
}

/* Chooses how, and cuts the work into items. */
static void NAME(cut_grad_x)(struct NAME(grad_x_plan) *plan)
{
    const struct problem *a = plan->problem;
    plan->narrow = !a->reverse_start && a->depth < NAME(direct_depth) && a->width > 0 &&
                   a->n_ranks * a->depth <= NAME(narrow_columns);
    plan->prefetch = NAME(exceeds)(256, a->n_out, a->width);
    plan->n_blocks = a->reverse_start ? ceil_div(a->n_in, BLOCK_NODES) : 0;
    plan->sample_wise = NAME(is_sample_wise)(a);
    if (plan->sample_wise)
        plan->n_items = NAME(sample_tiles)(a);
    else
        plan->n_items = a->n_samples * (a->reverse_start ? plan->n_blocks : a->n_in > 0);
}
