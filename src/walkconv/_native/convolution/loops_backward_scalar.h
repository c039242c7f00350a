/* Gradients for x with one channel, the companion of loops_forward_scalar.h: see
 * kernel_loops.h for the macros. */

/* Groups of samples with a partial sum each: at most these. */
enum { NAME(scalar_groups) = 64 };

struct NAME(scalar_backward_plan) {
    const struct problem *problem;
    struct NAME(weight_plan) weight;
    const int32_t *place;  /* (N, p): index, or n_in for an empty slot */
    int64_t group_samples; /* in one partial sum */
    int64_t n_x_items;     /* see grad_x_lanes; 0 if there is no grad_x */
    const REAL *tiles;
};

/* Adds one sample to the sums of weight and bias.  `x` (n_in + 1) and `copy` (ROWS, LANES)
 * are overwritten. */
static void NAME(add_sample)(const struct NAME(scalar_backward_plan) *plan, int64_t sample,
                             REAL *sum, REAL *x, REAL *copy)
{
    const struct problem *a = plan->problem;
    const int64_t p = a->n_ranks, f = a->width, n_in = a->n_in;
    const REAL *from = (const REAL *)a->x + sample * n_in;
    const REAL *grad_out = (const REAL *)a->grad_out + sample * a->n_out * f;
    struct NAME(grad_rows) grad = {.step = max64(f, LANES), .last = max64(f - LANES, 0)};

    for (int64_t j = 0; j < n_in; j++)
        x[j] = from[j];
    x[n_in] = 0;
    for (int64_t row = 0; row < a->n_out; row += ROWS, grad_out += ROWS * f) {
        const int64_t rows = min64(ROWS, a->n_out - row);
        const struct NAME(values) values = {.x = x, .place = plan->place + row * p, .p = p};
        const struct NAME(wanted) wanted = {.grad = grad_out + rows * f, .n_grad = rows * f};
        grad.first = grad_out;
        if (f < LANES) {
            NAME(pack)(ROWS, 0, rows, f, grad_out, f, copy);
            grad.first = copy;
        }
        if (a->grad_bias)
            NAME(add_bias)(rows, grad, f, sum + p * NAME(padded)(f));
        if (a->grad_weight)
            NAME(add_weight)(rows, &values, p, grad, f, sum, &wanted);
    }
}

/* Work item: the partial sum of a group of samples. */
static void NAME(sum_group)(const struct NAME(scalar_backward_plan) *plan, int64_t group,
                            REAL *scratch)
{
    const struct problem *a = plan->problem;
    const int64_t size = (a->n_ranks + 1) * NAME(padded)(a->width);
    const int64_t end = min64((group + 1) * plan->group_samples, a->n_samples);
    REAL *sum = plan->weight.partial + group * size;
    for (int64_t j = 0; j < size; j++)
        sum[j] = 0;
    for (int64_t m = group * plan->group_samples; m < end; m++)
        NAME(add_sample)(plan, m, sum, scratch + ROWS * LANES, scratch);
}

/* Work items: grad_x of some samples follows their sums, while grad_out is in the cache. */
static void NAME(scalar_backward_item)(const void *context, int64_t item, void *scratch)
{
    const struct NAME(scalar_backward_plan) *plan = context;
    const int64_t n_items = plan->n_x_items + plan->weight.n_partials;
    const int64_t done = item * plan->n_x_items / n_items; /* of grad_x before this one */
    if ((item + 1) * plan->n_x_items / n_items > done)
        NAME(grad_x_lanes)(plan->problem, plan->tiles, plan->place, done, scratch);
    else
        NAME(sum_group)(plan, item - done, scratch);
}

/* Each gradient only if its array is given. */
static int NAME(backward_scalar)(const struct problem *a)
{
    const int64_t p = a->n_ranks, f_padded = NAME(padded)(a->width), nodes = a->n_in + 1;
    struct NAME(scalar_backward_plan) plan = {.problem = a, .weight = {.problem = a}};
    if (a->grad_weight || a->grad_bias) {
        plan.group_samples = ceil_div(a->n_samples, NAME(scalar_groups));
        plan.weight.n_partials = ceil_div(a->n_samples, plan.group_samples);
    }
    if (a->grad_x)
        plan.n_x_items = ceil_div(a->n_samples, LANES);
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
        const int64_t scratch = a->grad_x ? nodes * LANES : 0;
        status = parallel_items(a->n_threads, plan.n_x_items + plan.weight.n_partials, cost,
                                (size_t)max64(scratch, ROWS * LANES + nodes) * sizeof(REAL),
                                NAME(scalar_backward_item), &plan);
    }
    if (status == WALKCONV_OK)
        status = NAME(reduce)(&plan.weight);
    free(memory);
    free(place);
    return status;
}
