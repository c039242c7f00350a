"""Where a walk spends its time in the long run: the limit of ``Q_i / k``.

A walk ends in a class of nodes that all lead to each other and to no other node. So the law is the
law of the class, times the probability to end there. Both follow from expected visits. The visits
between two visits to one node of the class are in proportion to its law. The visits to nodes that
the walk leaves for good say where it goes from there. Expected visits solve a system of linear
equations, so they exist even where the walk itself settles slowly or alternates.
"""

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import splu

from walkconv._warnings import warn_user

MOST_SOLVED = 4096
"""Most nodes of a system that is solved: with more nodes elimination may fill the memory."""
MOST_MOVES = 10**11
"""Most moves along an edge by which a walk in a larger system is followed: some minutes."""
SETTLED = 1e-10


def stationary_law(graph: sp.csr_array, step: sp.csr_array, nodes: np.ndarray) -> np.ndarray:
    """Return the limit of ``Q_i / k`` for each of `nodes`, as rows (len(nodes), n_nodes).

    On a symmetric graph it is the degree within the component of i.

    Parameters
    ----------
    graph, step : csr_array of shape (n_nodes, n_nodes)
        The graph, and the probabilities of its steps.
    nodes : ndarray of int
        Where the walks start.
    """
    # On a symmetric graph as much goes along an edge one way as the other, so the law is the
    # degree and no system is solved. A node without edges stays where it is.
    weight = abs(graph)
    if abs(weight - weight.T).max() <= 1e-12 * weight.max():
        _, component = connected_components(graph, directed=False)
        degree = np.asarray(weight.sum(axis=1))
        degree[degree == 0] = 1.0
        total = np.bincount(component, weights=degree)
        share = degree / total[component]
        return np.where(component[nodes][:, None] == component[None, :], share, 0.0)
    # Without the steps that stay, the law satisfies the same equation (`_change`), and a node that
    # the walk hardly ever leaves costs no digits.
    moves = sp.csr_array(step - sp.diags_array(step.diagonal()))
    moves.eliminate_zeros()
    n_classes, member_of = connected_components(moves, connection="strong")
    source, target = moves.nonzero()
    # Walks end in the classes that no edge leaves.
    is_closed = np.ones(n_classes, dtype=bool)
    is_closed[member_of[source[member_of[source] != member_of[target]]]] = False
    is_large = np.bincount(member_of) > MOST_SOLVED
    law = np.zeros(graph.shape[0])
    for is_chosen, law_within in ((is_large, _followed_law), (~is_large, _solved_law)):
        inside = np.flatnonzero((is_closed & is_chosen)[member_of])
        law[inside] = law_within(moves[inside][:, inside], member_of[inside])
    # A walk that was followed, not solved, may have run out of moves: then chances are missing, or
    # a step still changes the law.
    arrivals = _arrivals(moves, nodes, is_closed[member_of])
    lack = np.abs(arrivals.sum(axis=1) - 1.0).max()
    if max(lack, np.abs(_change(law, moves)).sum()) > 10 * SETTLED:
        warn_user(
            "stationary_distance is not exact: on this directed graph the walk settles too slowly.",
        )
    classes = sp.csr_array((np.ones(len(law)), (np.arange(len(law)), member_of)))
    return (arrivals @ classes)[:, member_of] * law


def _solved_law(moves: sp.csr_array, member_of: np.ndarray) -> np.ndarray:
    """Return the law (n_nodes,) of the class that each node belongs to.

    A busy node of each class is visited once, each other node as often as it is in between.
    """
    order = np.lexsort((-moves.sum(axis=0), member_of))
    is_first = np.diff(member_of[order], prepend=-1) > 0
    first, others = order[is_first], order[~is_first]
    between = _solved_visits(moves, others, moves[first][:, others].sum(axis=0)[None])
    if between is None:
        return _followed_law(moves, member_of)
    visits = np.ones(len(order))
    visits[others] = between[0]
    return visits / np.bincount(member_of, visits)[member_of]


def _followed_law(moves: sp.csr_array, member_of: np.ndarray) -> np.ndarray:
    """Return the law by following the walk; at half the pace, so that it cannot alternate."""
    law = 1.0 / np.bincount(member_of)[member_of]
    for _ in range(_most_steps(moves)):
        change = _change(law, moves) / 2
        law += change
        if np.abs(change).sum() < SETTLED:
            break
    return law


def _change(law: np.ndarray, moves: sp.csr_array) -> np.ndarray:
    """Return what a step changes of a law (n_nodes,)."""
    return law @ moves - law * moves.sum(axis=1)


def _arrivals(moves: sp.csr_array, nodes: np.ndarray, is_closed: np.ndarray) -> np.ndarray:
    """Return the chances (len(nodes), n_nodes) of where walks enter the classes they end in."""
    arrivals = np.zeros((len(nodes), len(is_closed)))
    arrivals[np.arange(len(nodes)), nodes] = 1.0
    passed = np.flatnonzero(~is_closed)
    start = arrivals[:, passed]
    visits = _solved_visits(moves, passed, start) if len(passed) <= MOST_SOLVED else None
    if visits is None:
        visits = _followed_visits(moves, passed, start)
    arrivals += visits @ moves[passed]
    arrivals[:, passed] = 0.0
    return arrivals


def _solved_visits(moves: sp.csr_array, passed: np.ndarray, start: np.ndarray) -> np.ndarray | None:
    """Return the visits to some nodes before walks leave them; None where rounding forbids it.

    Parameters
    ----------
    moves : csr_array of shape (n_nodes, n_nodes)
        The probabilities of steps to other nodes.
    passed : ndarray of shape (n_passed,), int
        The nodes.
    start : ndarray of shape (n_walks, n_passed)
        The chances of where walks start.

    Returns
    -------
    ndarray of shape (n_walks, n_passed) or None
    """
    if not len(passed):
        return start
    rows = moves[passed]
    # Visits times the probability to move on are arrivals. In this form a node that the walk hardly
    # ever leaves costs no digits, and the pivots on the diagonal are the largest.
    system = sp.diags_array(rows.sum(axis=1)) - rows[:, passed]
    try:
        factors = splu(sp.csc_array(system.T), diag_pivot_thresh=0.0)
    except RuntimeError:  # singular
        return None
    # A system that is nearly singular shows by visits that are negative or infinite.
    visits = factors.solve(np.ascontiguousarray(start.T)).T
    return visits if ((visits >= 0) & (visits < np.inf)).all() else None


def _followed_visits(moves: sp.csr_array, passed: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Return nearly the same as `_solved_visits`, by following the walks until all have left."""
    rows = moves[passed]
    leaves, inside = rows.sum(axis=1), rows[:, passed]
    visits = np.zeros_like(start)
    for _ in range(_most_steps(inside, len(start))):
        now = start / leaves
        visits += now
        start = now @ inside
        if start.sum(axis=1).max() < SETTLED:
            break
    return visits


def _most_steps(moves: sp.csr_array, n_walks: int = 1) -> int:
    return 1 + MOST_MOVES // ((moves.nnz + 1) * n_walks)
