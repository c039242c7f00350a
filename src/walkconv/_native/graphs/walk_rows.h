/* Rows of Q, walked along the edges and ranked.
 *
 * Why it is fast: most rows of a large graph meet few nodes and never leave their tables
 * (tables.h).  Rows with the same hubs share what follows from these up to a factor: it is
 * walked once, and only its nodes with the most visits are read.  In its own last step a walk
 * skips busy nodes: no node gains more from them than a bound, and the gain is looked up for
 * the nodes that might be among the best.  Where the bound is too weak to tell, the step is
 * done after all.  The memory that the next rows read first is fetched ahead, so that they do
 * not wait for it piece by piece. */

/* Visits that rows share: a factor, the visits before it is applied, the nodes with the most
 * visits in descending order, and a bound for the nodes that are not listed. */
struct NAMED(common) {
    double scale;
    const double *shared;
    const INDEX *listed;
    int64_t n_listed;
    double unlisted;
};

/* The hubs that a row has edges to, and their shares of the largest chance. */
struct NAMED(hubs) {
    INDEX *node;
    double *share;
    int64_t n, n_nodes_held, n_shares_held;
};

/* Memory of a call.  It grows when a row needs more and is kept: new memory is slow. */
struct NAMED(room) {
    struct NAMED(hubs) met, met_before;
    INDEX *listed;
    INDEX *candidate;
    double *value;
    int64_t *top;
    double *top_value;
    int64_t n_listed_held, n_candidates_held, n_values_held, n_top_held, n_top_values_held;
};

static void NAMED(free_room)(struct NAMED(room) *room)
{
    free(room->met.node);
    free(room->met.share);
    free(room->met_before.node);
    free(room->met_before.share);
    free(room->listed);
    free(room->candidate);
    free(room->value);
    free(room->top);
    free(room->top_value);
}

/* Two rows ahead, where the edges of the neighbours begin; one row ahead, when that is known,
 * the first and the last of these edges. */
ALWAYS_INLINE void NAMED(fetch_ahead)(const struct walk *w, const int64_t *rows, int64_t place,
                                      int64_t n_rows, int is_even)
{
    const INDEX *indptr = w->indptr, *indices = w->indices;
    if (place + 2 < n_rows) {
        const int64_t row = rows[place + 2];
        const int64_t n_edges = indptr[row + 1] - indptr[row];
        const INDEX *edges = indices + indptr[row];
        for (int64_t edge = 0; edge < n_edges && edge < MOST_EDGES; edge++)
            FETCH(&indptr[edges[edge]]);
    }
    if (place + 1 < n_rows) {
        const int64_t row = rows[place + 1];
        const int64_t n_edges = indptr[row + 1] - indptr[row];
        const INDEX *edges = indices + indptr[row];
        for (int64_t edge = 0; edge < n_edges && edge < MOST_EDGES; edge++) {
            const int64_t first = indptr[edges[edge]], last = indptr[edges[edge] + 1] - 1;
            FETCH(&indices[first]);
            FETCH(&indices[last]);
            if (!is_even) {
                FETCH(&w->chance[first]);
                FETCH(&w->chance[last]);
            }
        }
    }
}

/* Finds the hubs of a row; returns the largest chance of a step to one, or -1 if memory is
 * missing.  Shares are relative to it, so that rows with the same proportions have the same. */
static double NAMED(find_hubs)(const struct walk *w, int64_t row, struct NAMED(hubs) *met)
{
    const INDEX *indptr = w->indptr, *indices = w->indices;
    const int64_t first = indptr[row], end = indptr[row + 1];
    if (!make_room((void **)&met->node, &met->n_nodes_held, end - first, sizeof(INDEX)) ||
        !make_room((void **)&met->share, &met->n_shares_held, end - first, sizeof(double)))
        return -1.0;
    met->n = 0;
    double largest = w->chance ? 0.0 : 1.0 / (double)(end - first);
    for (int64_t edge = first; edge < end; edge++)
        if (w->is_hub[indices[edge]]) {
            const double chance = w->chance ? w->chance[edge] : 1.0;
            met->node[met->n] = indices[edge];
            met->share[met->n++] = chance;
            if (w->chance && chance > largest)
                largest = chance;
        }
    for (int64_t place = 0; w->chance && place < met->n; place++)
        met->share[place] /= largest;
    return largest;
}

static int NAMED(are_same)(const struct NAMED(hubs) *a, const struct NAMED(hubs) *b)
{
    if (a->n != b->n)
        return 0;
    for (int64_t place = 0; place < a->n; place++)
        if (a->node[place] != b->node[place] || a->share[place] != b->share[place])
            return 0;
    return 1;
}

/* Lists the nodes with the most visits in descending order, and a bound for all other nodes.
 * Returns 0 if memory is missing.
 *
 * The nodes are selected in a heap, then all ties of the last one are listed too: the bound
 * is a little below it, and ties must not straddle it. */
static int NAMED(list_most)(const struct NAMED(tally) *tally, int64_t n_wanted,
                            struct NAMED(room) *room, int64_t *n_listed, double *unlisted)
{
    double enough = 0.0;
    int64_t n = 0;
    if (tally->n > n_wanted) {
        if (!make_room((void **)&room->top, &room->n_top_held, n_wanted, sizeof(int64_t)) ||
            !make_room((void **)&room->top_value, &room->n_top_values_held, n_wanted,
                       sizeof(double)))
            return 0;
        for (int64_t place = 0; place < n_wanted; place++)
            room->top_value[place] = 0.0;
        for (int64_t place = 0; place < tally->n; place++) {
            const double amount = tally->amount[tally->node[place]];
            if (amount > room->top_value[0])
                settle(0, tally->node[place], amount, n_wanted, room->top, room->top_value);
        }
        enough = room->top_value[0] * (1.0 - SLACK);
    }
    for (int64_t place = 0; place < tally->n; place++)
        n += tally->amount[tally->node[place]] >= enough;
    if (!make_room((void **)&room->top, &room->n_top_held, n, sizeof(int64_t)) ||
        !make_room((void **)&room->top_value, &room->n_top_values_held, n, sizeof(double)) ||
        !make_room((void **)&room->listed, &room->n_listed_held, n, sizeof(INDEX)))
        return 0;
    n = 0;
    for (int64_t place = 0; place < tally->n; place++) {
        const INDEX node = tally->node[place];
        if (tally->amount[node] >= enough) {
            room->top[n] = node;
            room->top_value[n++] = tally->amount[node];
        }
    }
    for (int64_t place = n / 2 - 1; place >= 0; place--)
        settle(place, room->top[place], room->top_value[place], n, room->top, room->top_value);
    sort_heap(n, room->top, room->top_value);
    for (int64_t place = 0; place < n; place++)
        room->listed[place] = (INDEX)room->top[place];
    *n_listed = n;
    *unlisted = enough;
    return 1;
}

/* Ranks the known visits of a row; returns whether no other node can be among the best.
 *
 * `bound` is the most that a node can gain from the busy nodes whose last step was skipped;
 * the walk is there with the chances `waiting`.  Candidates may lie below the known last slot
 * by the relative amount `slack`; if it is 1, `common` lists all nodes, in any order. */
static int NAMED(rank_best)(const struct walk *w, int64_t row, const struct NAMED(tally) *own,
                            const struct NAMED(common) *common, double bound,
                            const double *waiting, double slack, INDEX *candidate,
                            double *value, const struct slots *slots)
{
    const double scale = common->scale, *shared = common->shared, *visits = own->amount;
    /* First a lower bound of the last slot, from visits without the skipped step. */
    empty_slots(slots);
    for (int64_t place = 0; place < own->n; place++) {
        const INDEX node = own->node[place];
        value[place] = visits[node] + (scale > 0 ? scale * shared[node] : 0.0);
        offer(node, value[place], slots);
    }
    for (int64_t place = 0, n_new = 0; place < common->n_listed && n_new < slots->n; place++) {
        const INDEX node = common->listed[place];
        const double amount = scale * shared[node];
        if (amount <= least_held(slots))
            break;
        if (visits[node] == 0 && amount >= REACHED) {
            hold(node, amount, slots);
            n_new++;
        }
    }
    const double enough = least_held(slots) * (1.0 - slack);
    const double elsewhere = scale * common->unlisted + bound;
    if (elsewhere > 0 && elsewhere >= enough)
        return 0;
    /* A candidate is a node that could reach the last slot with all of the bound. */
    int64_t n_found = 0;
    for (int64_t place = 0; place < own->n; place++) {
        candidate[n_found] = own->node[place];
        value[n_found] = value[place];
        n_found += value[place] + bound >= enough;
    }
    for (int64_t place = 0; place < common->n_listed; place++) {
        const INDEX node = common->listed[place];
        const double amount = scale * shared[node];
        if (amount + bound < enough)
            break;
        if (visits[node] == 0) {
            candidate[n_found] = node;
            value[n_found++] = amount;
        }
    }
    if (bound > 0) {
        /* By column: the exact gain of a few candidates in place of the whole step. */
        const INDEX *indptr = w->busy_indptr, *indices = w->busy_indices;
        for (int64_t place = 0; place < n_found; place++) {
            const int64_t end = indptr[candidate[place] + 1];
            for (int64_t edge = indptr[candidate[place]]; edge < end; edge++)
                value[place] += waiting[indices[edge]] * w->busy_chance[edge];
        }
    }
    if (bound > 0 || slack == 1.0) /* else the best are held already */
        NAMED(hold_best)(candidate, value, n_found, slots);
    const double low =
        NAMED(order_best)(row, candidate, value, n_found, &w->rule, slots);
    /* Certain if no tie of the last slot reaches down to where nodes were dropped. */
    return n_found <= slots->n || enough == 0 || low * (1.0 - TIE) > enough;
}

/* Walks from the hubs of a row.  Rows share these visits, so no step is skipped. */
static void NAMED(walk_from_hubs)(const struct walk *w, const struct NAMED(hubs) *met,
                                  struct NAMED(tally) *here, struct NAMED(tally) *there,
                                  struct NAMED(tally) *visits, int is_even)
{
    int64_t n_left;
    here->n = there->n = 0;
    for (int64_t place = 0; place < met->n; place++)
        if (met->share[place] > 0) {
            here->amount[met->node[place]] = met->share[place];
            here->node[here->n++] = met->node[place];
        }
    NAMED(add_tally)(here, visits);
    struct NAMED(tally) *at =
        NAMED(walk_on)(w, w->n_steps - 1, here, there, visits, &n_left, is_even);
    NAMED(move)(w, at->amount, at->node + n_left, at->n - n_left, visits, is_even);
    NAMED(clear_tally)(at);
}

ALWAYS_INLINE int NAMED(walk_all)(const struct walk *w, const int64_t *rows, int64_t n_rows,
                                  int64_t *index, double *best, int is_even)
{
    const INDEX *indptr = w->indptr, *indices = w->indices;
    struct NAMED(tally) here = {w->amounts[0], w->listed[0], 0};
    struct NAMED(tally) there = {w->amounts[1], w->listed[1], 0};
    struct NAMED(tally) own = {w->amounts[2], w->listed[2], 0};
    struct NAMED(tally) shared = {w->amounts[3], w->listed[3], 0};
    struct NAMED(table) table, fronts[2];
    struct NAMED(room) room = {0};
    int64_t n_listed = 0;
    double unlisted = 0.0;
    int status = WALKCONV_OK;
    for (int64_t place = 0; place < n_rows && status == WALKCONV_OK; place++) {
        const int64_t row = rows[place];
        const int is_sharing = w->group[row] > 0;
        const struct slots slots = {index + place * w->n_slots, best + place * w->n_slots,
                                    w->n_slots};
        NAMED(fetch_ahead)(w, rows, place, n_rows, is_even);
        if (w->tries_tables && !is_sharing &&
            NAMED(walk_in_table)(w, row, &table, fronts, is_even) > 0) {
            NAMED(rank_row)(row, table.node, table.amount, table.n, &w->rule, &slots);
            continue;
        }
        struct NAMED(common) common = {0.0, shared.amount, NULL, 0, 0.0};
        if (is_sharing) {
            const double scale = NAMED(find_hubs)(w, row, &room.met);
            if (scale < 0) {
                status = WALKCONV_NO_MEMORY;
                break;
            }
            /* Rows of a group follow each other: only its first row walks from the hubs. */
            if (!NAMED(are_same)(&room.met, &room.met_before)) {
                const struct NAMED(hubs) met = room.met;
                room.met = room.met_before;
                room.met_before = met;
                NAMED(clear_tally)(&shared);
                NAMED(walk_from_hubs)(w, &met, &here, &there, &shared, is_even);
                if (!NAMED(list_most)(&shared, LISTED * w->n_slots, &room, &n_listed,
                                      &unlisted)) {
                    status = WALKCONV_NO_MEMORY;
                    break;
                }
            }
            common = (struct NAMED(common)){scale, shared.amount, room.listed, n_listed,
                                            unlisted};
        }
        /* The first step of the row's own walk, without the hubs if it shares them. */
        own.node[0] = (INDEX)row;
        own.amount[row] = 1.0;
        own.n = 1;
        here.n = there.n = 0;
        if (w->n_steps > 0) {
            const int64_t first = indptr[row], end = indptr[row + 1];
            const double evenly = is_even ? 1.0 / (double)(end - first) : 0.0;
            for (int64_t edge = first; edge < end; edge++) {
                const INDEX node = indices[edge];
                const double likely = is_even ? evenly : w->chance[edge];
                if (likely > 0 && !(is_sharing && w->is_hub[node])) {
                    here.amount[node] = likely;
                    here.node[here.n++] = node;
                }
            }
        }
        NAMED(add_tally)(&here, &own);
        int64_t n_left;
        struct NAMED(tally) *at =
            NAMED(walk_on)(w, w->n_steps - 1, &here, &there, &own, &n_left, is_even);
        double bound = 0.0;
        for (int64_t busy = n_left; busy < at->n; busy++)
            bound += at->amount[at->node[busy]] * w->most_likely[at->node[busy]];
        /* Mostly once: again with the skipped step done, then with every node reached. */
        double slack = SLACK;
        for (;;) {
            const int64_t n_known = own.n + common.n_listed + 1;
            if (!make_room((void **)&room.candidate, &room.n_candidates_held, n_known,
                           sizeof(INDEX)) ||
                !make_room((void **)&room.value, &room.n_values_held, n_known,
                           sizeof(double))) {
                status = WALKCONV_NO_MEMORY;
                break;
            }
            if (NAMED(rank_best)(w, row, &own, &common, bound, at->amount, slack,
                                 room.candidate, room.value, &slots))
                break;
            if (bound > 0) {
                bound = 0.0;
                NAMED(move)(w, at->amount, at->node + n_left, at->n - n_left, &own, is_even);
            } else { /* ties chain too far down: look at every node that is reached */
                common = (struct NAMED(common)){common.scale, shared.amount, shared.node,
                                                shared.n, 0.0};
                slack = 1.0;
            }
        }
        NAMED(clear_tally)(at);
        NAMED(clear_tally)(&own);
    }
    NAMED(clear_tally)(&shared);
    NAMED(free_room)(&room);
    return status;
}

static int NAMED(walk_rows)(const struct walk *w, const int64_t *rows, int64_t n_rows,
                            int64_t *index, double *best)
{
    return w->chance ? NAMED(walk_all)(w, rows, n_rows, index, best, 0)
                     : NAMED(walk_all)(w, rows, n_rows, index, best, 1);
}
