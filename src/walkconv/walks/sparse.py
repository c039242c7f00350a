"""Row by row along the edges, never forming a power of P: for graphs with few edges."""

import threading
from functools import partial

import numpy as np
import scipy.sparse as sp

from walkconv.walks.hubs import Hubs, find_hubs
from walkconv.walks.loops import empty_tables, walk_rows
from walkconv.walks.plan import Plan
from walkconv.walks.transition import sparse_transition

LARGE = 2**17
"""From so many nodes on the tallies of two threads crowd each other out of the cache."""


def most_visited(graph: sp.csr_array, plan: Plan) -> tuple[np.ndarray, np.ndarray]:
    """Return the neighbours and their visits, each (n_nodes, n_neighbors)."""
    step = sparse_transition(graph)
    return walk(step, find_hubs(step, plan.n_steps), plan)


def walk(step: sp.csr_array, hubs: Hubs, plan: Plan) -> tuple[np.ndarray, np.ndarray]:
    """Do the same given the transition matrix and the hubs, which do not change the answer."""
    return plan.fill(hubs.rows, partial(_walk_block, step, hubs, plan, _Own()))


class _Own(threading.local):
    """What each thread keeps for itself; elsewhere it begins with nothing."""

    def __reduce__(self) -> tuple:
        return _Own, ()


def _walk_block(
    step: sp.csr_array, hubs: Hubs, plan: Plan, own: _Own, rows: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    if not hasattr(own, "tallies"):
        sizes = [step.shape[0]] * 3 + [step.shape[0] if hubs.group.any() else 0]
        own.tallies = tuple(_empty_tally(size, step.indices.dtype) for size in sizes)
        own.tables = empty_tables(step.indices.dtype)
    index, visits = plan.empty(len(rows))
    matrix = (step.indptr, step.indices, step.data)
    walk_rows(
        *(matrix, hubs.fields, own.tallies, own.tables, step.shape[0] >= LARGE),
        *(rows, plan.n_steps, plan.tie_fields, index, visits),
    )
    return index, visits


def _empty_tally(n_nodes: int, dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
    """Return amounts of 0 and a list: memory of numpy's, which has large pages, numba's has not.

    On large graphs most of it is never touched, and then costs nothing.
    """
    return np.zeros(n_nodes), np.empty(n_nodes + 1, dtype=dtype)
