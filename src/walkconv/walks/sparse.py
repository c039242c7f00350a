"""Row by row along the edges, never forming a power of P: for graphs with few edges.

Hubs are nodes with very many edges; a walk treats them apart. A row of Q is ``Q^(k)_i = e_i + sum_j
P_ij Q^(k-1)_j``. The terms of the few hubs j are most of the work, and many rows share them: ``sum
over hubs of P_ij Q^(k-1)_j`` is walked once for all rows whose edges to hubs have the same
proportions. In the last step a hub gives each node at most its probability times the largest
``P_jl``, so this step is skipped unless the bound is too weak (`_native/graphs/walk_rows.h`).
Neither changes the answer.
"""

import ctypes
import threading
from dataclasses import dataclass
from functools import partial

import numpy as np
import scipy.sparse as sp

from walkconv import _native
from walkconv.walks.plan import Plan
from walkconv.walks.ranking import TieRule, rank_entries
from walkconv.walks.transition import Steps, steps_along

LARGE = 2**16
"""From this number of nodes on, the tallies of two threads crowd each other out of the cache."""
MOST_ROWS = 256
"""Rows per block without the library: a sparse product holds all that its rows visit at once."""
BUSY = 64
"""A node with at least this many edges is busy: its last step may be skipped. Hubs have more."""
SHARERS = 4
"""Fewest rows that share what follows from their hubs. Rows of smaller groups walk alone."""
DONE = 0.1
"""Expected share of the last steps from busy nodes that cannot be skipped."""


@dataclass(frozen=True, eq=False)
class Hubs:
    """The nodes that a walk treats apart.

    Attributes
    ----------
    is_hub : ndarray of shape (n_nodes,), bool
        Rows whose edges lead to the same hubs share what follows from a first step to them.
    group : ndarray of shape (n_nodes,), int
        The same number for rows that share it; 0 for rows that walk alone.
    is_busy : ndarray of shape (n_nodes,), bool
        The last step from these is skipped unless the bound is too weak.
    most_likely : ndarray of shape (n_nodes,)
        The largest probability of a step from each busy node.
    from_busy : tuple of ndarray
        Column by column the steps from busy nodes: indptr, indices, probability.
    """

    is_hub: np.ndarray
    group: np.ndarray
    is_busy: np.ndarray
    most_likely: np.ndarray
    from_busy: tuple[np.ndarray, np.ndarray, np.ndarray]

    @property
    def rows(self) -> np.ndarray:
        """All nodes (n_nodes,); rows that share follow each other.

        These take longest and come first, so that no thread waits long for another at the end.
        """
        return np.argsort(-self.group, kind="stable")


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
    """Fill a block without the library: ``Q_B = I_B + P_B + P_B P + ...`` by sparse products."""
    chance = sp.eye_array(step.shape[0], format="csr")[rows]
    visits = chance
    for _ in range(plan.n_steps):
        chance = chance @ step
        visits = visits + chance
    entries = sp.coo_array(visits)
    rank_entries(rows, entries.row, entries.col, entries.data, plan.tie_rule, index, best)


def walk(steps: Steps, hubs: Hubs, plan: Plan) -> tuple[np.ndarray, np.ndarray]:
    """Return the same for given steps and hubs. The choice of hubs does not change the answer."""
    return plan.fill(hubs.rows, partial(_walk_block, steps, hubs, plan, _Own()))


class _Own(threading.local):
    """What each thread keeps for itself."""

    def __reduce__(self) -> tuple:
        # A copy in another process is empty: the addresses in a `Walk` mean nothing there.
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
    # Each thread keeps its tallies for all its blocks: new memory costs a page fault per page.
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
        """Return a rule as the library reads it, valid as long as its positions live."""
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
        n_nodes, index_type = steps.n_nodes, steps.indices.dtype
        # Kept alive: the struct holds only addresses.
        self.steps, self.hubs, self.plan = steps, hubs, plan
        # Tallies of the chances before and after a step, of all visits, and of the visits that
        # rows share. On large graphs most of a tally is never touched, and then costs nothing.
        sizes = [n_nodes] * 3 + [n_nodes if hubs.group.any() else 0]
        self.amounts = [np.zeros(size) for size in sizes]
        # One entry more: the loop always writes a node behind the last one, even a known node.
        self.listed = [np.empty(size + 1, dtype=index_type) for size in sizes]
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
            _native.address(indptr, index_type, n_nodes + 1),
            _native.address(indices, index_type, n_busy),
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
        """Return the number of nodes in the table of each row's walk; 0 if they may be too many."""
        native, met = _native.library(), np.empty(len(rows), dtype=np.int64)
        assert native is not None
        native.walkconv_walk_in_tables(
            *(self.is_long, ctypes.byref(self.fields)),
            *(_native.address(rows, np.int64, len(rows)), len(rows), met.ctypes.data),
        )
        return met


def find_hubs(steps: Steps, n_steps: int) -> Hubs:
    """Return the hubs with which the walks from all nodes follow the fewest edges.

    Parameters
    ----------
    steps : Steps
        The steps along the edges.
    n_steps : int
        Length of the walk.
    """
    degree = np.diff(steps.indptr)
    no_node = np.zeros(len(degree), dtype=bool)
    # After a single step nothing follows that rows could share or skip.
    if n_steps < 2 or degree.max() < BUSY:
        return set_apart(steps, no_node, no_node)
    # Hubs from 256, 1,024, ... edges on: few choices, as each costs a pass over all edges.
    choices = [no_node]
    while (n_edges := BUSY * 4 ** len(choices)) <= degree.max():
        choices.append(degree >= n_edges)
    is_busy = degree >= BUSY
    is_hub = no_node
    if len(choices) > 1:
        is_hub = _fewest_edges(steps, n_steps, choices, is_busy)
    return set_apart(steps, is_hub, is_busy)


def set_apart(
    steps: Steps, is_hub: np.ndarray, is_busy: np.ndarray, *, n_sharers: int = SHARERS
) -> Hubs:
    """Return what the loops read of the given hubs and busy nodes. Any nodes may be given."""
    most_likely = np.zeros(len(is_busy))
    busy = np.flatnonzero(is_busy).astype(steps.indices.dtype)
    rows = steps.of(busy)
    # `reduceat` is wrong for empty rows; `Steps` has none.
    most_likely[busy] = np.maximum.reduceat(rows.data, rows.indptr[:-1])
    # By column, because the loop asks what one candidate gains from all busy nodes.
    columns = sp.csr_array(rows.T)
    indptr = columns.indptr.astype(steps.indptr.dtype, copy=False)
    from_busy = indptr, busy[columns.indices], columns.data
    return Hubs(is_hub, _groups(steps, is_hub, n_sharers), is_busy, most_likely, from_busy)


def _groups(steps: Steps, is_hub: np.ndarray, n_sharers: int) -> np.ndarray:
    """Return the group of each row (n_nodes,), from 1 on; 0 where fewer than `n_sharers` share."""
    group = np.zeros(len(is_hub), dtype=np.int64)
    if is_hub.any():
        # Marks are hashes. The loop compares the hubs themselves before it shares, so two sets of
        # hubs with the same mark cost time and do not change the answer.
        marks = _marks(steps, is_hub)
        meeting = np.flatnonzero(marks)
        _, kind, size = np.unique(marks[meeting], return_inverse=True, return_counts=True)
        group[meeting] = np.where(size[kind] >= n_sharers, kind + 1, 0)
    return group


def _fewest_edges(
    steps: Steps, n_steps: int, choices: list[np.ndarray], is_busy: np.ndarray
) -> np.ndarray:
    """Return the choice, each (n_nodes,), with which the walks follow the fewest edges.

    Nodes reached twice are counted twice, but in one step no walk follows an edge twice.
    """
    degree = np.diff(steps.indptr).astype(np.float64)
    # Edges followed from a node on, in a shared walk and in the walk of one row. Only the walk of
    # one row skips last steps: what rows share must be exact before it is multiplied.
    shared, own = degree, np.where(is_busy, DONE, 1.0) * degree
    for k in range(2, n_steps):
        shared, own = (
            np.minimum(degree + _sums_ahead(steps, value), k * len(steps.indices))
            for value in (shared, own)
        )
    most = n_steps * len(steps.indices)
    alone = np.minimum(_sums_ahead(steps, own), most)
    n_edges = []
    for is_hub in choices:
        group = _groups(steps, is_hub, SHARERS)
        sharing = np.flatnonzero(group)
        # One row of each group walks from its hubs for all rows of the group.
        firsts = sharing[np.unique(group[sharing], return_index=True)[1]]
        parts = (
            np.minimum(_sums_ahead(steps, np.where(is_hub, shared, 0.0), firsts), most),
            np.minimum(_sums_ahead(steps, np.where(is_hub, 0.0, own), sharing), most),
            alone[group == 0],
        )
        n_edges.append(sum(part.sum() for part in parts))
    return choices[int(np.argmin(n_edges))]


def _sums_ahead(steps: Steps, value: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
    """Return the sum of a value (n_nodes,) over the nodes that each of some rows has edges to."""
    rows = np.arange(len(value)) if rows is None else rows
    total = np.empty(len(rows))
    native = _native.library()
    assert native is not None
    native.walkconv_sums_ahead(
        *steps.address,
        _native.address(value, np.float64, steps.n_nodes),
        *(_native.address(rows, np.int64, len(rows)), len(rows), total.ctypes.data),
    )
    return total


def _marks(steps: Steps, is_hub: np.ndarray) -> np.ndarray:
    """Return a hash (n_nodes,) of each node's hubs and their proportions; 0 without hubs."""
    marks = np.empty(steps.n_nodes, dtype=np.uint64)
    native = _native.library()
    assert native is not None
    native.walkconv_mark_rows(
        *steps.address,
        None
        if steps.is_even
        else _native.address(steps.probability, np.float64, len(steps.indices)),
        _native.address(is_hub, np.bool_, steps.n_nodes),
        *(steps.n_nodes, marks.ctypes.data),
    )
    return marks
