"""The graph of nearest columns."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.neighbors import NearestNeighbors

from walkconv._checks import check_integer, check_table
from walkconv.graphs.missing import with_means


def knn_graph(
    X: Any, *, n_neighbors: int = 10, metric: str = "euclidean", mutual: bool = False
) -> sp.csr_array:
    """Return the graph that joins each column of X to its nearest columns.

    Columns are compared as they are: scale them first if their units differ.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_nodes)
        The table whose columns are the nodes. For points with coordinates pass their transpose. A
        missing value (NaN) counts as the mean of the other values of its column.
    n_neighbors : int, default 10
        Number of nearest columns of each column, without the column itself.
    metric : str, default "euclidean"
        Distance between columns, any of scikit-learn's ``NearestNeighbors``.
    mutual : bool, default False
        Keep an edge only if each end is among the nearest columns of the other end. By default one
        of the two is enough.

    Returns
    -------
    csr_array of shape (n_nodes, n_nodes), float64
        Symmetric, all weights 1, no self-loops.

    Examples
    --------
    >>> import numpy as np
    >>> from walkconv import knn_graph
    >>> positions = np.array([[0.0, 1.0, 3.0, 7.0]])  # four columns on a line
    >>> knn_graph(positions, n_neighbors=1).toarray()
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
    table = check_table(X, allow_missing=True)
    n_samples, n_nodes = table.shape
    if n_samples < 1 or n_nodes < 2:
        raise ValueError(
            f"X must have at least one row and two columns to compare; got shape {table.shape}."
        )
    n_neighbors = check_integer(
        n_neighbors,
        "n_neighbors",
        minimum=1,
        maximum=n_nodes - 1,
        hint="Lower it: a column can only have the other columns as neighbors.",
    )
    table = with_means(table, X)
    unit = 1.0
    if metric == "euclidean":
        table, unit = _within_reach(table)
    columns = table.T if isinstance(table, np.ndarray) else table.T.tocsr()
    finder = NearestNeighbors(n_neighbors=n_neighbors, metric=metric).fit(columns)
    distance = sp.csr_array(finder.kneighbors_graph(mode="distance"))
    if metric == "euclidean":
        distance.data[distance.data <= _rounding(columns)] = 0.0
    distance.data *= unit
    return distance


def _within_reach(
    table: np.ndarray | sp.csc_array,
) -> tuple[np.ndarray | sp.csc_array, float]:
    """Return a table whose distances between columns are those of `table` / unit, and the unit.

    Distances are computed from squares, which lose precision far from zero and overflow for large
    values. So dense rows are centred, and all values are divided by a power of two, which is exact.
    """
    values = table if isinstance(table, np.ndarray) else table.data
    largest = float(np.abs(values).max(initial=0.0))
    unit = float(np.ldexp(1.0, np.frexp(largest)[1])) if np.isfinite(2 * largest) else 2.0**1023
    table = table / unit
    if isinstance(table, np.ndarray):
        table -= table.mean(axis=1, keepdims=True)
    return table, unit


def _rounding(columns: np.ndarray | sp.csr_array) -> float:
    """Return the distance below which two columns are equal but for rounding errors."""
    squares = columns**2 if isinstance(columns, np.ndarray) else columns.power(2)
    return float(8 * np.sqrt(np.finfo(np.float64).eps * squares.sum(axis=1).max()))
