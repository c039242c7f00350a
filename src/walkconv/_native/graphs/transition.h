/* chance (n_edges): the absolute weights, divided by their sum in each row, which is not 0. */
static void NAMED(make_chances)(const INDEX *indptr, int64_t n_nodes, const double *weight,
                                double *chance)
{
    for (int64_t node = 0; node < n_nodes; node++) {
        const int64_t end = indptr[node + 1];
        double total = 0.0;
        for (int64_t edge = indptr[node]; edge < end; edge++)
            total += fabs(weight[edge]);
        for (int64_t edge = indptr[node]; edge < end; edge++)
            chance[edge] = fabs(weight[edge]) / total;
    }
}
