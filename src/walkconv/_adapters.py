"""Every form of a graph becomes a CSR similarity matrix.

The libraries recognised here are imported only if the given object comes from them.
"""

from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp

from walkconv._checks import (
    as_array,
    as_finite_csr,
    as_real,
    check_integer,
    closest,
    describe,
    listed,
)
from walkconv._warnings import warn_user

FORMS = (
    "a square array, a scipy sparse matrix, a DataFrame (adjacency, or edges with the columns "
    "source, target and perhaps weight), a networkx graph, an (edge_index, edge_weight) pair or a "
    "PyG Data"
)
MOST_EMPTY = 2**24
"""Nodes without an edge that a list of edges may have; each takes some bytes."""
EDGE_COLUMNS = ("source", "target", "weight")


def as_graph(
    graph: Any, *, names: Sequence[str] | None = None, n_nodes: int | None = None
) -> sp.csr_array:
    """Return a graph in any form as a similarity matrix.

    Parameters
    ----------
    graph
        One of these forms:

        - a square array or any scipy sparse matrix;
        - a DataFrame adjacency. The rows of a polars frame follow its columns;
        - a DataFrame of edges with the columns ``source``, ``target`` and perhaps ``weight``, read
          as undirected: list each edge once. `graph_from_edges` also reads directed edges;
        - a networkx graph, with its ``weight`` attribute if present;
        - a pair ``(edge_index, edge_weight)`` with ``edge_index`` of shape (2, n_edges) and
          ``edge_weight`` of shape (n_edges,) or None. Edges are directed;
        - a PyG ``Data``. The first of ``edge_weight``, ``weight`` and ``edge_attr`` with one number
          for each edge is the weight. Edges are directed.
    names : sequence of str, optional
        The names of the nodes, in the order of the result. A DataFrame adjacency and a networkx
        graph are reordered to it and must have exactly these names. The ends of edges may be such
        names instead of node numbers.
    n_nodes : int, optional
        The number of nodes. Edges alone do not tell it if the last nodes have none.

    Returns
    -------
    csr_array of shape (n_nodes, n_nodes), float64
        Entry (i, j) is the weight of the edge from i to j, sign kept. Duplicate entries are
        summed, zeros are dropped, indices are sorted. Indices have type int32 if they fit.

    Warns
    -----
    UserWarning
        If the ``edge_attr`` of a PyG ``Data`` is ignored: it has several columns, or zeros, which
        would remove edges.

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
    >>> import polars as pl
    >>> edges = pl.DataFrame({"source": ["b", "b"], "target": ["a", "c"], "weight": [2.0, -1.0]})
    >>> as_graph(edges, names=["a", "b", "c"]).toarray()
    array([[ 0.,  2.,  0.],
           [ 2.,  0., -1.],
           [ 0., -1.,  0.]])
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
        matrix = edges_to_matrix(graph[0], graph[1], n_nodes=n_nodes, names=names)
    elif is_edge_frame(graph):
        edge_index, weight = edges_of_frame(graph)
        matrix = undirected(edges_to_matrix(edge_index, weight, n_nodes=n_nodes, names=names))
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


def is_form(graph: Any) -> bool:
    """Tell whether an object that may be callable is a graph all the same, as PyG's data are."""
    return is_networkx(graph) or hasattr(graph, "edge_index")


def is_networkx(graph: Any) -> bool:
    """Tell whether an object is a networkx graph, or of a class derived from one."""
    return any(base.__module__.split(".")[0] == "networkx" for base in type(graph).__mro__)


def is_edge_frame(graph: Any) -> bool:
    """Tell whether an object is a DataFrame of edges, by the names of its columns.

    A square adjacency whose rows have the same names as its columns is not: there source and
    target are two nodes.
    """
    columns = list(getattr(graph, "columns", []))
    if not {"source", "target"} <= set(columns) <= set(EDGE_COLUMNS):
        return False
    return not (hasattr(graph, "index") and set(graph.index) == set(columns))


def edges_of_frame(frame: Any) -> tuple[np.ndarray, np.ndarray | None]:
    """Return the ends (2, n_edges) and the weights (n_edges,), if any, of a DataFrame of edges."""
    columns = list(frame.columns)
    if len(set(columns)) != len(columns):
        raise ValueError(f"The columns of a DataFrame of edges must be unique; got {columns}.")
    sources, targets = (np.asarray(frame[end]) for end in ("source", "target"))
    weight = np.asarray(frame["weight"]) if "weight" in columns else None
    if sources.dtype.kind in "iu" and targets.dtype.kind in "iu":
        return np.stack([sources, targets]), weight
    # As objects: numpy would turn 1 beside "a" into "1".
    return np.stack([sources.astype(object), targets.astype(object)]), weight


def undirected(graph: sp.csr_array) -> sp.csr_array:
    """Return the graph of edges that lead both ways, from a matrix that lists each edge once."""
    return _canonical(graph + graph.T - sp.diags_array(graph.diagonal()))


def edges_to_matrix(
    edge_index: Any,
    weight: Any = None,
    *,
    n_nodes: int | None = None,
    names: Sequence[Any] | None = None,
) -> sp.csr_array:
    """Return directed edges (2, n_edges) with weights (n_edges,) as a matrix, duplicates summed.

    Where the ends of the edges are names, `names` says which node each is.
    """
    ends = as_array(edge_index, "edge_index")
    if ends.ndim != 2 or ends.shape[0] != 2:
        raise ValueError(
            f"edge_index must have shape (2, n_edges): a row of sources, a row of targets; "
            f"got shape {ends.shape}. Transpose an array of pairs; use graph_from_edges for a "
            "list of pairs."
        )
    if names is not None:
        names = _unique(names, "names")
        n_nodes = len(names) if n_nodes is None else n_nodes
    ends = _node_numbers(ends, names)
    if ends.size and ends.min() < 0:
        raise ValueError(f"edge_index must not be negative; got {ends.min()}.")
    largest = int(ends.max()) if ends.size else -1
    if n_nodes is None:
        n_nodes = largest + 1
        if n_nodes > MOST_EMPTY + 2 * ends.shape[1]:
            raise ValueError(
                f"edge_index must number the nodes from 0; got {largest} for {ends.shape[1]} "
                "edges. Number the nodes again, or pass names= or n_nodes=."
            )
    n_nodes = check_integer(n_nodes, "n_nodes", minimum=0)
    if largest >= n_nodes:
        raise ValueError(
            f"edge_index must be less than n_nodes ({n_nodes}); got {largest}. Raise n_nodes."
        )
    if weight is None:
        weight = np.ones(ends.shape[1])
    weight = as_real(as_array(weight, "edge weights"), "edge weights").astype(np.float64)
    if weight.shape != (ends.shape[1],):
        raise ValueError(
            f"There must be one weight for each of the {ends.shape[1]} edges; "
            f"got weights of shape {weight.shape}. Drop or add weights."
        )
    return _canonical(sp.coo_array((weight, (ends[0], ends[1])), shape=(n_nodes, n_nodes)))


def _node_numbers(ends: np.ndarray, names: Sequence[Any] | None) -> np.ndarray:
    """Return the ends of edges (2, n_edges) as node numbers, int64."""
    # Numbers are positions of nodes, unless the names of the nodes are numbers themselves.
    has_number_names = names is not None and any(isinstance(name, Integral) for name in names)
    if ends.size == 0 or (ends.dtype.kind in "iu" and not has_number_names):
        return ends.astype(np.int64)
    if ends.dtype.kind not in "iuUO":
        raise TypeError(f"edge_index must hold integers or names of nodes; got {ends.dtype}.")
    if names is None:
        raise TypeError(
            f"edge_index must hold integers if names are not given; got {describe(ends.flat[0])}. "
            "Pass names=, the names of all nodes in order."
        )
    position = {name: i for i, name in enumerate(names)}
    unknown = [end for end in dict.fromkeys(ends.flat) if end not in position]
    if unknown:
        others = f" and {len(unknown) - 1} more" if len(unknown) > 1 else ""
        raise ValueError(
            f"The ends of all edges must be among the {len(names)} names of the nodes; "
            f"got {unknown[0]!r}{others}.{closest(unknown[0], names)}"
        )
    return np.array([position[end] for end in ends.flat], dtype=np.int64).reshape(ends.shape)


def _from_matrix(graph: Any) -> sp.csr_array:
    if not sp.issparse(graph):
        graph = as_array(graph, "graph")
    if graph.ndim != 2:
        raise ValueError(f"graph must be {FORMS}; got an array of shape {graph.shape}.")
    return _canonical(graph)


def _from_dataframe(frame: Any, names: Sequence[Any] | None) -> sp.csr_array:
    columns = _unique(frame.columns, "the columns of the DataFrame adjacency")
    if hasattr(frame, "index"):
        rows = _unique(frame.index, "the rows of the DataFrame adjacency")
    elif len(frame) == len(columns):
        rows = columns  # a polars frame has no names of rows: they follow the columns
    else:
        raise ValueError(
            "A DataFrame without row names must be a square adjacency, rows in the order of the "
            "columns, or a list of edges with the columns source, target and perhaps weight; got "
            f"shape {frame.shape} with the columns {listed(columns)}. Rename the columns of an "
            "edge list, or drop other columns."
        )
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
            if_unexpected="graph.subgraph(X.columns) drops them.",
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
    n_edges = np.shape(data.edge_index)[-1]
    return edges_to_matrix(data.edge_index, _weights_of_pyg(data, n_edges), n_nodes=n_nodes)


def _weights_of_pyg(data: Any, n_edges: int) -> np.ndarray | None:
    """Return the weights (n_edges,) of a PyG Data, or None; warn if `edge_attr` is ignored."""
    if getattr(data, "edge_weight", None) is not None:
        return _one_per_edge(data.edge_weight, "edge_weight")
    # `weight` may also belong to the whole graph, such as the weight of a sample.
    for name in ("weight", "edge_attr"):
        if getattr(data, name, None) is not None:
            values = _one_per_edge(getattr(data, name), name)
            if values.shape == (n_edges,) and (name == "weight" or values.all()):
                return values
            # A warning, not an error: one-hot bond types are common, and the graph is valid.
            if name == "edge_attr" and n_edges:
                found = "zeros" if values.ndim == 1 else f"shape {values.shape}"
                warn_user(
                    "edge_attr is ignored, so all edges have weight 1: a weight is one number for "
                    f"each edge and not zero, but edge_attr has {found}. Set data.edge_weight to "
                    "use weights, or data.edge_attr = None.",
                )
    return None


def _one_per_edge(values: Any, name: str) -> np.ndarray:
    """Return an array, without its last axis if that has one column."""
    array = as_array(values, name)
    return array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array


def _canonical(matrix: Any) -> sp.csr_array:
    """Check a matrix and return it as sorted float64 CSR without duplicates or zeros."""
    if matrix.shape[0] != matrix.shape[1]:
        raise ValueError(
            f"graph must be square (n_nodes, n_nodes); got shape {matrix.shape}. Use "
            "graph_from_edges for a list of edges."
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
    return _with_short_indices(graph)


def _with_short_indices(graph: sp.csr_array) -> sp.csr_array:
    """Return the graph with indices of type int32 if they fit: half the memory, one type."""
    if max(graph.nnz, *graph.shape) > np.iinfo(np.int32).max:
        return graph
    indices, indptr = (x.astype(np.int32, copy=False) for x in (graph.indices, graph.indptr))
    return sp.csr_array((graph.data, indices, indptr), shape=graph.shape)


def _unique(names: Any, what: str) -> list:
    """Return names as a list; reject repeated names."""
    if isinstance(names, str) or not hasattr(names, "__iter__"):
        raise TypeError(f"{what} must be a sequence of names; got {describe(names)}.")
    found = list(names)
    if len(set(found)) != len(found):
        repeated = next(name for i, name in enumerate(found) if name in found[:i])
        raise ValueError(
            f"Names must be unique; {what} hold {repeated!r} more than once. Rename or drop one."
        )
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
        hint = closest(missing[0], unknown) if missing else ""
        message = f"Names must match: {where} have {' and '.join(parts)}.{hint}"
        raise ValueError(" ".join([message, *filter(None, remedies)]))


def _positions(found: list, wanted: Sequence[Any]) -> list[int]:
    position = {name: i for i, name in enumerate(found)}
    return [position[name] for name in wanted]
