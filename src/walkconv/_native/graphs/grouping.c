/* Nodes become groups, as defined in `coarsening/grouping.py`.
 *
 * Why it is fast: waiting nodes are small records in a heap, and only the nodes that a group
 * has touched are looked at again when it is complete. */

#include <math.h>

#include "graphs.h"

/* A node, and the bonds it had left when it was put to wait. */
struct waiting {
    int64_t left, node;
};

static inline int is_before(struct waiting a, struct waiting b)
{
    return a.left < b.left || (a.left == b.left && a.node < b.node);
}

/* Lets a record sink from `place` in a heap of n, whose first comes first. */
static void sink(struct waiting *heap, int64_t n, int64_t place, struct waiting entry)
{
    for (int64_t child = 2 * place + 1; child < n; child = 2 * place + 1) {
        if (child + 1 < n && is_before(heap[child + 1], heap[child]))
            child++;
        if (!is_before(heap[child], entry))
            break;
        heap[place] = heap[child];
        place = child;
    }
    heap[place] = entry;
}

static void rise(struct waiting *heap, int64_t place, struct waiting entry)
{
    while (place > 0 && is_before(entry, heap[(place - 1) / 2])) {
        heap[place] = heap[(place - 1) / 2];
        place = (place - 1) / 2;
    }
    heap[place] = entry;
}

/* groups (n_nodes), -1 before: the group of each node.  bonds (n_edges): symmetric. */
EXPORT int walkconv_grow_groups(const int64_t *indptr, const int64_t *indices,
                                const int64_t *bonds, int64_t n_nodes, int64_t group_size,
                                int64_t *groups)
{
    /* A node waits again at most once for each group that touches it, by one edge at least. */
    const size_t most = (size_t)n_nodes + (size_t)indptr[n_nodes] + 1, n = (size_t)n_nodes + 1;
    struct waiting *heap = malloc(most * sizeof(struct waiting));
    int64_t *left = calloc(n, sizeof(int64_t)), *to_group = calloc(n, sizeof(int64_t));
    int64_t *nearby = malloc(n * sizeof(int64_t));
    const int has_memory = heap && left && to_group && nearby;
    int64_t n_waiting = has_memory ? n_nodes : 0, n_groups = 0;
    for (int64_t node = 0; node < n_waiting; node++) {
        for (int64_t edge = indptr[node]; edge < indptr[node + 1]; edge++)
            left[node] += bonds[edge];
        heap[node] = (struct waiting){left[node], node};
    }
    for (int64_t place = n_waiting / 2 - 1; place >= 0; place--)
        sink(heap, n_waiting, place, heap[place]);
    while (n_waiting > 0) {
        /* The bonds a node has left only fall, so the newest of its entries comes first. */
        int64_t node = heap[0].node, n_nearby = 0;
        n_waiting--;
        sink(heap, n_waiting, 0, heap[n_waiting]);
        if (groups[node] >= 0)
            continue;
        for (int64_t n_members = 0; n_members < group_size && node >= 0; n_members++) {
            groups[node] = n_groups;
            for (int64_t edge = indptr[node]; edge < indptr[node + 1]; edge++) {
                const int64_t other = indices[edge];
                if (groups[other] >= 0)
                    continue;
                nearby[n_nearby] = other;
                n_nearby += to_group[other] == 0;
                to_group[other] += bonds[edge];
                left[other] -= bonds[edge];
            }
            node = -1;
            double closest = 0.0;
            for (int64_t place = 0; place < n_nearby; place++) {
                const int64_t other = nearby[place];
                if (groups[other] >= 0)
                    continue;
                const double bond =
                    (double)to_group[other] / sqrt((double)(to_group[other] + left[other]));
                if (bond > closest || (bond == closest && other < node)) {
                    closest = bond;
                    node = other;
                }
            }
        }
        for (int64_t place = 0; place < n_nearby; place++) {
            const int64_t other = nearby[place];
            to_group[other] = 0;
            if (groups[other] < 0) {
                rise(heap, n_waiting, (struct waiting){left[other], other});
                n_waiting++;
            }
        }
        n_groups++;
    }
    free(heap);
    free(left);
    free(to_group);
    free(nearby);
    return has_memory ? WALKCONV_OK : WALKCONV_NO_MEMORY;
}
