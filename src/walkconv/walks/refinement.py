"""An order of the nodes that comes from the graph alone, not from how they are numbered.

A table of neighbours needs every tie broken. Broken by index, the same molecule written down in
another order would give another answer. Colours break them by structure: nodes start with the
colours they are given, and are told apart while the colours of those they visit, and how often,
differ. Nodes that keep one colour look the same to any network on these visits, so their order
does not matter.
"""

from typing import Any

import numpy as np

from walkconv.walks.definition import expected_visits

DIGITS = 9
"""Visits equal to so many digits count as equal; fewer colours would be the only harm."""


def refine_colors(graph: Any, colors: np.ndarray | None = None, *, n_steps: int) -> np.ndarray:
    """Return a colour for every node that a renumbering of the nodes leaves as it is.

    Parameters
    ----------
    graph
        Similarity (n_nodes, n_nodes) in any form `as_graph` takes; all pairs are looked at.
    colors : array of shape (n_nodes,) or (n_nodes, n_columns), optional
        What tells nodes apart to begin with, such as kinds of atoms. Its order is kept.
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
    array([0, 2, 1, 2, 0])
    >>> refine_colors(path, [0, 0, 0, 0, 7], n_steps=1)
    array([0, 3, 2, 1, 4])
    """
    visits = expected_visits(graph, n_steps=n_steps)
    n_nodes = len(visits)
    _, amount = np.unique(np.round(visits, DIGITS), return_inverse=True)
    amount = amount.reshape(n_nodes, n_nodes)
    start = np.zeros((n_nodes, 1)) if colors is None else np.reshape(colors, (n_nodes, -1))
    found = _number(start)
    while True:
        seen = np.sort(amount * n_nodes + found, axis=1)
        finer = _number(np.column_stack([found, seen]))
        if finer.max() == found.max():
            return finer
        found = finer


def _number(rows: np.ndarray) -> np.ndarray:
    """Return the rank of each row among the different rows, first column first."""
    return np.unique(rows, axis=0, return_inverse=True)[1].reshape(-1)
