"""Anything that is a graph becomes one thing: a CSR similarity matrix.

None of the libraries recognised here is imported unless the object came from it.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from walkconv._checks import as_array, as_finite_csr, as_real, check_integer, describe

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
        None; a PyG ``Data``, whose ``edge_weight`` is used where there is one. Pairs and ``Data``
        are read as directed: each edge is listed in the directions it has.
    names : sequence of str, optional
        The order of the nodes. For forms that carry names (DataFrame, networkx) the graph is
        reordered to it; every name must be there.
    n_nodes : int, optional
        The number of nodes: an edge list whose last nodes have no edge does not tell it.

    Returns
    -------
    csr_array of shape (n_nodes, n_nodes), float64
        Entry (i, j) is the weight of the edge from i to j, sign kept. Duplicate entries are
        summed, zeros are dropped, indices are sorted; they are of type int32 where that suffices.

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
    if isinstance(graph, str | bytes) or graph is None:
        raise TypeError(f"graph must be {FORMS}; got {describe(graph)}.")
    if names is not None:
        names = _unique(names, "names")
        n_nodes = len(names) if n_nodes is None else n_nodes
    if is_networkx(graph):
        matrix = _from_networkx(graph, names)
    elif hasattr(graph, "edge_index"):
        matrix = _from_pyg(graph, n_nodes)
    elif isinstance(graph, tuple) and len(graph) == 2:
        matrix = edges_to_matrix(graph[0], graph[1], n_nodes=n_nodes)
    elif hasattr(graph, "columns"):
        matrix = _from_dataframe(graph, names)
    else:
        matrix = _from_matrix(graph)
    if n_nodes is not None and n_nodes != matrix.shape[0]:
        raise ValueError(
            f"The graph must have {n_nodes} nodes, one for each name or column; "
            f"it has {matrix.shape[0]}."
        )
    return matrix


def is_networkx(graph: Any) -> bool:
    """Tell whether an object is a graph of networkx, or of a class derived from one."""
    return any(base.__module__.split(".")[0] == "networkx" for base in type(graph).__mro__)


def edges_to_matrix(
    edge_index: Any, weight: Any = None, *, n_nodes: int | None = None
) -> sp.csr_array:
    """Return directed edges (2, n_edges) with weights (n_edges,) as a matrix, duplicates summed."""
    ends = as_array(edge_index, "edge_index")
    if ends.ndim != 2 or ends.shape[0] != 2:
        raise ValueError(
            f"edge_index must have shape (2, n_edges): a row of sources, a row of targets; "
            f"got shape {ends.shape}. Transpose an array of pairs; a list of edges becomes a "
            "graph by graph_from_edges."
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
    weight = as_real(as_array(weight, "edge weights"), "edge weights").astype(np.float64)
    if weight.shape != (ends.shape[1],):
        raise ValueError(
            f"There must be one weight for each of the {ends.shape[1]} edges; "
            f"got weights of shape {weight.shape}."
        )
    return _canonical(sp.coo_array((weight, (ends[0], ends[1])), shape=(n_nodes, n_nodes)))


def _from_matrix(graph: Any) -> sp.csr_array:
    if not sp.issparse(graph):
        graph = as_array(graph, "graph")
    if graph.ndim != 2:
        raise ValueError(f"graph must be {FORMS}; got an array of shape {graph.shape}.")
    return _canonical(graph)


def _from_dataframe(frame: Any, names: Sequence[Any] | None) -> sp.csr_array:
    columns = _unique(frame.columns, "the columns of the DataFrame adjacency")
    rows = columns
    if hasattr(frame, "index"):
        rows = _unique(frame.index, "the rows of the DataFrame adjacency")
    order = columns if names is None else names
    is_numbered = rows == list(range(len(rows)))
    remedy = "If its first column has the names, read it with index_col=0." if is_numbered else ""
    _check_match(rows, order, "the rows of the DataFrame adjacency", if_unexpected=remedy)
    _check_match(columns, order, "the columns of the DataFrame adjacency")
    values = as_real(np.asarray(frame), "graph")
    return _canonical(values[np.ix_(_positions(rows, order), _positions(columns, order))])


def _from_networkx(graph: Any, names: Sequence[Any] | None) -> sp.csr_array:
    import networkx

    if names is not None:
        _check_match(
            list(graph.nodes),
            names,
            "the nodes of the networkx graph",
            if_missing="graph.add_nodes_from(X.columns) adds them without edges.",
            if_unexpected="graph.subgraph(X.columns) leaves them out.",
        )
    if graph.number_of_nodes() == 0:
        return _canonical(sp.csr_array((0, 0)))
    try:
        matrix = networkx.to_scipy_sparse_array(graph, nodelist=names, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(f"The weights of a networkx graph must be numbers: {error}.") from None
    return _canonical(matrix)


def _from_pyg(data: Any, n_nodes: int | None) -> sp.csr_array:
    if n_nodes is None:
        n_nodes = getattr(data, "num_nodes", None)
    return edges_to_matrix(data.edge_index, getattr(data, "edge_weight", None), n_nodes=n_nodes)


def _canonical(matrix: Any) -> sp.csr_array:
    """Check a matrix and return it as sorted float64 CSR without duplicates or zeros."""
    if matrix.shape[0] != matrix.shape[1]:
        raise ValueError(
            f"graph must be square (n_nodes, n_nodes); got shape {matrix.shape}. A list of edges "
            "becomes a graph by graph_from_edges."
        )
    if matrix.shape[0] == 0:
        raise ValueError("graph must have at least one node; got an empty graph.")
    if isinstance(matrix, np.ndarray):
        matrix = sp.coo_array(as_real(matrix, "graph weights").astype(np.float64))
    graph = as_finite_csr(matrix, "graph weights")
    graph.eliminate_zeros()
    with np.errstate(over="ignore"):
        weight = sp.csr_array((np.abs(graph.data), graph.indices, graph.indptr), graph.shape)
        row_weight = weight @ np.ones(graph.shape[1])  # half the time of sum(axis=1)
    if not np.isfinite(row_weight).all():
        node = int(np.flatnonzero(~np.isfinite(row_weight))[0])
        raise ValueError(
            f"The absolute weights of each node must have a finite sum; those of node {node} "
            "overflow. Divide the weights by a constant."
        )
    return _with_short_places(graph)


def _with_short_places(graph: sp.csr_array) -> sp.csr_array:
    """Return the graph with places of 4 bytes where these suffice: half to read, and one type."""
    if max(graph.nnz, *graph.shape) > np.iinfo(np.int32).max:
        return graph
    places = (places.astype(np.int32, copy=False) for places in (graph.indices, graph.indptr))
    return sp.csr_array((graph.data, *places), shape=graph.shape)


def _unique(names: Any, what: str) -> list:
    """Return names as a list, refusing one that stands there twice."""
    if isinstance(names, str) or not hasattr(names, "__iter__"):
        raise TypeError(f"{what} must be a sequence of names; got {describe(names)}.")
    found = list(names)
    if len(set(found)) != len(found):
        repeated = next(name for place, name in enumerate(found) if name in found[:place])
        raise ValueError(f"Names must be unique; {what} hold {repeated!r} more than once.")
    return found


def _check_match(
    found: list,
    wanted: Sequence[Any],
    where: str,
    *,
    if_missing: str = "",
    if_unexpected: str = "",
) -> None:
    known, asked = set(found), set(wanted)
    missing = [name for name in wanted if name not in known]
    unknown = [name for name in found if name not in asked]
    if missing or unknown:
        parts = [
            f"{len(names)} {what} (first: {names[0]!r})"
            for names, what in ((missing, "missing"), (unknown, "unexpected"))
            if names
        ]
        remedies = [if_missing] * bool(missing) + [if_unexpected] * bool(unknown)
        message = f"Names must match: {where} have {' and '.join(parts)}."
        raise ValueError(" ".join([message, *filter(None, remedies)]))


def _positions(found: list, wanted: Sequence[Any]) -> list[int]:
    place = {name: i for i, name in enumerate(found)}
    return [place[name] for name in wanted]
