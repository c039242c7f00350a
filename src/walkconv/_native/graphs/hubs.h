/* Counts that choose the hubs (`walks/sparse.py`). */

/* total (n_rows): the sum of a value over the nodes that each of some rows has edges to. */
static void NAMED(sums_ahead)(const INDEX *indptr, const INDEX *indices, const double *value,
                              const int64_t *rows, int64_t n_rows, double *total)
{
    for (int64_t place = 0; place < n_rows; place++) {
        const int64_t end = indptr[rows[place] + 1];
        double sum = 0.0;
        for (int64_t edge = indptr[rows[place]]; edge < end; edge++)
            sum += value[indices[edge]];
        total[place] = sum;
    }
}

/* marks (n_nodes): a hash of the hubs of each node and of their proportions, 0 without hubs. */
static void NAMED(mark_rows)(const INDEX *indptr, const INDEX *indices, const double *chances,
                             const uint8_t *is_hub, int64_t n_nodes, uint64_t *marks)
{
    for (int64_t node = 0; node < n_nodes; node++) {
        const int64_t end = indptr[node + 1];
        uint64_t mark = 0;
        double first = 0.0;
        for (int64_t edge = indptr[node]; edge < end; edge++) {
            const double chance = chances ? chances[edge] : 1.0;
            if (is_hub[indices[edge]] && chance > 0) {
                first = first > 0 ? first : chance;
                /* Relative to the first hub: only proportions matter.  The limit keeps the
                 * product within 64 bits. */
                const double times = chance / first < 1e9 ? chance / first : 1e9;
                const uint64_t share = (uint64_t)(1e9 * times);
                mark ^= (uint64_t)indices[edge] + (share << 32);
                mark = (mark * GOLDEN) ^ (mark >> 29);
            }
        }
        marks[node] = mark;
    }
}
