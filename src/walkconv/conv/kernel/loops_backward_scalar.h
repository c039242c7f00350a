/* Gradients for x with one channel, the companion of loops_forward_scalar.h: see
 * kernel_loops.h for the macros.  Reading grad_out is most of the work, so all gradients
 * are made from a part of it while that is in the cache. */

/* Groups of samples with a partial sum each, which are the work items: at most these. */
enum { NAME(scalar_groups) = 64 };

/* Bytes of grad_out, of LANES samples, from which all gradients are made before others. */
enum { NAME(scalar_bytes) = 256 << 10 };

struct NAME(scalar_backward_plan) {
    const struct problem *problem;
    struct NAME(weight_plan) weight;
    const REAL *tiles;     /* weight^T as tiles of ranks, each (f, n_r) */
    const int32_t *place;  /* (N, p): index, or n_in for an empty slot */
    int64_t group_samples; /* a multiple of LANES if there is grad_x */
};

/* What one thread holds. */
struct NAME(scalar_scratch) {
    VECTOR *grad_x; /* (n_in + 1) of LANES samples, the last for empty slots */
    REAL *x;        /* (n_in + 1) of one sample, the last of them zero */
    REAL *copy;     /* (ROWS, LANES) of grad_out, if it is narrower than that */
};

/* Ranks from `rank` on that are one tile: all are of nearly equal height. */
static inline int64_t NAME(tile_ranks)(int64_t rank, int64_t p)
{
    return ceil_div(p - rank, ceil_div(p - rank, NAME(lane_ranks)));
}

static void NAME(pack_tiles)(const struct problem *a, REAL *tiles)
{
    const int64_t p = a->n_ranks, f = a->width;
    for (int64_t rank = 0, n_r; rank < p; rank += n_r) {
        n_r = NAME(tile_ranks)(rank, p);
        for (int64_t k = 0; k < f; k++)
            for (int64_t r = rank; r < rank + n_r; r++)
                *tiles++ = ((const REAL *)a->weight)[r * f + k];
    }
}

/* Adds rows row .. end of one sample to the sums of weight and bias.  `next` is what is
 * read after them. */
static void NAME(add_sums)(const struct NAME(scalar_backward_plan) *plan, int64_t sample,
                           int64_t row, int64_t end, const REAL *next, REAL *sum,
                           const struct NAME(scalar_scratch) *s)
{
    const struct problem *a = plan->problem;
    const int64_t p = a->n_ranks, f = a->width, n_in = a->n_in;
    const REAL *x = (const REAL *)a->x + sample * n_in;
    const REAL *grad_out = (const REAL *)a->grad_out + (sample * a->n_out + row) * f;
    struct NAME(grad_rows) grad = {.step = max64(f, LANES), .last = max64(f - LANES, 0)};

    for (int64_t j = 0; j <= n_in; j++)
        s->x[j] = j < n_in ? x[j] : 0;
    for (; row < end; row += ROWS, grad_out += ROWS * f) {
        const int64_t rows = min64(ROWS, end - row);
        const struct NAME(values) values = {.x = s->x, .place = plan->place + row * p, .p = p};
        const struct NAME(wanted) wanted = {
            .grad = row + rows < end ? grad_out + rows * f : next, .n_grad = rows * f};
        grad.first = grad_out;
        if (f < LANES) {
            NAME(pack)(ROWS, 0, rows, f, grad_out, f, s->copy);
            grad.first = s->copy;
        }
        if (a->grad_bias)
            NAME(add_bias)(rows, grad, f, sum + p * NAME(padded)(f));
        if (a->grad_weight)
            NAME(add_weight)(rows, &values, p, grad, f, sum, &wanted);
    }
}

/* All gradients from the samples first .. end, at most LANES: their grad_x, and what they
 * add to the sums. */
static void NAME(scalar_samples)(const struct NAME(scalar_backward_plan) *plan, int64_t first,
                                 int64_t end, REAL *sum, const struct NAME(scalar_scratch) *s)
{
    const struct problem *a = plan->problem;
    const int64_t p = a->n_ranks, f = a->width, n_in = a->n_in, step = a->n_out * f;
    const int64_t lane_0 = min64(first, a->n_samples - LANES); /* the last samples fill up */
    const REAL *lanes = (const REAL *)a->grad_out + lane_0 * step;
    const int64_t blocks = NAME(scalar_bytes) / (LANES * ROWS * f * (int64_t)sizeof(REAL));
    const int64_t rows = a->grad_x ? ROWS * max64(1, blocks) : a->n_out;

    for (int64_t j = 0; a->grad_x && j <= n_in; j++)
        s->grad_x[j] = (VECTOR){0};
    for (int64_t row = 0; row < a->n_out; row += rows) {
        const int64_t last = min64(row + rows, a->n_out);
        for (int64_t m = first; (a->grad_weight || a->grad_bias) && m < end; m++) {
            const int64_t after = m + 1 < end ? (m + 1) * step + row * f : first * step + last * f;
            NAME(add_sums)(plan, m, row, last, (const REAL *)a->grad_out + after, sum, s);
        }
        for (int64_t rank = 0, n_r; a->grad_x && rank < p; rank += n_r) {
            n_r = NAME(tile_ranks)(rank, p);
            NAME(add_lanes)(n_r, last - row, lanes + row * f, step, f, plan->tiles + rank * f,
                            plan->place + row * p + rank, p, s->grad_x);
        }
    }
    for (int64_t m = first; a->grad_x && m < end; m++)
        for (int64_t j = 0; j < n_in; j++)
            ((REAL *)a->grad_x)[m * n_in + j] = s->grad_x[j][m - lane_0];
}

/* Work item: a group of samples and its partial sum. */
static void NAME(scalar_group)(const void *context, int64_t group, void *scratch)
{
    const struct NAME(scalar_backward_plan) *plan = context;
    const struct problem *a = plan->problem;
    const int64_t sum_size = (a->n_ranks + 1) * NAME(padded)(a->width);
    const int64_t end = min64((group + 1) * plan->group_samples, a->n_samples);
    REAL *sum = plan->weight.partial + group * sum_size;
    struct NAME(scalar_scratch) s = {.grad_x = scratch};
    s.copy = (REAL *)(s.grad_x + (a->grad_x ? a->n_in + 1 : 0));
    s.x = s.copy + ROWS * LANES;

    for (int64_t j = 0; j < sum_size; j++)
        sum[j] = 0;
    for (int64_t m = group * plan->group_samples; m < end; m += LANES)
        NAME(scalar_samples)(plan, m, min64(m + LANES, end), sum, &s);
}

/* Bytes of one thread's scratch. */
static size_t NAME(scalar_bytes_of)(const struct problem *a)
{
    const int64_t nodes = a->n_in + 1;
    return (size_t)((a->grad_x ? nodes * LANES : 0) + ROWS * LANES + nodes) * sizeof(REAL);
}

/* Each gradient only if its array is given. */
static int NAME(backward_scalar)(const struct problem *a)
{
    const int64_t p = a->n_ranks, f_padded = NAME(padded)(a->width);
    struct NAME(scalar_backward_plan) plan = {.problem = a, .weight = {.problem = a}};
    plan.group_samples = ceil_div(a->n_samples, NAME(scalar_groups));
    if (a->grad_x)
        plan.group_samples = NAME(padded)(plan.group_samples);
    plan.weight.n_partials = ceil_div(a->n_samples, plan.group_samples);
    const int64_t sums = plan.weight.n_partials * (p + 1) * f_padded;
    REAL *memory = allocate(sums + p * a->width, sizeof(REAL));
    int32_t *place = scalar_places(a);
    int status = memory && place ? WALKCONV_OK : WALKCONV_NO_MEMORY;
    if (status == WALKCONV_OK) {
        NAME(pack_tiles)(a, memory + sums);
        plan.weight.partial = memory;
        plan.tiles = memory + sums;
        plan.place = place;
        const double cost = (double)(2 * a->n_samples * a->n_out) * (double)(p * f_padded + 64);
        status = parallel_items(a->n_threads, plan.weight.n_partials, cost,
                                NAME(scalar_bytes_of)(a), NAME(scalar_group), &plan);
    }
    if (status == WALKCONV_OK)
        status = NAME(reduce)(&plan.weight);
    free(memory);
    free(place);
    return status;
}
