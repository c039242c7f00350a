"""The number of steps that a walk needs to fill the slots of a node, by breadth-first search."""

import numpy as np
import scipy.sparse as sp

from walkconv import _native

NEARLY_ALL = 0.99


def enough_steps(graph: sp.csr_array, n_neighbors: int) -> int:
    """Return the smallest k at which nearly every node has reached enough nodes.

    Enough are `n_neighbors` nodes, itself included, or all nodes that it can ever reach.
    """
    # Nearly: a few nodes at the end of long chains would make the walk long for all.
    n_steps = _steps_needed(graph, n_neighbors)
    return int(np.quantile(n_steps, NEARLY_ALL, method="inverted_cdf"))


def _steps_needed(graph: sp.csr_array, n_neighbors: int) -> np.ndarray:
    """Return the number of steps (n_nodes,) that each node needs."""
    native, n_nodes = _native.library(), graph.shape[0]
    indptr, indices = graph.indptr, graph.indices
    if native is None:
        return np.array([_search(indptr, indices, n_neighbors, node) for node in range(n_nodes)])
    n_steps = np.empty(n_nodes, dtype=np.int64)
    _native.check(
        native.walkconv_reach_rows(
            int(indices.dtype == np.int64),
            _native.address(indptr, indices.dtype, n_nodes + 1),
            _native.address(indices, indices.dtype, len(indices)),
            *(n_nodes, n_neighbors, 0, n_nodes, n_steps.ctypes.data),
        )
    )
    return n_steps


def _search(indptr: np.ndarray, indices: np.ndarray, n_neighbors: int, node: int) -> int:
    """Return the depth at which a breadth-first search from a node meets the last node needed."""
    depth_of = {node: 0}
    queue = [node]
    for here in queue:
        for there in indices[indptr[here] : indptr[here + 1]].tolist():
            if len(queue) == n_neighbors:
                break
            if there not in depth_of:
                depth_of[there] = depth_of[here] + 1
                queue.append(there)
    return depth_of[queue[-1]]
