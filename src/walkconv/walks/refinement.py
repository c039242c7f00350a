"""An order of the nodes that comes from the graph alone, not from how they are numbered.

A table of neighbours needs every tie broken. If ties were broken by index, the same molecule with
its atoms in another order would get another answer. Colours break ties by structure. Nodes start
with the colours they are given. Two nodes get different colours when the colours of the nodes that
they visit differ, or the number of visits. Nodes that keep the same colour look the same to any
network on these visits, so their order does not matter.
"""

import numpy as np
import scipy.sparse as sp

from walkconv.walks.definition import visits_checked
from walkconv.walks.ranking import REACHED, TIE, mixed


def refine_colors(
    graph: sp.csr_array, colors: np.ndarray | None = None, *, n_steps: int
) -> np.ndarray:
    """Return a colour for every node that does not change when the nodes are renumbered.

    Parameters
    ----------
    graph
        Similarity (n_nodes, n_nodes) as `as_graph` returns it. Memory is that of a dense matrix.
    colors : array of shape (n_nodes,) or (n_nodes, n_columns), optional
        The initial colours, such as types of atoms. Their order is kept.
    n_steps : int
        Length of the walk.

    Returns
    -------
    ndarray of shape (n_nodes,), int64
        Equal where two nodes cannot be told apart. As ``ties=colors[:, None]`` they order the
        tied neighbours of `select_neighbors`.

    Examples
    --------
    >>> from walkconv import graph_from_edges
    >>> from walkconv.walks import refine_colors
    >>> path = graph_from_edges([[0, 1, 2, 3], [1, 2, 3, 4]])
    >>> refine_colors(path, n_steps=1)
    array([2, 1, 0, 1, 2])
    >>> refine_colors(path, [0, 0, 0, 0, 7], n_steps=1)
    array([2, 0, 1, 3, 4])
    """
    visits = visits_checked(graph, n_steps=n_steps)
    n_nodes = len(visits)
    source, target = np.nonzero(visits >= REACHED)
    starts = np.searchsorted(source, np.arange(n_nodes))
    amount = _tied(visits[source, target])
    start = np.zeros((n_nodes, 1)) if colors is None else np.reshape(colors, (n_nodes, -1))
    found = np.unique(start, axis=0, return_inverse=True)[1].reshape(-1)
    while True:
        # A sum of well mixed bits does not depend on the order of the nodes, and two different sets
        # share it with a probability of about 2^-64.
        seen = mixed(
            amount.astype(np.uint64) * np.uint64(n_nodes) + found[target].astype(np.uint64)
        )
        look = np.add.reduceat(seen, starts)
        order = np.lexsort((look, found))
        is_new = (np.diff(found[order]) != 0) | (np.diff(look[order]) != 0)
        # A colour is only ever split: with as many colours as before, nothing more will change.
        finer = np.empty(n_nodes, dtype=np.int64)
        finer[order] = np.concatenate([[0], np.cumsum(is_new)])
        if finer.max() == found.max():
            return finer
        found = finer


def _tied(values: np.ndarray) -> np.ndarray:
    """Return the number (n_values,) of the tie that each value belongs to, ties in ascending order.

    As among neighbours, a value joins the one before it when they agree to a relative `TIE`.
    """
    order = np.argsort(values)
    ascending = values[order]
    is_new = ascending[:-1] < ascending[1:] * (1.0 - TIE)
    tie = np.empty(len(values), dtype=np.int64)
    tie[order] = np.concatenate([[0], np.cumsum(is_new)])
    return tie
