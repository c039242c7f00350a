"""The graph of a list of edges."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from walkconv._adapters import as_graph, edges_to_matrix
from walkconv._checks import as_array, describe


def graph_from_edges(
    edge_index: Any,
    weight: Any = None,
    *,
    n_nodes: int | None = None,
    directed: bool = False,
) -> sp.csr_array:
    """Return the graph with the given edges.

    Parameters
    ----------
    edge_index : array of shape (2, n_edges), integer, or list of pairs
        The sources of the edges and their targets, as an array, two lists or two tuples in a tuple;
        or a list of tuples (source, target). Pairs in another form are refused: two of them would
        be taken for rows.
    weight : array of shape (n_edges,), optional
        Weight of each edge, 1 by default. The weights of an edge listed more than once are
        summed; negative weights keep their sign.
    n_nodes : int, optional
        Number of nodes, by default one more than the largest node of an edge.
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
    >>> graph_from_edges([(0, 1), (1, 2)]).toarray()
    array([[0., 1., 0.],
           [1., 0., 1.],
           [0., 1., 0.]])
    """
    graph = edges_to_matrix(_as_rows(edge_index), weight, n_nodes=n_nodes)
    if directed:
        return graph
    return as_graph(graph + graph.T - sp.diags_array(graph.diagonal()))


def _as_rows(edges: Any) -> np.ndarray:
    """Return sources and targets (2, n_edges)."""
    if _is_list_of_pairs(edges):
        return np.array(edges).reshape(-1, 2).T
    rows = as_array(edges, "edge_index")
    if rows.ndim != 2 or len(rows) != 2 or hasattr(edges, "columns"):
        raise ValueError(
            "edge_index must be two rows, sources and targets (2, n_edges), or a list of tuples "
            f"(source, target); got {describe(edges)}. np.asarray(edges).T makes rows of a table "
            "of pairs, list(edges) a list of a set or a zip."
        )
    return rows


def _is_list_of_pairs(edges: Any) -> bool:
    """Tell a list of edges from two rows by its types: two of two are alike otherwise."""
    return isinstance(edges, list) and all(
        isinstance(edge, tuple) and len(edge) == 2 for edge in edges
    )
