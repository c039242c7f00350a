"""The graph of nearest columns."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.neighbors import NearestNeighbors

from walkconv._checks import check_integer, check_table


def knn_graph(
    X: Any, *, n_neighbors: int = 10, metric: str = "euclidean", mutual: bool = False
) -> sp.csr_array:
    """Return the graph that joins each column of X to its nearest columns.

    Columns are compared as they are: scale them first where their units differ.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_nodes)
        The table whose columns are the nodes. For points with coordinates pass their transpose.
    n_neighbors : int, default 10
        Nearest columns of each column, itself not counted.
    metric : str, default "euclidean"
        Distance between columns, any of scikit-learn's ``NearestNeighbors``.
    mutual : bool, default False
        Keep an edge only where each end is among the nearest of the other; by default where
        either is.

    Returns
    -------
    csr_array of shape (n_nodes, n_nodes), float64
        Symmetric, all weights 1, no self-loops.

    Examples
    --------
    >>> import numpy as np
    >>> from walkconv import knn_graph
    >>> places = np.array([[0.0, 1.0, 3.0, 7.0]])  # four columns on a line
    >>> knn_graph(places, n_neighbors=1).toarray()
    array([[0., 1., 0., 0.],
           [1., 0., 1., 0.],
           [0., 1., 0., 1.],
           [0., 0., 1., 0.]])
    """
    distances = nearest_columns(X, n_neighbors=n_neighbors, metric=metric)
    nearest = distances.copy()
    nearest.data = np.ones_like(nearest.data)
    joined = nearest.minimum(nearest.T) if mutual else nearest.maximum(nearest.T)
    graph = sp.csr_array(joined)
    graph.sort_indices()
    return graph


def nearest_columns(X: Any, *, n_neighbors: int, metric: str = "euclidean") -> sp.csr_array:
    """Return the distances (n_nodes, n_nodes) from each column to its nearest, zeros stored."""
    table = check_table(X)
    n_nodes = table.shape[1]
    n_neighbors = check_integer(
        n_neighbors,
        "n_neighbors",
        minimum=1,
        maximum=n_nodes - 1,
        hint="A column has at most as many neighbours as there are other columns.",
    )
    finder = NearestNeighbors(n_neighbors=n_neighbors, metric=metric)
    finder.fit(table.T.tocsr() if not isinstance(table, np.ndarray) else table.T)
    return sp.csr_array(finder.kneighbors_graph(mode="distance"))
