"""Row by row along the edges, never forming a power of P: for graphs with few edges."""

import ctypes
import threading
from functools import partial

import numpy as np
import scipy.sparse as sp

from walkconv import _native
from walkconv.walks.hubs import Hubs, find_hubs
from walkconv.walks.plan import Plan
from walkconv.walks.ranking import rank_entries
from walkconv.walks.ties import TieRule
from walkconv.walks.transition import Steps, steps_along

LARGE = 2**16
"""From so many nodes on the tallies of two threads crowd each other out of the cache."""
MOST_ROWS = 256
"""Rows of a sparse product, where the library is missing: what they meet is held at once."""


def most_visited(graph: sp.csr_array, plan: Plan) -> tuple[np.ndarray, np.ndarray]:
    """Return the neighbours and their visits, each (n_nodes, n_neighbors)."""
    steps = steps_along(graph)
    if _native.library() is None:
        work = partial(_multiply_block, steps.matrix, plan)
        return plan.fill(np.arange(steps.n_nodes), work, most_rows=MOST_ROWS)
    return walk(steps, find_hubs(steps, plan.n_steps), plan)


def _multiply_block(
    step: sp.csr_array, plan: Plan, rows: np.ndarray, index: np.ndarray, best: np.ndarray
) -> None:
    """Do without the library: ``Q_B = I_B + P_B + P_B P + ...`` with sparse products."""
    chance = sp.eye_array(step.shape[0], format="csr")[rows]
    visits = chance
    for _ in range(plan.n_steps):
        chance = chance @ step
        visits = visits + chance
    entries = sp.coo_array(visits)
    rank_entries(rows, entries.row, entries.col, entries.data, plan.tie_rule, index, best)


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
    if not hasattr(own, "walk"):
        own.walk = Walk(steps, hubs, plan)
    own.walk.fill(rows, index, visits)


class _Rule(ctypes.Structure):
    """``struct rule`` of ``rank.h``."""

    _fields_ = (
        ("kind", ctypes.c_int64),
        ("seed", ctypes.c_uint64),
        ("places", ctypes.c_void_p),
        ("n_axes", ctypes.c_int64),
    )

    @classmethod
    def of(cls, rule: TieRule) -> "_Rule":
        """Return a rule as the library reads it, while its places live."""
        places = _native.address(rule.places, np.float64, *rule.places.shape)
        return cls(rule.kind, int(rule.seed), places, rule.places.shape[1])


class _Walk(ctypes.Structure):
    """``struct walk`` of ``walk.h``, field by field."""

    _fields_ = (
        *((name, ctypes.c_int64) for name in ("n_nodes", "n_steps", "n_slots", "tries_tables")),
        *((name, ctypes.c_void_p) for name in ("indptr", "indices", "chance")),
        *((name, ctypes.c_void_p) for name in ("is_hub", "group", "is_busy", "most_likely")),
        *((name, ctypes.c_void_p) for name in ("busy_indptr", "busy_indices", "busy_chance")),
        ("rule", _Rule),
        ("amounts", ctypes.c_void_p * 4),
        ("listed", ctypes.c_void_p * 4),
    )


class Walk:
    """One thread's walk: what the loop reads, and its tallies, empty before and after.

    Parameters
    ----------
    steps, hubs, plan
        What all threads have in common.
    """

    def __init__(self, steps: Steps, hubs: Hubs, plan: Plan):
        n_nodes, places = steps.n_nodes, steps.indices.dtype
        self.steps, self.hubs, self.plan = steps, hubs, plan
        # On large graphs most of a tally is never touched, and then costs nothing.
        sizes = [n_nodes] * 3 + [n_nodes if hubs.group.any() else 0]
        self.amounts = [np.zeros(size) for size in sizes]
        self.listed = [np.empty(size + 1, dtype=places) for size in sizes]
        indptr, indices, probability = hubs.from_busy
        n_busy = len(indices)
        self.is_long, *addresses = steps.address
        self.fields = _Walk(
            *(n_nodes, plan.n_steps, plan.n_neighbors, n_nodes >= LARGE),
            *(*addresses, steps.chance_address),
            _native.address(hubs.is_hub, np.bool_, n_nodes),
            _native.address(hubs.group, np.int64, n_nodes),
            _native.address(hubs.is_busy, np.bool_, n_nodes),
            _native.address(hubs.most_likely, np.float64, n_nodes),
            _native.address(indptr, places, n_nodes + 1),
            _native.address(indices, places, n_busy),
            _native.address(probability, np.float64, n_busy),
            _Rule.of(plan.tie_rule),
            tuple(amounts.ctypes.data for amounts in self.amounts),
            tuple(listed.ctypes.data for listed in self.listed),
        )

    def fill(self, rows: np.ndarray, index: np.ndarray, visits: np.ndarray) -> None:
        """Walk from some rows (n_rows,) and write what each visits (n_rows, n_neighbors).

        Rows with the same hubs should follow each other.
        """
        native, shape = _native.library(), (len(rows), self.plan.n_neighbors)
        assert native is not None
        _native.check(
            native.walkconv_walk_rows(
                *(self.is_long, ctypes.byref(self.fields)),
                *(_native.address(rows, np.int64, len(rows)), len(rows)),
                *(
                    _native.address(index, np.int64, *shape),
                    _native.address(visits, np.float64, *shape),
                ),
            )
        )

    def numbers_met(self, rows: np.ndarray) -> np.ndarray:
        """Return how many nodes the walks from some rows meet in a table; 0 for too many."""
        native, met = _native.library(), np.empty(len(rows), dtype=np.int64)
        assert native is not None
        native.walkconv_walk_in_tables(
            *(self.is_long, ctypes.byref(self.fields)),
            *(_native.address(rows, np.int64, len(rows)), len(rows), met.ctypes.data),
        )
        return met
