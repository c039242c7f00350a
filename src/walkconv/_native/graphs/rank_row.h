/* Ranking of candidates whose nodes are INDEX; see rank.h. */

/* Holds the most visited candidates, ties as they come. */
ALWAYS_INLINE void NAMED(hold_best)(const INDEX *candidates, const double *visits, int64_t n,
                                    const struct slots *slots)
{
    empty_slots(slots);
    for (int64_t place = 0; place < n; place++)
        offer(candidates[place], visits[place], slots);
}

/* Brings the slots in order, the last tie with all candidates; returns its least visits. */
ALWAYS_INLINE double NAMED(order_best)(int64_t node, const INDEX *candidates,
                                       const double *visits, int64_t n, const struct rule *rule,
                                       const struct slots *slots)
{
    double low, high;
    last_tie(visits, n, least_held(slots), &low, &high);
    if (slots->n > FEW_SLOTS)
        sort_heap(slots->n, slots->index, slots->best);
    int64_t n_filled = 0;
    while (n_filled < slots->n && slots->best[n_filled] > high)
        n_filled++;
    for (int64_t slot = n_filled; slot < slots->n; slot++) {
        slots->index[slot] = -1;
        slots->best[slot] = 0.0;
    }
    order_ties(node, rule, n_filled, slots);
    const int64_t first = n_filled;
    for (int64_t place = 0; place < n; place++) {
        if (!(visits[place] >= low && visits[place] <= high))
            continue;
        const int64_t slot =
            slot_in_tie(candidates[place], first, n_filled, node, rule, slots);
        if (slot < slots->n) {
            n_filled = n_filled < slots->n ? n_filled + 1 : n_filled;
            insert(candidates[place], visits[place], slot, n_filled, slots);
        }
    }
    return low;
}

/* Writes the most visited candidates, which come in any order, into the slots. */
static inline void NAMED(rank_row)(int64_t node, const INDEX *candidates, const double *visits,
                                   int64_t n, const struct rule *rule, const struct slots *slots)
{
    NAMED(hold_best)(candidates, visits, n, slots);
    (void)NAMED(order_best)(node, candidates, visits, n, rule, slots);
}
