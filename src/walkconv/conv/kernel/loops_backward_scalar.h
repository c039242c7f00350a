/* Gradients for x with one channel, the companion of loops_forward_scalar.h: see
 * kernel_loops.h for the macros.  Reading grad_out is most of the work, so all gradients
 * are made from a block of its rows while that is in the first-level cache. */

/* Groups of samples with a partial sum each, which are the work items: at most these. */
enum { NAME(scalar_groups) = 64 };

struct NAME(scalar_backward_plan) {
    struct NAME(grad_x_plan) x;
    struct NAME(weight_plan) weight;
    const int32_t *place;  /* (N, p): index, or n_in for an empty slot */
    int64_t group_samples;
};

/* What one thread holds beside the bucket and panel of grad_x. */
struct NAME(scalar_scratch) {
    REAL *x;      /* (n_in + 1) of one sample, the last of them zero */
    REAL *grad_x; /* (n_in + 1), the last of them for empty slots */
    REAL *copy;   /* (ROWS, LANES) of grad_out, if it is narrower than that */
    REAL *panel;  /* (ROWS, p padded): grad_out @ weight^T */
};

/* grad_x[place[i, r]] += grad[i] @ weight[r] for a block of rows. */
static void NAME(add_grad_x)(const struct NAME(scalar_backward_plan) *plan, const REAL *grad,
                             const int32_t *place, int64_t rows, struct NAME(bucket) *b,
                             const struct NAME(scalar_scratch) *s)
{
    const struct problem *a = plan->x.problem;
    const int64_t p = a->n_ranks, f = a->width, columns = NAME(padded)(p);
    for (int64_t i = 0; i < rows; i++) {
        b->source[i] = grad + i * f;
        b->target[i] = s->panel + i * columns;
    }
    NAME(add_products)(&plan->x, b, rows, f, 0, columns, plan->x.zeros);
    const REAL *value = s->panel;
    for (int64_t i = 0; i < rows; i++, place += p, value += columns)
        for (int64_t r = 0; r < p; r++)
            s->grad_x[place[r]] += value[r];
}

/* All gradients from one sample: its own grad_x, and what it adds to the sums. */
static void NAME(scalar_sample)(const struct NAME(scalar_backward_plan) *plan, int64_t sample,
                                REAL *sum, struct NAME(bucket) *b,
                                const struct NAME(scalar_scratch) *s)
{
    const struct problem *a = plan->x.problem;
    const int64_t p = a->n_ranks, f = a->width, n_in = a->n_in;
    const REAL *x = (const REAL *)a->x + sample * n_in;
    const REAL *grad_out = (const REAL *)a->grad_out + sample * a->n_out * f;
    struct NAME(grad_rows) grad = {.step = max64(f, LANES), .last = max64(f - LANES, 0)};

    for (int64_t j = 0; j <= n_in; j++) {
        s->x[j] = j < n_in ? x[j] : 0;
        s->grad_x[j] = 0;
    }
    for (int64_t row = 0; row < a->n_out; row += ROWS, grad_out += ROWS * f) {
        const int64_t rows = min64(ROWS, a->n_out - row);
        const int32_t *place = plan->place + row * p;
        const struct NAME(values) values = {.x = s->x, .place = place, .p = p};
        const struct NAME(wanted) wanted = {.grad = grad_out + rows * f, .n_grad = rows * f};
        grad.first = grad_out;
        if (f < LANES) {
            NAME(pack)(ROWS, 0, rows, f, grad_out, f, s->copy);
            grad.first = s->copy;
        }
        if (a->grad_bias)
            NAME(add_bias)(rows, grad, f, sum + p * NAME(padded)(f));
        if (a->grad_weight)
            NAME(add_weight)(rows, &values, p, grad, f, sum, &wanted);
        if (a->grad_x)
            NAME(add_grad_x)(plan, grad_out, place, rows, b, s);
    }
    for (int64_t j = 0; a->grad_x && j < n_in; j++)
        ((REAL *)a->grad_x)[sample * n_in + j] = s->grad_x[j];
}

/* Work item: a group of samples and its partial sum. */
static void NAME(scalar_group)(const void *context, int64_t group, void *scratch)
{
    const struct NAME(scalar_backward_plan) *plan = context;
    const struct problem *a = plan->x.problem;
    const int64_t sum_size = (a->n_ranks + 1) * NAME(padded)(a->width);
    const int64_t nodes = NAME(padded)(a->n_in + 1);
    REAL *sum = plan->weight.partial + group * sum_size;
    struct NAME(bucket) *b = NAME(bucket_in)(scratch);
    struct NAME(scalar_scratch) s = {.panel = (REAL *)(b + 1)};
    s.copy = s.panel + ROWS * NAME(padded)(a->n_ranks);
    s.x = s.copy + ROWS * LANES;
    s.grad_x = s.x + nodes;

    for (int64_t j = 0; j < sum_size; j++)
        sum[j] = 0;
    for (int64_t m = group * plan->group_samples;
         m < min64((group + 1) * plan->group_samples, a->n_samples); m++)
        NAME(scalar_sample)(plan, m, sum, b, &s);
}

/* Each gradient only if its array is given. */
static int NAME(backward_scalar)(const struct problem *a)
{
    const int64_t p = a->n_ranks, f_padded = NAME(padded)(a->width);
    struct NAME(scalar_backward_plan) plan = {.x = {.problem = a, .narrow = 1},
                                              .weight = {.problem = a}};
    plan.group_samples = ceil_div(a->n_samples, NAME(scalar_groups));
    plan.weight.n_partials = ceil_div(a->n_samples, plan.group_samples);
    const int64_t packed = NAME(grad_x_values)(&plan.x);
    REAL *memory = allocate(packed + plan.weight.n_partials * (p + 1) * f_padded, sizeof(REAL));
    int32_t *place = scalar_places(a);
    int status = memory && place ? WALKCONV_OK : WALKCONV_NO_MEMORY;
    if (status == WALKCONV_OK) {
        NAME(pack_grad_x)(&plan.x, memory);
        plan.weight.partial = memory + packed;
        plan.place = place;
        const int64_t values = ROWS * LANES + 2 * NAME(padded)(a->n_in + 1);
        const double cost = (double)(2 * a->n_samples * a->n_out) * (double)(p * f_padded + 64);
        status = parallel_items(a->n_threads, plan.weight.n_partials, cost,
                                NAME(grad_x_scratch)(&plan.x) + (size_t)values * sizeof(REAL),
                                NAME(scalar_group), &plan);
    }
    if (status == WALKCONV_OK)
        status = NAME(reduce)(&plan.weight);
    free(memory);
    free(place);
    return status;
}
