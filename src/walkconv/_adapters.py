"""Anything that is a graph becomes one thing: a CSR similarity matrix.

None of the libraries recognised here is imported unless the object came from it.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from walkconv._checks import as_real, check_finite, check_integer, describe

FORMS = (
    "a square array, a scipy sparse matrix, a DataFrame adjacency, a networkx graph, "
    "an (edge_index, edge_weight) pair or a PyG Data"
)


def as_graph(
    graph: Any, *, names: Sequence[str] | None = None, n_nodes: int | None = None
) -> sp.csr_array:
    """Return any description of a graph as a similarity matrix.

    Parameters
    ----------
    graph
        One of: a square array; any scipy sparse matrix; a DataFrame adjacency; a networkx graph
        (its ``weight`` attribute is used where there is one); a pair ``(edge_index, edge_weight)``
        with ``edge_index`` of shape (2, n_edges) and ``edge_weight`` of shape (n_edges,) or
        None; a PyG ``Data``. Pairs and ``Data`` are read as directed: each edge is listed in the
        directions it has.
    names : sequence of str, optional
        The order of the nodes. For forms that carry names (DataFrame, networkx) the graph is
        reordered to it; every name must be there.
    n_nodes : int, optional
        The number of nodes, for an edge pair whose last nodes have no edge.

    Returns
    -------
    csr_array of shape (n_nodes, n_nodes), float64
        Entry (i, j) is the weight of the edge from i to j, sign kept. Duplicate entries are
        summed, zeros are dropped, indices are sorted.

    Examples
    --------
    >>> import numpy as np
    >>> from walkconv import as_graph
    >>> edges = np.array([[0, 1, 1, 3], [1, 0, 2, 0]])
    >>> as_graph((edges, None), n_nodes=5).toarray()
    array([[0., 1., 0., 0., 0.],
           [1., 0., 1., 0., 0.],
           [0., 0., 0., 0., 0.],
           [1., 0., 0., 0., 0.],
           [0., 0., 0., 0., 0.]])
    """
    if isinstance(graph, str | bytes):
        raise TypeError(f"graph must be {FORMS}; got {describe(graph)}.")
    if type(graph).__module__.split(".")[0] == "networkx":
        matrix = _from_networkx(graph, names)
    elif hasattr(graph, "edge_index"):
        matrix = _from_pyg(graph)
    elif isinstance(graph, tuple) and len(graph) == 2:
        matrix = edges_to_matrix(graph[0], graph[1], n_nodes=n_nodes)
    elif hasattr(graph, "columns"):
        matrix = _from_dataframe(graph, names)
    else:
        matrix = _from_matrix(graph)
    if names is not None and len(names) != matrix.shape[0]:
        raise ValueError(
            f"The graph must have one node for each of the {len(names)} names; "
            f"got {matrix.shape[0]} nodes."
        )
    return matrix


def edges_to_matrix(
    edge_index: Any, weight: Any = None, *, n_nodes: int | None = None
) -> sp.csr_array:
    """Return directed edges (2, n_edges) with weights (n_edges,) as a matrix, duplicates summed."""
    ends = np.asarray(edge_index)
    if ends.ndim != 2 or ends.shape[0] != 2:
        raise ValueError(
            f"edge_index must have shape (2, n_edges): a row of sources, a row of targets; "
            f"got shape {ends.shape}. Transpose a list of pairs."
        )
    if ends.dtype.kind not in "iu" and ends.size:
        raise TypeError(f"edge_index must hold integers; got {ends.dtype}.")
    ends = ends.astype(np.int64)
    if ends.size and ends.min() < 0:
        raise ValueError(f"edge_index must not be negative; got {ends.min()}.")
    largest = int(ends.max()) if ends.size else -1
    if n_nodes is None:
        n_nodes = largest + 1
    n_nodes = check_integer(n_nodes, "n_nodes", minimum=0)
    if largest >= n_nodes:
        raise ValueError(
            f"edge_index must stay below n_nodes ({n_nodes}); got {largest}. Raise n_nodes."
        )
    if weight is None:
        weight = np.ones(ends.shape[1])
    weight = as_real(np.asarray(weight), "edge weights").astype(np.float64)
    if weight.shape != (ends.shape[1],):
        raise ValueError(
            f"There must be one weight for each of the {ends.shape[1]} edges; "
            f"got weights of shape {weight.shape}."
        )
    return _canonical(sp.coo_array((weight, (ends[0], ends[1])), shape=(n_nodes, n_nodes)))


def _from_matrix(graph: Any) -> sp.csr_array:
    if not sp.issparse(graph):
        graph = np.asarray(graph)
        if graph.ndim != 2:
            raise ValueError(f"graph must be {FORMS}; got an array of shape {graph.shape}.")
        graph = as_real(graph, "graph")
    return _canonical(graph)


def _from_dataframe(frame: Any, names: Sequence[str] | None) -> sp.csr_array:
    columns = list(frame.columns)
    rows = list(frame.index) if hasattr(frame, "index") else columns
    order = columns if names is None else list(names)
    for found, axis in ((rows, "rows"), (columns, "columns")):
        _check_names(found, order, f"the {axis} of the DataFrame adjacency")
    values = as_real(np.asarray(frame), "graph")
    return _canonical(values[np.ix_(_positions(rows, order), _positions(columns, order))])


def _from_networkx(graph: Any, names: Sequence[str] | None) -> sp.csr_array:
    import networkx

    if names is not None:
        _check_names(list(graph.nodes), list(names), "the nodes of the networkx graph")
    if graph.number_of_nodes() == 0:
        return _canonical(sp.csr_array((0, 0)))
    return _canonical(networkx.to_scipy_sparse_array(graph, nodelist=names, dtype=np.float64))


def _from_pyg(data: Any) -> sp.csr_array:
    weight = getattr(data, "edge_weight", None)
    if weight is None:
        attributes = getattr(data, "edge_attr", None)
        is_one_number_each = (
            attributes is not None and np.asarray(attributes).size == np.shape(data.edge_index)[1]
        )
        weight = np.asarray(attributes).reshape(-1) if is_one_number_each else None
    return edges_to_matrix(data.edge_index, weight, n_nodes=data.num_nodes)


def _canonical(matrix: Any) -> sp.csr_array:
    """Check a matrix and return it as sorted float64 CSR without duplicates or zeros."""
    if matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"graph must be square (n_nodes, n_nodes); got shape {matrix.shape}.")
    if matrix.shape[0] == 0:
        raise ValueError("graph must have at least one node; got an empty graph.")
    graph = sp.csr_array(matrix, copy=True)
    graph.data = as_real(graph.data, "graph weights").astype(np.float64)
    graph.sum_duplicates()
    check_finite(graph.data, "graph weights")
    graph.eliminate_zeros()
    with np.errstate(over="ignore"):
        row_weight = abs(graph).sum(axis=1)
    if not np.isfinite(row_weight).all():
        node = int(np.flatnonzero(~np.isfinite(row_weight))[0])
        raise ValueError(
            f"The absolute weights of each node must have a finite sum; those of node {node} "
            "overflow. Divide the weights by a constant."
        )
    return graph


def _check_names(found: list, wanted: list, where: str) -> None:
    if len(set(found)) != len(found):
        repeated = next(name for name in found if found.count(name) > 1)
        raise ValueError(f"Names must be unique; {where} hold {repeated!r} more than once.")
    missing = [name for name in wanted if name not in set(found)]
    unknown = [name for name in found if name not in set(wanted)]
    if missing or unknown:
        parts = [
            f"{len(names)} {what} (first: {names[0]!r})"
            for names, what in ((missing, "missing"), (unknown, "unexpected"))
            if names
        ]
        raise ValueError(f"Names must match: {where} have {' and '.join(parts)}.")


def _positions(found: list, wanted: list) -> list[int]:
    place = {name: i for i, name in enumerate(found)}
    return [place[name] for name in wanted]
