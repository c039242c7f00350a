"""How many steps a walk needs to fill the slots of a node, by breadth-first search."""

import numpy as np
import scipy.sparse as sp

from walkconv.walks.compiled import compiled

NEARLY_ALL = 0.99


def steps_to_fill(graph: sp.csr_array, n_neighbors: int) -> tuple[np.ndarray, np.ndarray]:
    """Return when each node has reached all it needs.

    Returns
    -------
    n_steps : ndarray of shape (n_nodes,), int64
        Steps after which a node has reached `n_neighbors` nodes, itself included, or every node
        it can ever reach.
    is_full : ndarray of shape (n_nodes,), bool
        Whether it reached `n_neighbors`.
    """
    n_nodes = graph.shape[0]
    n_steps = np.zeros(n_nodes, dtype=np.int64)
    is_full = np.zeros(n_nodes, dtype=np.bool_)
    _search(graph.indptr, graph.indices, n_neighbors, n_steps, is_full)
    return n_steps, is_full


def enough_steps(graph: sp.csr_array, n_neighbors: int) -> int:
    """Return the smallest k at which nearly every node has reached all it needs."""
    n_steps, _ = steps_to_fill(graph, n_neighbors)
    return int(np.quantile(n_steps, NEARLY_ALL, method="inverted_cdf"))


@compiled
def _search(indptr, indices, n_neighbors, n_steps, is_full):
    """Fill `n_steps` and `is_full`; at most `n_neighbors` nodes are expanded for each node."""
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
        is_full[node] = n_found == n_neighbors
