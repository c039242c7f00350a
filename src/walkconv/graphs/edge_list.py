"""The graph of a list of edges."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from walkconv._adapters import edges_of_frame, edges_to_matrix, is_edge_frame, undirected
from walkconv._checks import as_array, describe


def graph_from_edges(
    edge_index: Any,
    weight: Any = None,
    *,
    n_nodes: int | None = None,
    names: Sequence[str] | None = None,
    directed: bool = False,
) -> sp.csr_array:
    """Return the graph with the given edges.

    Parameters
    ----------
    edge_index : array of shape (2, n_edges), list of pairs, or DataFrame
        The sources of the edges and their targets, as an array, two lists or two tuples in a tuple;
        a list of tuples (source, target); or a pandas or polars frame with the columns ``source``,
        ``target`` and perhaps ``weight``. The ends of edges are node numbers, or names if `names`
        is given. Pairs in another form are rejected: two pairs would look like two rows.
    weight : array of shape (n_edges,), optional
        Weight of each edge; 1 by default, or the column ``weight`` of a frame. The weights of an
        edge that is listed more than once are summed. Negative weights keep their sign.
    n_nodes : int, optional
        Number of nodes. By default the number of names, or the largest node number plus one.
    names : sequence of str, optional
        Names of all nodes, in the order of the result.
    directed : bool, default False
        Whether an edge leads only from its source to its target. If not, list each edge once:
        (i, j) and (j, i) are the same edge, and listing both sums their weights.

    Returns
    -------
    csr_array of shape (n_nodes, n_nodes), float64
        Entry (i, j) is the weight of the edge from i to j.

    Examples
    --------
    >>> from walkconv import graph_from_edges
    >>> graph_from_edges([[0, 0, 1], [1, 2, 2]], [1.0, -2.0, 0.5]).toarray()
    array([[ 0. ,  1. , -2. ],
           [ 1. ,  0. ,  0.5],
           [-2. ,  0.5,  0. ]])
    >>> graph_from_edges([("age", "bmi"), ("bmi", "sex")], names=["age", "bmi", "sex"]).toarray()
    array([[0., 1., 0.],
           [1., 0., 1.],
           [0., 1., 0.]])
    """
    if is_edge_frame(edge_index):
        ends, frame_weight = edges_of_frame(edge_index)
        if weight is not None and frame_weight is not None:
            raise ValueError(
                "Edges must have one weight; got the column 'weight' and the argument weight. "
                "Drop one of them."
            )
        weight = frame_weight if weight is None else weight
    else:
        ends = _as_rows(edge_index)
    graph = edges_to_matrix(ends, weight, n_nodes=n_nodes, names=names)
    if names is not None and graph.shape[0] != len(names):
        raise ValueError(
            f"n_nodes must be the number of names ({len(names)}); got {n_nodes}. Leave it out."
        )
    return graph if directed else undirected(graph)


def _as_rows(edges: Any) -> np.ndarray:
    """Return sources and targets (2, n_edges)."""
    if _is_list_of_pairs(edges):
        pairs = np.array(edges)
        if pairs.dtype.kind == "U":  # as objects: numpy has turned 1 beside "a" into "1"
            pairs = np.array(edges, dtype=object)
        return pairs.reshape(-1, 2).T
    rows = as_array(edges, "edge_index")
    if rows.ndim != 2 or len(rows) != 2 or hasattr(edges, "columns"):
        raise ValueError(
            "edge_index must be two rows, sources and targets (2, n_edges), a list of tuples "
            "(source, target), or a DataFrame with the columns source, target and perhaps weight; "
            f"got {describe(edges)}. np.asarray(edges).T makes rows of a table of pairs, "
            "list(edges) makes a list of a set or a zip."
        )
    return rows


def _is_list_of_pairs(edges: Any) -> bool:
    """Tell a list of pairs from two rows by its types: a 2 x 2 list could be either."""
    return isinstance(edges, list) and all(
        isinstance(edge, tuple) and len(edge) == 2 for edge in edges
    )
