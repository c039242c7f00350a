/* The loops of the room `walks` that go along the edges of a graph, and what Python calls.
 * `is_long` says which index arrays are meant: int32, or int64. */

#include "walk.h"

#define INDEX int32_t
#define SUFFIX i32
#include "indexed.h"
#undef SUFFIX
#undef INDEX

#define INDEX int64_t
#define SUFFIX i64
#include "indexed.h"
#undef SUFFIX
#undef INDEX

/* The size of what Python fills in: it must agree. */
EXPORT int64_t walkconv_walk_bytes(void)
{
    return (int64_t)sizeof(struct walk);
}

/* Walks from some rows and ranks what each visits: index and best (n_rows, n_slots).  Rows with
 * the same hubs should follow each other. */
EXPORT int walkconv_walk_rows(int is_long, const struct walk *w, const int64_t *rows,
                              int64_t n_rows, int64_t *index, double *best)
{
    return is_long ? walk_rows_i64(w, rows, n_rows, index, best)
                   : walk_rows_i32(w, rows, n_rows, index, best);
}

/* How many nodes the walk from each row meets in a table: 0 if they may be too many. */
EXPORT void walkconv_walk_in_tables(int is_long, const struct walk *w, const int64_t *rows,
                                    int64_t n_rows, int64_t *n_met)
{
    struct table_i32 short_tables[3];
    struct table_i64 long_tables[3];
    for (int64_t place = 0; place < n_rows; place++)
        n_met[place] =
            is_long
                ? walk_in_table_i64(w, rows[place], long_tables, long_tables + 1, !w->chance)
                : walk_in_table_i32(w, rows[place], short_tables, short_tables + 1, !w->chance);
}

/* Ranks rows of visits (n_rows, n_nodes) of the nodes `rows`: index and best (n_rows, n_slots). */
EXPORT int walkconv_rank_rows(const int64_t *rows, int64_t n_rows, const double *visits,
                              int64_t n_nodes, int64_t kind, uint64_t seed, const double *places,
                              int64_t n_axes, int64_t n_slots, int64_t *index, double *best)
{
    const struct rule rule = {kind, seed, places, n_axes};
    int64_t *node = malloc(((size_t)n_nodes + 1) * sizeof(int64_t));
    double *value = malloc(((size_t)n_nodes + 1) * sizeof(double));
    for (int64_t place = 0; node && value && place < n_rows; place++) {
        const struct slots slots = {index + place * n_slots, best + place * n_slots, n_slots};
        const double *row = visits + place * n_nodes;
        int64_t n = 0;
        for (int64_t other = 0; other < n_nodes; other++) {
            node[n] = other;
            value[n] = row[other];
            n += row[other] >= REACHED;
        }
        rank_row_i64(rows[place], node, value, n, &rule, &slots);
    }
    const int has_memory = node && value;
    free(node);
    free(value);
    return has_memory ? WALKCONV_OK : WALKCONV_NO_MEMORY;
}

EXPORT void walkconv_sums_ahead(int is_long, const void *indptr, const void *indices,
                                const double *value, const int64_t *rows, int64_t n_rows,
                                double *total)
{
    if (is_long)
        sums_ahead_i64(indptr, indices, value, rows, n_rows, total);
    else
        sums_ahead_i32(indptr, indices, value, rows, n_rows, total);
}

EXPORT void walkconv_mark_rows(int is_long, const void *indptr, const void *indices,
                               const double *chance, const uint8_t *is_hub, int64_t n_nodes,
                               uint64_t *marks)
{
    if (is_long)
        mark_rows_i64(indptr, indices, chance, is_hub, n_nodes, marks);
    else
        mark_rows_i32(indptr, indices, chance, is_hub, n_nodes, marks);
}

EXPORT void walkconv_make_chances(int is_long, const void *indptr, int64_t n_nodes,
                                  const double *weight, double *chance)
{
    if (is_long)
        make_chances_i64(indptr, n_nodes, weight, chance);
    else
        make_chances_i32(indptr, n_nodes, weight, chance);
}

EXPORT int walkconv_reach_rows(int is_long, const void *indptr, const void *indices,
                               int64_t n_nodes, int64_t n_wanted, int64_t start, int64_t stop,
                               int64_t *n_steps)
{
    return is_long
               ? reach_rows_i64(indptr, indices, n_nodes, n_wanted, start, stop, n_steps)
               : reach_rows_i32(indptr, indices, n_nodes, n_wanted, start, stop, n_steps);
}
