/* Gradients of x, weight and bias; see kernel_loops.h for the macros. */

struct NAME(backward_plan) {
    struct NAME(grad_x_plan) x;
    struct NAME(weight_plan) weight;
    int64_t n_weight_items;
};

/* Work items: those of grad_x and those of grad_weight in turns, so that both read the
 * same part of grad_out at about the same time. */
static void NAME(backward_item)(const void *context, int64_t item, void *scratch)
{
    const struct NAME(backward_plan) *plan = context;
    const int64_t n_items = plan->x.n_items + plan->n_weight_items;
    const int64_t done = item * plan->x.n_items / n_items; /* of grad_x before this one */
    if ((item + 1) * plan->x.n_items / n_items > done)
        NAME(grad_x_item)(&plan->x, done, scratch);
    else
        NAME(grad_weight_item)(&plan->weight, item - done, scratch);
}

/* Each gradient only if its array is given. */
static int NAME(backward)(const struct problem *a)
{
    if (NAME(is_scalar)(a) && a->n_ranks <= NAME(narrow_columns) && a->width > 0)
        return NAME(backward_scalar)(a);

    const int64_t n_k = a->n_ranks * a->depth, f_padded = NAME(padded)(a->width);
    const int weights = (a->grad_weight || a->grad_bias) && a->width > 0;
    struct NAME(backward_plan) plan = {.x = {.problem = a}, .weight = {.problem = a}};
    if (a->grad_x)
        NAME(cut_grad_x)(&plan.x);
    if (weights)
        NAME(cut_weight)(&plan.weight);
    plan.n_weight_items = plan.weight.n_partials * plan.weight.n_slices;

    const int64_t zeros = NAME(padded)(a->depth);
    const int64_t packed = a->grad_x ? NAME(grad_x_values)(&plan.x) : 0;
    const int64_t sums = plan.weight.n_partials * (n_k + 1) * f_padded;
    REAL *memory = allocate(zeros + packed + sums, sizeof(REAL));
    int64_t *uses = plan.x.sample_wise ? list_uses(a) : NULL;
    int32_t *offset = NULL;
    const int gathered = NAME(is_gathered)(a);
    int status = memory && (uses || !plan.x.sample_wise) ? WALKCONV_OK : WALKCONV_NO_MEMORY;
    if (status == WALKCONV_OK && weights && a->grad_weight && !gathered)
        status = share_offsets(a, &offset);
    if (status == WALKCONV_OK) {
        for (int64_t j = 0; j < zeros; j++)
            memory[j] = 0;
        if (a->grad_x)
            NAME(pack_grad_x)(&plan.x, memory + zeros);
        plan.x.uses = uses;
        plan.weight.partial = memory + zeros + packed;
        plan.weight.from =
            (struct NAME(neighbours)){a, a->x, a->scale, memory, offset, gathered};
        plan.weight.prefetch = !gathered && NAME(exceeds)(32, a->n_in, a->depth);

        const size_t x_scratch = NAME(grad_x_scratch)(&plan.x);
        const size_t weight_scratch = NAME(weight_scratch)();
        const double row_cost = (double)(n_k * f_padded + 8 * a->n_ranks + 8 * a->width);
        const double rows = (double)(a->n_samples * a->n_out);
        status = parallel_items(a->n_threads,
                                plan.x.n_items + plan.n_weight_items,
                                row_cost * rows * ((a->grad_x != NULL) + weights),
                                x_scratch > weight_scratch ? x_scratch : weight_scratch,
                                NAME(backward_item), &plan);
    }
    if (status == WALKCONV_OK && weights)
        status = NAME(reduce)(&plan.weight);
    free(memory);
    free(uses);
    free(offset);
    return status;
}

#undef LANES
#undef QUAD_LANES
#undef VECTOR
#undef UNALIGNED
#undef QUAD
#undef TILE_ROWS
#undef FLOATS
#undef PLACES_16
#undef PLACES_32
#undef PLACES_64
#undef PLACES
#undef SHUFFLE
#undef LOW_HALVES
#undef HIGH_HALVES
#undef LOW_IN_TURNS
#undef HIGH_IN_TURNS
