"""What the samples of a fit may be: rows of a table, or graphs, each a `GraphSample`.

The libraries recognised here are imported only if the given object comes from them.
"""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl
import scipy.sparse as sp

from walkconv._adapters import as_graph, is_networkx
from walkconv._checks import as_array, as_real, check_finite, describe

SAMPLE_FORMS = (
    "GraphSample records, networkx graphs, PyG Data or (edge_index, x) pairs, one for each sample"
)
ARRAY_LIBRARIES = ("dask", "h5py", "zarr")
"""Where arrays come from that are sliced like numpy's and then read."""
LARGE_MAP = 2**28
"""Bytes up to which a memory map is an array like any other."""


@dataclass(frozen=True, eq=False)
class GraphSample:
    """A graph with node features and node types.

    Parameters
    ----------
    graph
        Similarity (n_nodes, n_nodes) in any form `as_graph` takes.
    x : array of shape (n_nodes, n_channels) or (n_nodes,), optional
        Node features.
    tags : integer array of shape (n_nodes,), optional
        Node types, such as chemical elements. Their numbers have no order.

    Attributes
    ----------
    graph : csr_array of shape (n_nodes, n_nodes), float64
    x : ndarray of shape (n_nodes, n_channels), float32, or None
    tags : ndarray of shape (n_nodes,), int64, or None

    Examples
    --------
    >>> from walkconv import GraphSample, graph_from_edges
    >>> water = GraphSample(graph_from_edges([[0, 0], [1, 2]]), tags=[8, 1, 1])
    >>> water
    GraphSample(n_nodes=3, n_edges=4, tags)
    """

    graph: sp.csr_array
    x: np.ndarray | None = None
    tags: np.ndarray | None = None

    def __init__(self, graph: Any, x: Any = None, tags: Any = None):
        matrix = as_graph(graph)
        n_nodes = matrix.shape[0]
        object.__setattr__(self, "graph", matrix)
        object.__setattr__(self, "x", None if x is None else _features(x, n_nodes))
        object.__setattr__(self, "tags", None if tags is None else _tags(tags, n_nodes))

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return self.graph.shape[0]

    def __repr__(self) -> str:
        parts = [f"n_nodes={self.n_nodes}", f"n_edges={self.graph.nnz}"]
        parts += [] if self.x is None else [f"n_channels={self.x.shape[1]}"]
        parts += [] if self.tags is None else ["tags"]
        return f"GraphSample({', '.join(parts)})"


def kind_of_samples(X: Any) -> Literal["graphs", "table", "stored table"]:
    """Return what X holds: one graph for each sample, a table, or a table to be read in blocks.

    This is the one place where the kind of X is decided.

    Examples
    --------
    >>> import numpy as np
    >>> from walkconv._samples import kind_of_samples
    >>> kind_of_samples(np.ones((3, 2))), kind_of_samples("rows.parquet")
    ('table', 'stored table')
    """
    if _is_stored(X):
        return "stored table"
    return "graphs" if _is_list_of_samples(X) else "table"


def _is_stored(X: Any) -> bool:
    """Tell whether X is a file, a large memory map, or belongs to a library that reads blocks."""
    if isinstance(X, str | os.PathLike):
        return Path(X).suffix.lower() in (".parquet", ".pq")
    if isinstance(X, np.memmap):
        return X.nbytes > LARGE_MAP
    library = type(X).__module__.partition(".")[0]
    return isinstance(X, pl.LazyFrame) or (library in ARRAY_LIBRARIES and hasattr(X, "dtype"))


def _is_list_of_samples(X: Any) -> bool:
    """Tell whether X holds one graph for each sample, rather than being a table.

    Lists, columns and arrays of graphs do, and a PyG ``Batch`` or ``Dataset``. A list of matrices
    of one shape is a table with channels, as in scikit-learn. Other lists of matrices are rejected,
    and so is one graph alone.
    """
    if hasattr(X, "to_data_list"):
        return True
    is_row = isinstance(X, list | tuple) or _is_data_set(X) or len(getattr(X, "shape", ())) == 1
    if is_row:
        first = next(iter(_each(X)), None)
        if _is_sample(first):
            return True
        _refuse_matrices(X, first)
    elif not hasattr(X, "shape") and _is_sample(X):
        raise TypeError(
            f"X must be a table or a list of {SAMPLE_FORMS}; got one {type(X).__name__} alone. "
            "Pass [graph]."
        )
    return False


def as_samples(graphs: Any) -> list[GraphSample]:
    """Return a list of graphs in any of the `SAMPLE_FORMS` as records.

    The node attributes ``x`` (features) and ``tag`` (a node type) of a networkx graph are read if
    every node has them, and the ``x`` of a PyG ``Data``. In a pair ``(edge_index, x)`` a
    one-dimensional integer x holds node types.
    """
    if hasattr(graphs, "to_data_list"):  # a Batch of PyG
        graphs = graphs.to_data_list()
    return [_as_sample(graph, place) for place, graph in enumerate(_each(graphs))]


def _is_data_set(X: Any) -> bool:
    return any(base.__module__ == "torch.utils.data.dataset" for base in type(X).__mro__)


def _each(X: Any) -> Iterable[Any]:
    """Return the items one by one. A torch data set may have a length but no iterator."""
    if hasattr(X, "__iter__"):
        return X
    return (X[place] for place in range(len(X)))


def _refuse_matrices(X: Any, first: Any) -> None:
    """Reject matrices that do not form a table: sparse, or of different shapes."""
    if len(getattr(first, "shape", ())) != 2:
        return
    shapes = list(dict.fromkeys(np.shape(matrix) for matrix in X))
    if sp.issparse(first) or len(shapes) > 1:
        kind = "sparse matrices" if sp.issparse(first) else "matrices"
        raise TypeError(
            f"X must be a table or a list of {SAMPLE_FORMS}; got {kind} of shape "
            f"{' and '.join(map(str, shapes[:2]))}. GraphSample(matrix) makes a sample of a "
            "matrix, and one graph alone goes into a list."
        )


def _is_sample(graph: Any) -> bool:
    if isinstance(graph, GraphSample) or hasattr(graph, "edge_index") or is_networkx(graph):
        return True
    return isinstance(graph, tuple) and len(graph) == 2 and _is_edge_index(graph[0])


def _is_edge_index(ends: Any) -> bool:
    """Tell whether an object has two rows. A ragged list passes: reading it raises the error."""
    shape = getattr(ends, "shape", None)
    if shape is None:
        try:
            shape = np.shape(ends)
        except ValueError:
            return True
    return len(shape) == 2 and shape[0] == 2


def _as_sample(graph: Any, place: int) -> GraphSample:
    try:
        if isinstance(graph, GraphSample):
            return graph
        if is_networkx(graph):
            return _from_networkx(graph)
        if hasattr(graph, "edge_index"):
            return GraphSample(graph, x=getattr(graph, "x", None))
        if _is_sample(graph):
            return _from_pair(*graph)
    except (TypeError, ValueError) as error:
        raise type(error)(f"Graph {place}: {error}") from None
    raise TypeError(f"Samples must be {SAMPLE_FORMS}; graph {place} is {describe(graph)}.")


def _from_networkx(graph: Any) -> GraphSample:
    columns = {}
    for name, attribute in (("x", "x"), ("tags", "tag")):
        values = [node[attribute] for _, node in graph.nodes(data=True) if attribute in node]
        if values and len(values) < graph.number_of_nodes():
            raise ValueError(
                f"every node must have the attribute {attribute!r}, or none; "
                f"{len(values)} of {graph.number_of_nodes()} have it."
            )
        columns[name] = values or None
    return GraphSample(graph, **columns)


def _from_pair(edge_index: Any, x: Any) -> GraphSample:
    if x is None:
        return GraphSample((edge_index, None))
    values = as_array(x, "x")
    if values.ndim == 0:
        raise ValueError(f"x must have a row for each node; got {describe(x)}.")
    matrix = as_graph((edge_index, None), n_nodes=len(values))
    has_tags = values.ndim == 1 and values.dtype.kind in "iu"
    return GraphSample(matrix, tags=values) if has_tags else GraphSample(matrix, x=values)


def _features(x: Any, n_nodes: int) -> np.ndarray:
    values = as_real(as_array(x, "x"), "x")
    values = values[:, None] if values.ndim == 1 else values
    if values.ndim != 2 or len(values) != n_nodes or values.shape[1] == 0:
        raise ValueError(
            f"x must have shape (n_nodes, n_channels) with n_nodes = {n_nodes}; "
            f"got shape {values.shape}."
        )
    with np.errstate(over="ignore"):
        features = np.ascontiguousarray(values, dtype=np.float32)
    check_finite(features, "x")
    return features


def _tags(tags: Any, n_nodes: int) -> np.ndarray:
    values = as_array(tags, "tags")
    if values.dtype.kind not in "iub" or values.shape != (n_nodes,):
        raise ValueError(
            f"tags must be integers, one for each of the {n_nodes} nodes; "
            f"got {values.dtype} of shape {values.shape}. Number the kinds."
        )
    return values.astype(np.int64)
