"""Row by row along the edges, never forming a power of P: for graphs with few edges."""

import threading
from functools import partial

import numpy as np
import scipy.sparse as sp

from walkconv.walks.hubs import Hubs, find_hubs
from walkconv.walks.loops import empty_tables, walk_rows
from walkconv.walks.plan import Plan
from walkconv.walks.transition import Steps, steps_along

LARGE = 2**17
"""From so many nodes on the tallies of two threads crowd each other out of the cache."""


def most_visited(graph: sp.csr_array, plan: Plan) -> tuple[np.ndarray, np.ndarray]:
    """Return the neighbours and their visits, each (n_nodes, n_neighbors)."""
    steps = steps_along(graph)
    return walk(steps, find_hubs(steps, plan.n_steps), plan)


def walk(steps: Steps, hubs: Hubs, plan: Plan) -> tuple[np.ndarray, np.ndarray]:
    """Do the same given the steps and the hubs, which do not change the answer."""
    return plan.fill(hubs.rows, partial(_walk_block, steps, hubs, plan, _Own()))


class _Own(threading.local):
    """What each thread keeps for itself; elsewhere it begins with nothing."""

    def __reduce__(self) -> tuple:
        return _Own, ()


def _walk_block(
    steps: Steps,
    hubs: Hubs,
    plan: Plan,
    own: _Own,
    rows: np.ndarray,
    index: np.ndarray,
    visits: np.ndarray,
) -> None:
    n_nodes, places = steps.n_nodes, steps.indices.dtype
    if not hasattr(own, "tallies"):
        sizes = [n_nodes] * 3 + [n_nodes if hubs.group.any() else 0]
        own.tallies = tuple(_empty_tally(size, places) for size in sizes)
        own.tables = empty_tables(places)
    walk_rows(
        *(steps.fields, hubs.fields, own.tallies, own.tables, n_nodes >= LARGE),
        *(rows, plan.n_steps, plan.tie_fields, index, visits),
    )


def _empty_tally(n_nodes: int, dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
    """Return amounts of 0 and a list: memory of numpy's, which has large pages, numba's has not.

    On large graphs most of it is never touched, and then costs nothing.
    """
    return np.zeros(n_nodes), np.empty(n_nodes + 1, dtype=dtype)
