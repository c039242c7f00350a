"""Neighbours as a table to read: a row for each slot that is filled."""

from typing import Any

from walkconv.walks.neighbors import Neighbors


def list_neighbors(found: Neighbors, names: Any) -> dict[str, Any]:
    """Return the columns of a table of neighbours, by node and then by rank.

    Parameters
    ----------
    found : Neighbors
        From `select_neighbors`.
    names : array or Series of shape (n_nodes,)
        The names of the nodes.

    Returns
    -------
    dict of arrays of shape (n_filled,)
        ``node``, ``rank`` (from 1), ``neighbor``, ``visits`` and ``sign``. The DataFrame of polars
        or pandas takes this dict.

    Examples
    --------
    >>> import numpy as np
    >>> from walkconv import graph_from_edges, select_neighbors
    >>> from walkconv.walks.listing import list_neighbors
    >>> neighbors = select_neighbors(graph_from_edges([(0, 1)], n_nodes=3), n_neighbors=2)
    >>> listing = list_neighbors(neighbors, np.array(["a", "b", "c"]))
    >>> listing["node"].tolist(), listing["neighbor"].tolist()
    (['a', 'a', 'b', 'b', 'c'], ['a', 'b', 'b', 'a', 'c'])
    """
    node, rank = (found.index >= 0).nonzero()
    return {
        "node": names[node],
        "rank": rank + 1,
        "neighbor": names[found.index[node, rank]],
        "visits": found.visits[node, rank],
        "sign": found.sign[node, rank],
    }
