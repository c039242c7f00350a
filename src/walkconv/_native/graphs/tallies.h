/* A walk that may meet any node: an amount for each, and a list of those that have one.
 *
 * Why it is fast: an amount is found without searching.  A node is always written to the end
 * of the list, and the end moves on only if the node is new: a jump would be guessed wrong. */

struct NAMED(tally) {
    double *amount; /* (n_nodes,) */
    INDEX *node;    /* (n,), and one place more */
    int64_t n;
};

/* Adds to the amount of a node. */
ALWAYS_INLINE void NAMED(tally_up)(INDEX node, double amount, struct NAMED(tally) *tally)
{
    const double before = tally->amount[node];
    tally->node[tally->n] = node;
    tally->n += (before == 0) & (amount > 0);
    tally->amount[node] = before + amount;
}

static inline void NAMED(clear_tally)(struct NAMED(tally) *tally)
{
    for (int64_t place = 0; place < tally->n; place++)
        tally->amount[tally->node[place]] = 0.0;
    tally->n = 0;
}

/* Adds a tally to another. */
static inline void NAMED(add_tally)(const struct NAMED(tally) *more, struct NAMED(tally) *tally)
{
    for (int64_t place = 0; place < more->n; place++)
        NAMED(tally_up)(more->node[place], more->amount[more->node[place]], tally);
}

/* Does a step from some nodes, whose chances become 0. */
ALWAYS_INLINE void NAMED(move)(const struct walk *w, double *chance, const INDEX *nodes,
                               int64_t n, struct NAMED(tally) *to, int is_even)
{
    const INDEX *indptr = w->indptr, *indices = w->indices;
    struct NAMED(tally) tally = *to; /* in registers */
    for (int64_t place = 0; place < n; place++) {
        const INDEX node = nodes[place];
        const double here = chance[node];
        const int64_t first = indptr[node], end = indptr[node + 1];
        const double evenly = is_even ? here * (1.0 / (double)(end - first)) : 0.0;
        chance[node] = 0.0;
        for (int64_t edge = first; edge < end; edge++)
            NAMED(tally_up)(indices[edge], is_even ? evenly : here * w->chance[edge], &tally);
    }
    to->n = tally.n;
}

/* Walks on from the chances of a tally, but skips the last step from busy nodes.
 *
 * Returns the tally with the chances before the last step, `here` or `there`, whose nodes
 * from *n_left on the walk has not left. */
ALWAYS_INLINE struct NAMED(tally) *NAMED(walk_on)(const struct walk *w, int64_t n_steps,
                                                  struct NAMED(tally) *here,
                                                  struct NAMED(tally) *there,
                                                  struct NAMED(tally) *visits, int64_t *n_left,
                                                  int is_even)
{
    for (int64_t step = 1; step < n_steps; step++) {
        NAMED(move)(w, here->amount, here->node, here->n, there, is_even);
        here->n = 0;
        struct NAMED(tally) *left = here;
        here = there;
        there = left;
        NAMED(add_tally)(here, visits);
    }
    *n_left = here->n;
    if (n_steps > 0) {
        INDEX *nodes = here->node;
        /* Busy nodes move to the end: the caller reads them there. */
        for (int64_t place = 0; place < *n_left;) {
            const INDEX node = nodes[place];
            if (w->is_busy[node]) {
                *n_left -= 1;
                nodes[place] = nodes[*n_left];
                nodes[*n_left] = node;
            } else {
                place++;
            }
        }
        NAMED(move)(w, here->amount, nodes, *n_left, visits, is_even);
    }
    return here;
}
