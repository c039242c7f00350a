"""The meaning of the walk: equations (1) and (3) of the paper, dense."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from walkconv._adapters import as_graph
from walkconv._checks import check_steps


def transition_matrix(graph: Any) -> np.ndarray:
    """Return ``P = D^-1 |S|``: the probability of each step of the walk.

    Parameters
    ----------
    graph
        Similarity ``S`` (n_nodes, n_nodes) in any form `as_graph` takes.

    Returns
    -------
    ndarray of shape (n_nodes, n_nodes)
        Entry (i, j) is the probability of a step from i to j. Rows sum to 1: from a node
        without out-edges the walk goes nowhere, so its row is 1 at the node itself.

    Examples
    --------
    >>> from walkconv import transition_matrix
    >>> transition_matrix([[0, 1, -3], [1, 0, 0], [0, 0, 0]])
    array([[0.  , 0.25, 0.75],
           [1.  , 0.  , 0.  ],
           [0.  , 0.  , 1.  ]])
    """
    return _steps(as_graph(graph))


def _steps(graph: sp.csr_array) -> np.ndarray:
    weight = np.abs(graph.toarray())
    degree = weight.sum(axis=1)
    # A step from a node without out-edges would divide by zero. The walk stays there.
    stays = degree == 0
    weight[stays, stays] = 1.0
    return weight / np.where(stays, 1.0, degree)[:, None]


def expected_visits(graph: Any, *, n_steps: int) -> np.ndarray:
    """Return ``Q = I + P + ... + P^k``: the expected visits of a walk of k steps.

    Parameters
    ----------
    graph
        Similarity (n_nodes, n_nodes) in any form `as_graph` takes.
    n_steps : int
        The paper's k.

    Returns
    -------
    ndarray of shape (n_nodes, n_nodes)
        Entry (i, j) is the expected number of visits to j of a walk that starts in i. Rows sum
        to ``n_steps + 1``.

    Examples
    --------
    >>> from walkconv import expected_visits
    >>> expected_visits([[0, 1, 0], [1, 0, 1], [0, 1, 0]], n_steps=2)
    array([[1.5, 1. , 0.5],
           [0.5, 2. , 0.5],
           [0.5, 1. , 1.5]])
    """
    return visits_checked(as_graph(graph), n_steps=n_steps)


def visits_checked(graph: sp.csr_array, *, n_steps: int) -> np.ndarray:
    """Return the visits as `expected_visits` does, of a graph that `as_graph` returned."""
    n_steps = check_steps(n_steps)
    step = _steps(graph)
    start = np.eye(len(step))
    visits = start
    for _ in range(n_steps):
        visits = start + visits @ step
    return visits
