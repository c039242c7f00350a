/* A walk that meets few nodes, in small tables: no memory but theirs is written to.
 *
 * Why it is fast: a tally has an amount for every node of the graph, of which a walk touches
 * a hundred at random, and on a large graph each is a wait for memory.  A table keeps nodes
 * and amounts side by side in the order in which they were met, which is what the ranking
 * reads, and finds them by 1024 slots of 16 bits: 14 KB that stay in the first cache.
 * Amounts are added in the order in which a tally would add them: the bits are the same. */

struct NAMED(table) {
    uint16_t place[TABLE_SLOTS]; /* from 1 on; 0 in a free slot */
    int64_t n;
    double amount[MOST_IN_TABLE];
    INDEX node[MOST_IN_TABLE];
};

ALWAYS_INLINE void NAMED(clear_table)(struct NAMED(table) *table)
{
    memset(table->place, 0, sizeof table->place);
    table->n = 0;
}

/* Adds an amount to a node's.  At most half of the slots are filled, so a free one is near. */
ALWAYS_INLINE void NAMED(enter)(INDEX node, double amount, struct NAMED(table) *table)
{
    uint64_t slot = (uint64_t)node * GOLDEN >> (64 - TABLE_BITS);
    for (; table->place[slot] > 0; slot = (slot + 1) & (TABLE_SLOTS - 1)) {
        const size_t place = table->place[slot] - 1;
        if (table->node[place] == node) {
            table->amount[place] += amount;
            return;
        }
    }
    table->node[table->n] = node;
    table->amount[table->n] = amount;
    table->place[slot] = (uint16_t)++table->n;
}

/* Whether a step from some nodes may lead to too many.  Edges are counted, not nodes: that
 * takes no walk, and never says too few. */
ALWAYS_INLINE int NAMED(may_be_full)(const INDEX *indptr, const INDEX *nodes, int64_t n,
                                     int64_t n_before)
{
    for (int64_t place = 0; place < n; place++) {
        const int64_t n_edges = indptr[nodes[place] + 1] - indptr[nodes[place]];
        n_before += n_edges;
        if (n_edges > MOST_EDGES || n_before > MOST_IN_TABLE)
            return 1;
    }
    return 0;
}

/* Does a step from some nodes with the given chances. */
ALWAYS_INLINE void NAMED(move_in_table)(const struct walk *w, const INDEX *nodes,
                                        const double *chance, int64_t n,
                                        struct NAMED(table) *table, int is_even)
{
    const INDEX *indptr = w->indptr, *indices = w->indices;
    for (int64_t place = 0; place < n; place++) {
        const int64_t first = indptr[nodes[place]], end = indptr[nodes[place] + 1];
        const double evenly = is_even ? chance[place] * (1.0 / (double)(end - first)) : 0.0;
        for (int64_t edge = first; edge < end; edge++) {
            const double amount = is_even ? evenly : chance[place] * w->chance[edge];
            if (amount > 0)
                NAMED(enter)(indices[edge], amount, table);
        }
    }
}

/* Walks from a node into the first table; returns the number of nodes visited, or 0 if they
 * may be too many. */
ALWAYS_INLINE int64_t NAMED(walk_in_table)(const struct walk *w, int64_t row,
                                           struct NAMED(table) *own,
                                           struct NAMED(table) *fronts, int is_even)
{
    const INDEX start[1] = {(INDEX)row}, *nodes = start;
    const double one[1] = {1.0}, *chance = one;
    int64_t n = 1;
    NAMED(clear_table)(own);
    NAMED(enter)(start[0], 1.0, own);
    for (int64_t step = 0; step < w->n_steps; step++) {
        /* The last step goes straight into the answer, so only it is counted with what is there. */
        const int is_last = step == w->n_steps - 1;
        if (NAMED(may_be_full)(w->indptr, nodes, n, is_last ? own->n : 0))
            return 0;
        if (is_last) {
            NAMED(move_in_table)(w, nodes, chance, n, own, is_even);
            break;
        }
        struct NAMED(table) *front = &fronts[step % 2];
        NAMED(clear_table)(front);
        NAMED(move_in_table)(w, nodes, chance, n, front, is_even);
        nodes = front->node;
        chance = front->amount;
        n = front->n;
        if (own->n + n > MOST_IN_TABLE)
            return 0;
        for (int64_t place = 0; place < n; place++)
            NAMED(enter)(nodes[place], chance[place], own);
    }
    return own->n;
}
