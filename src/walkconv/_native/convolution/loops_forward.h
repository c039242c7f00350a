/* Forward: out (M, N, f); see kernel_loops.h for the macros. */

struct NAME(forward_plan) {
    const struct problem *problem;
    struct NAME(neighbours) from;
    const REAL *packed; /* weight (p * d, f) as panels */
    const REAL *base;   /* bias or zeros, padded (f) */
    const REAL *ones;   /* (ROWS) */
    int64_t item_rows;  /* flattened rows (M * N) of one work item */
    int64_t limit;      /* columns of (p, d) in one chunk */
    int prefetch;
};

/* A group of rows and a chunk of (p, d), and where its values are. */
struct NAME(forward_step) {
    int64_t row, rows, k;
    struct chunk chunk;
    int64_t n_runs;
    const REAL **source; /* (n_runs, ROWS) */
    REAL *panel;         /* (ROWS, limit), filled if gathered */
};

/* Scratch of one thread: targets (ROWS), and two steps' sources and panels. */
static size_t NAME(forward_scratch)(const struct NAME(forward_plan) *plan)
{
    const size_t pointers = 1 + 2 * (size_t)plan->limit;
    const size_t values = plan->from.gathered ? 2 * (size_t)plan->limit : 0;
    return ROWS * (pointers * sizeof(REAL *) + values * sizeof(REAL));
}

/* Sets a step to the rows from `row` before `end` and the chunk from k. */
static void NAME(set_step)(const struct NAME(forward_plan) *plan, int64_t row, int64_t end,
                           int64_t k, struct NAME(forward_step) *s)
{
    const struct problem *a = plan->problem;
    s->row = row;
    s->rows = min64(ROWS, end - row);
    s->k = k;
    s->chunk = chunk_at(k, a->n_ranks * a->depth, a->depth, plan->limit);
    s->n_runs = plan->from.gathered ? min64(1, s->chunk.n_ranks) : s->chunk.n_ranks;
    if (s->rows <= 0)
        return;
    NAME(find_rows)(&plan->from, row, s->rows, s->chunk, ROWS, s->source, s->panel);
    NAME(fill_tile)(s->source, s->n_runs, s->rows);
}

/* Work item: item_rows rows of out, in groups of ROWS, chunk after chunk. */
static void NAME(forward_item)(const void *context, int64_t item, void *scratch)
{
    const struct NAME(forward_plan) *plan = context;
    const struct problem *a = plan->problem;
    const int64_t n_k = a->n_ranks * a->depth, f = a->width;
    const int64_t end = min64((item + 1) * plan->item_rows, a->n_samples * a->n_out);
    REAL **target = scratch;
    struct NAME(forward_step) now, next;
    now.source = (const REAL **)(target + ROWS);
    next.source = now.source + plan->limit * ROWS;
    now.panel = (REAL *)(next.source + plan->limit * ROWS);
    next.panel = now.panel + plan->limit * ROWS;

    NAME(set_step)(plan, item * plan->item_rows, end, 0, &now);
    while (now.rows > 0) {
        const int64_t columns = now.chunk.n_ranks * now.chunk.length, k = now.k + columns;
        if (k < n_k)
            NAME(set_step)(plan, now.row, end, k, &next);
        else
            NAME(set_step)(plan, now.row + ROWS, end, 0, &next);
        for (int64_t i = 0; i < now.rows; i++)
            target[i] = (REAL *)a->out + (now.row + i) * f;
        struct NAME(product) product = {
            .source = now.source,
            .n_runs = now.n_runs,
            .run = now.n_runs ? columns / now.n_runs : 0,
            .target = target,
            .factor = plan->ones,
            .prefetch = plan->prefetch,
            .ahead = next.rows > 0 && next.n_runs >= now.n_runs ? next.source : NULL,
        };
        NAME(rows_times_panels)(&product, now.rows, plan->packed, n_k, now.k, f,
                                now.k == 0 ? plan->base : NULL);
        const struct NAME(forward_step) done = now;
        now = next;
        next = done;
    }
}

/* out[m, i] = bias + sum_r scale[i, r] * x[m, index[i, r]] @ weight[r]. */
static int NAME(forward)(const struct problem *a)
{
    const int64_t rows = a->n_samples * a->n_out;
    const int64_t n_k = a->n_ranks * a->depth, f = a->width, f_padded = NAME(padded)(f);
    if (rows == 0 || f == 0)
        return WALKCONV_OK;

    REAL *memory = allocate((n_k + 1) * f_padded + ROWS + a->depth, sizeof(REAL));
    if (!memory)
        return WALKCONV_NO_MEMORY;
    REAL *base = memory + n_k * f_padded, *ones = base + f_padded, *zero = ones + ROWS;
    NAME(pack)(n_k, 0, n_k, f, a->weight, f, memory);
    for (int64_t j = 0; j < f_padded; j++)
        base[j] = a->bias && j < f ? ((const REAL *)a->bias)[j] : 0;
    if (NAME(is_scalar)(a)) {
        const int status = NAME(forward_scalar)(a, memory, base);
        free(memory);
        return status;
    }
    for (int64_t i = 0; i < ROWS; i++)
        ones[i] = 1;
    for (int64_t j = 0; j < a->depth; j++)
        zero[j] = 0;

    const int gathered = NAME(is_gathered)(a);
    int32_t *offset = NULL;
    if (!gathered && share_offsets(a, &offset) != WALKCONV_OK) {
        free(memory);
        return WALKCONV_NO_MEMORY;
    }
    const double row_cost = (double)(n_k * f_padded + 4 * f + 8 * a->n_ranks);
    struct NAME(forward_plan) plan = {
        .problem = a,
        .from = {a, a->x, a->scale, zero, offset, gathered},
        .packed = memory,
        .base = base,
        .ones = ones,
        .item_rows = max64(1, (int64_t)(1e6 / row_cost) / ROWS) * ROWS,
        .limit = max64(1, min64(n_k, NAME(chunk_columns))),
    };
    plan.prefetch = !gathered && NAME(exceeds)(32, a->n_in, a->depth);
    const int status =
        parallel_items(a->n_threads, ceil_div(rows, plan.item_rows), row_cost * (double)rows,
                       NAME(forward_scratch)(&plan), NAME(forward_item), &plan);
    free(offset);
    free(memory);
    return status;
}
