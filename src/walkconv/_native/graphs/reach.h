/* n_steps (n_nodes): the number of steps that each node needs to meet `n_wanted` nodes, itself
 * included, or all it can meet.  The search of `walks/reach.py`.
 *
 * Why it is fast: a search expands few nodes, and a node is marked with the search that has
 * found it, so nothing is cleared between searches.  Searches are independent: threads take
 * ranges of them. */
static int NAMED(reach_rows)(const INDEX *indptr, const INDEX *indices, int64_t n_nodes,
                             int64_t n_wanted, int64_t start, int64_t stop, int64_t *n_steps)
{
    INDEX *last_search = malloc(((size_t)n_nodes + 1) * sizeof(INDEX));
    INDEX *queue = malloc((size_t)n_wanted * sizeof(INDEX));
    int64_t *depth = malloc((size_t)n_wanted * sizeof(int64_t));
    const int has_memory = last_search && queue && depth;
    for (int64_t node = 0; has_memory && node < n_nodes; node++)
        last_search[node] = -1;
    for (int64_t node = start; has_memory && node < stop; node++) {
        int64_t n_found = 1;
        queue[0] = last_search[node] = (INDEX)node;
        depth[0] = 0;
        for (int64_t place = 0; place < n_found && n_found < n_wanted; place++) {
            const int64_t end = indptr[queue[place] + 1];
            for (int64_t edge = indptr[queue[place]]; edge < end && n_found < n_wanted; edge++) {
                const INDEX there = indices[edge];
                if (last_search[there] != (INDEX)node) {
                    last_search[there] = (INDEX)node;
                    queue[n_found] = there;
                    depth[n_found++] = depth[place] + 1;
                }
            }
        }
        n_steps[node] = depth[n_found - 1];
    }
    free(last_search);
    free(queue);
    free(depth);
    return has_memory ? WALKCONV_OK : WALKCONV_NO_MEMORY;
}
