"""How many steps a walk needs to fill the slots of a node, by breadth-first search."""

import numpy as np
import scipy.sparse as sp

from walkconv._compiled import compiled

NEARLY_ALL = 0.99


def enough_steps(graph: sp.csr_array, n_neighbors: int) -> int:
    """Return the smallest k at which nearly every node has reached all it needs.

    That is `n_neighbors` nodes, itself included, or every node it can ever reach.
    """
    n_steps = np.zeros(graph.shape[0], dtype=np.int64)
    _search(graph.indptr, graph.indices, n_neighbors, n_steps)
    return int(np.quantile(n_steps, NEARLY_ALL, method="inverted_cdf"))


@compiled
def _search(indptr, indices, n_neighbors, n_steps):
    """Fill `n_steps` (n_nodes,); at most `n_neighbors` nodes are expanded for each node."""
    last_search = np.full(len(n_steps), -1, dtype=np.int64)
    queue = np.empty(n_neighbors, dtype=np.int64)
    depth = np.empty(n_neighbors, dtype=np.int64)
    for node in range(len(n_steps)):
        queue[0] = node
        depth[0] = 0
        last_search[node] = node
        n_found = 1
        place = 0
        while place < n_found < n_neighbors:
            here = queue[place]
            for edge in range(indptr[here], indptr[here + 1]):
                there = indices[edge]
                if last_search[there] != node:
                    last_search[there] = node
                    queue[n_found] = there
                    depth[n_found] = depth[place] + 1
                    n_found += 1
                    if n_found == n_neighbors:
                        break
            place += 1
        n_steps[node] = depth[n_found - 1]
