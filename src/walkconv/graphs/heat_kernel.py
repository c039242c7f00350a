"""The graph of a Gaussian kernel between columns, with a local scale for every column."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from walkconv._checks import check_integer, check_number, check_table
from walkconv.graphs.knn import nearest_columns


def heat_kernel_graph(
    X: Any,
    *,
    n_edges: int | None = None,
    scale: float | None = None,
    scale_neighbor: int = 7,
) -> sp.csr_array:
    """Return the graph with weights ``exp(-d_ij^2 / (s_i s_j))`` between columns.

    The local scale ``s_i`` is the distance from column i to its `scale_neighbor`-th nearest column
    (Zelnik-Manor and Perona 2004), so that dense and sparse regions are both connected. Columns
    are compared as they are: scale them first if their units differ.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_nodes)
        The table whose columns are the nodes. A missing value (NaN) counts as the mean of the
        other values of its column.
    n_edges : int, optional
        Keep an edge only if one end is among the `n_edges` nearest columns of the other end. By
        default keep all pairs whose weight is not 0 in double precision, which needs memory for
        (n_nodes, n_nodes).
    scale : float, optional
        One scale for all columns instead of local scales.
    scale_neighbor : int, default 7
        The neighbor whose distance is the local scale: 1 is the nearest. With fewer columns it is
        the farthest.

    Returns
    -------
    csr_array of shape (n_nodes, n_nodes), float64
        Symmetric, weights in (0, 1], no self-loops. Equal columns have weight 1.

    Examples
    --------
    >>> import numpy as np
    >>> from walkconv import heat_kernel_graph
    >>> positions = np.array([[0.0, 1.0, 3.0]])  # three columns on a line
    >>> heat_kernel_graph(positions, scale=1.0).toarray().round(3)
    array([[0.   , 0.368, 0.   ],
           [0.368, 0.   , 0.018],
           [0.   , 0.018, 0.   ]])
    """
    n_nodes = check_table(X, allow_missing=True).shape[-1]
    scale_neighbor = check_integer(scale_neighbor, "scale_neighbor", minimum=1)
    if scale is not None:
        scale = check_number(scale, "scale", minimum=0, is_open=True)
    if n_edges is not None:
        n_edges = check_integer(n_edges, "n_edges", minimum=1, maximum=max(1, n_nodes - 1))
    n_kept = max(1, n_nodes - 1) if n_edges is None else n_edges
    n_wanted = n_kept if scale is not None else max(n_kept, min(scale_neighbor, n_nodes - 1))
    nearest = nearest_columns(X, n_neighbors=n_wanted)
    # Every row holds n_wanted distances, nearest first.
    distance = nearest.data.reshape(n_nodes, n_wanted)
    target = nearest.indices.reshape(n_nodes, n_wanted)[:, :n_kept]
    if scale is None:
        local = distance[:, min(scale_neighbor, n_wanted) - 1]
    else:
        local = np.full(n_nodes, scale)
    weight = _kernel(distance[:, :n_kept], local[:, None], local[target])
    source = np.repeat(np.arange(n_nodes), n_kept)
    graph = sp.csr_array((weight.ravel(), (source, target.ravel())), shape=(n_nodes, n_nodes))
    graph = sp.csr_array(graph.maximum(graph.T))
    graph.eliminate_zeros()
    graph.sort_indices()
    return graph


def _kernel(distance: np.ndarray, scale: np.ndarray, other_scale: np.ndarray) -> np.ndarray:
    """Return exp(-d^2 / (s_i s_j)); equal columns have weight 1 even if a scale is zero."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        weight = np.exp(-(distance / scale) * (distance / other_scale))
    return np.where(distance == 0, 1.0, weight)
