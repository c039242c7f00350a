/* Gradients for x with one channel, the companion of loops_forward_scalar.h: see
 * kernel_loops.h for the macros.  Reading grad_out is most of the work, so all gradients
 * are made from a block of its rows while that is in the first-level cache. */

/* Groups of samples with a partial sum each, which are the work items: at most these. */
enum { NAME(scalar_groups) = 64 };

struct NAME(scalar_backward_plan) {
    const struct problem *problem;
    struct NAME(weight_plan) weight;
    const REAL *packed;   /* weight^T as panels: see pack_ranks */
    int paired;           /* see is_paired */
    int64_t columns;      /* of the panels: ranks, twice if paired, padded */
    const int32_t *place; /* (N, p): index, or n_in for an empty slot */
    int64_t group_samples;
};

/* What one thread holds. */
struct NAME(scalar_scratch) {
    REAL *x;      /* (n_in + 1) of one sample, the last of them zero */
    REAL *grad_x; /* (n_in + 1) values, or pairs, the last for empty slots */
    REAL *copy;   /* (ROWS, LANES) of grad_out, if it is narrower than that */
    REAL *value;  /* (ROWS, columns): grad_out @ weight^T */
};

/* Two values side by side, and a whole number that reads as both. */
typedef REAL NAME(pair) __attribute__((vector_size(2 * sizeof(REAL)), may_alias));
typedef int64_t NAME(both) __attribute__((aligned(sizeof(REAL)), may_alias));
typedef int64_t NAME(boths) __attribute__((vector_size(VECTOR_BYTES)));

/* Whether a rank has two lanes, for the even and the odd filters, where there are as many
 * of both and a vector has room: to read grad_out is what bounds the products, and so it
 * is read by pairs. */
static int NAME(is_paired)(const struct problem *a)
{
    return sizeof(REAL) == 4 && a->width % 2 == 0 && a->n_ranks > 0 && 2 * a->n_ranks <= LANES;
}

/* Packs weight (p, f) as panels (f, p), or if paired as one (f / 2, p, 2), both padded. */
static void NAME(pack_ranks)(const struct NAME(scalar_backward_plan) *plan, REAL *packed)
{
    const struct problem *a = plan->problem;
    const int64_t p = a->n_ranks, f = a->width;
    const REAL *weight = a->weight;
    if (!plan->paired) {
        NAME(pack_transposed)(f, 0, f, p, weight, f, packed);
        return;
    }
    for (int64_t k = 0; k < f; k += 2)
        for (int64_t lane = 0; lane < LANES; lane++) {
            const int64_t r = lane / 2;
            *packed++ = r < p ? weight[r * f + k + lane % 2] : 0;
        }
}

/* value[i] = grad[i] @ panel for a tile of rows, nv vectors of them. */
static ALWAYS_INLINE void
NAME(rank_tile)(const int tile_rows, const int nv, const int paired, const REAL *grad,
                int64_t f, const REAL *packed, REAL *value, int64_t columns)
{
    const VECTOR *panel = (const VECTOR *)packed;
    VECTOR sum[8][3];
    UNROLL
    for (int i = 0; i < tile_rows; i++)
        UNROLL
        for (int v = 0; v < nv; v++)
            sum[i][v] = (VECTOR){0};

    for (int64_t k = 0; paired && k < f; k += 2, panel++)
        UNROLL
        for (int i = 0; i < tile_rows; i++) {
            const NAME(boths) two =
                (NAME(boths)){0} + *(const NAME(both) *)(grad + i * f + k);
            sum[i][0] += (VECTOR)two * *panel;
        }
    for (int64_t k = 0; !paired && k < f; k++, panel += nv)
        UNROLL
        for (int i = 0; i < tile_rows; i++)
            UNROLL
            for (int v = 0; v < nv; v++)
                sum[i][v] += grad[i * f + k] * panel[v];

    UNROLL
    for (int i = 0; i < tile_rows; i++)
        UNROLL
        for (int v = 0; v < nv; v++)
            *(UNALIGNED *)(value + i * columns + v * LANES) = sum[i][v];
}

/* The same for any number of rows. */
#define DEFINE_RANK_ROWS(function, nv, paired)                                                 \
    static void function(int64_t rows, const REAL *grad, int64_t f, const REAL *panel,         \
                         REAL *value, int64_t columns)                                         \
    {                                                                                          \
        int64_t i = 0;                                                                         \
        for (; i + TILE_ROWS(nv) <= rows; i += TILE_ROWS(nv))                                  \
            NAME(rank_tile)(TILE_ROWS(nv), nv, paired, grad + i * f, f, panel,                 \
                            value + i * columns, columns);                                     \
        for (; i < rows; i++)                                                                  \
            NAME(rank_tile)(1, nv, paired, grad + i * f, f, panel, value + i * columns,        \
                            columns);                                                          \
    }
DEFINE_RANK_ROWS(NAME(rank_rows_paired), 1, 1)
DEFINE_RANK_ROWS(NAME(rank_rows_1), 1, 0)
DEFINE_RANK_ROWS(NAME(rank_rows_2), 2, 0)
DEFINE_RANK_ROWS(NAME(rank_rows_3), 3, 0)
#undef DEFINE_RANK_ROWS

/* grad_x[place[i, r]] += grad[i] @ weight[r] for a block of rows. */
static void NAME(add_grad_x)(const struct NAME(scalar_backward_plan) *plan, const REAL *grad,
                             const int32_t *place, int64_t rows,
                             const struct NAME(scalar_scratch) *s)
{
    const int64_t p = plan->problem->n_ranks, f = plan->problem->width;
    const int64_t columns = plan->columns;
    const REAL *value = s->value;
    if (plan->paired) {
        NAME(pair) *pairs = (NAME(pair) *)s->grad_x;
        NAME(rank_rows_paired)(rows, grad, f, plan->packed, s->value, 2 * p);
        for (int64_t slot = 0; slot < rows * p; slot++)
            pairs[place[slot]] += ((const NAME(pair) *)value)[slot];
        return;
    }
    for (int64_t column = 0; column < p;) {
        const int nv = NAME(panel_vectors)(column, p);
        const REAL *panel = plan->packed + f * column;
        if (nv == 1)
            NAME(rank_rows_1)(rows, grad, f, panel, s->value + column, columns);
        else if (nv == 2)
            NAME(rank_rows_2)(rows, grad, f, panel, s->value + column, columns);
        else
            NAME(rank_rows_3)(rows, grad, f, panel, s->value + column, columns);
        column += nv * LANES;
    }
    for (int64_t i = 0; i < rows; i++, place += p, value += columns)
        for (int64_t r = 0; r < p; r++)
            s->grad_x[place[r]] += value[r];
}

/* All gradients from one sample: its own grad_x, and what it adds to the sums. */
static void NAME(scalar_sample)(const struct NAME(scalar_backward_plan) *plan, int64_t sample,
                                REAL *sum, const struct NAME(scalar_scratch) *s)
{
    const struct problem *a = plan->problem;
    const int64_t p = a->n_ranks, f = a->width, n_in = a->n_in, lanes = 1 + plan->paired;
    const REAL *x = (const REAL *)a->x + sample * n_in;
    const REAL *grad_out = (const REAL *)a->grad_out + sample * a->n_out * f;
    struct NAME(grad_rows) grad = {.step = max64(f, LANES), .last = max64(f - LANES, 0)};

    for (int64_t j = 0; j <= n_in; j++)
        s->x[j] = j < n_in ? x[j] : 0;
    for (int64_t j = 0; j < lanes * (n_in + 1); j++)
        s->grad_x[j] = 0;
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
            NAME(add_grad_x)(plan, grad_out, place, rows, s);
    }
    if (!a->grad_x)
        return;
    REAL *grad_x = (REAL *)a->grad_x + sample * n_in;
    for (int64_t j = 0; j < n_in; j++)
        grad_x[j] = plan->paired ? s->grad_x[2 * j] + s->grad_x[2 * j + 1] : s->grad_x[j];
}

/* Values of one thread's scratch. */
static int64_t NAME(scalar_values)(const struct NAME(scalar_backward_plan) *plan)
{
    const int64_t nodes = NAME(padded)(plan->problem->n_in + 1);
    return ROWS * (plan->columns + LANES) + (2 + plan->paired) * nodes;
}

/* Work item: a group of samples and its partial sum. */
static void NAME(scalar_group)(const void *context, int64_t group, void *scratch)
{
    const struct NAME(scalar_backward_plan) *plan = context;
    const struct problem *a = plan->problem;
    const int64_t sum_size = (a->n_ranks + 1) * NAME(padded)(a->width);
    REAL *sum = plan->weight.partial + group * sum_size;
    struct NAME(scalar_scratch) s = {.value = scratch};
    s.copy = s.value + ROWS * plan->columns;
    s.x = s.copy + ROWS * LANES;
    s.grad_x = s.x + NAME(padded)(a->n_in + 1);

    for (int64_t j = 0; j < sum_size; j++)
        sum[j] = 0;
    for (int64_t m = group * plan->group_samples;
         m < min64((group + 1) * plan->group_samples, a->n_samples); m++)
        NAME(scalar_sample)(plan, m, sum, &s);
}

/* Each gradient only if its array is given. */
static int NAME(backward_scalar)(const struct problem *a)
{
    const int64_t p = a->n_ranks, f_padded = NAME(padded)(a->width);
    struct NAME(scalar_backward_plan) plan = {
        .problem = a, .weight = {.problem = a}, .paired = NAME(is_paired)(a)};
    plan.columns = NAME(padded)(p * (1 + plan.paired));
    plan.group_samples = ceil_div(a->n_samples, NAME(scalar_groups));
    plan.weight.n_partials = ceil_div(a->n_samples, plan.group_samples);
    const int64_t packed = a->width * plan.columns;
    REAL *memory = allocate(packed + plan.weight.n_partials * (p + 1) * f_padded, sizeof(REAL));
    int32_t *place = scalar_places(a);
    int status = memory && place ? WALKCONV_OK : WALKCONV_NO_MEMORY;
    if (status == WALKCONV_OK) {
        NAME(pack_ranks)(&plan, memory);
        plan.packed = memory;
        plan.weight.partial = memory + packed;
        plan.place = place;
        const double cost = (double)(2 * a->n_samples * a->n_out) * (double)(p * f_padded + 64);
        status = parallel_items(a->n_threads, plan.weight.n_partials, cost,
                                (size_t)NAME(scalar_values)(&plan) * sizeof(REAL),
                                NAME(scalar_group), &plan);
    }
    if (status == WALKCONV_OK)
        status = NAME(reduce)(&plan.weight);
    free(memory);
    free(place);
    return status;
}
