"""Hubs: which nodes a walk along the edges treats apart, because too many edges lead on from them.

A row of Q is ``Q^(k)_i = e_i + sum_j P_ij Q^(k-1)_j``. Most of the work are the terms of the few j
with very many edges, and many rows have the same of them: ``sum over hubs of P_ij Q^(k-1)_j`` is
walked once for all rows whose edges to hubs have the same proportions. Before the last step a hub
gives any one node at most its chance times the largest ``P_jl``, so that step is not done there
unless the bound is too weak (see ``_native/graphs/walk_rows.h``). Neither changes the answer.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from walkconv import _native
from walkconv.walks.transition import Steps

BUSY = 64
"""A node with so many edges is busy, and not left at the last step; hubs have more."""
SHARERS = 4
"""So many rows at least share what follows from their hubs, else each walks for itself."""
DONE = 0.1
"""Part of the last steps from busy nodes that are expected to be done after all."""


@dataclass(frozen=True, eq=False)
class Hubs:
    """The nodes apart.

    Attributes
    ----------
    is_hub : ndarray of shape (n_nodes,), bool
        What follows from a first step to these is shared by rows that have the same of them.
    group : ndarray of shape (n_nodes,), int
        The same number for rows that share it; 0 for rows that do without.
    is_busy : ndarray of shape (n_nodes,), bool
        From these the last step is not done at once.
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
        """All nodes (n_nodes,), those that share one after the other.

        They take longest and come first: at the end nobody waits long for the others.
        """
        return np.argsort(-self.group, kind="stable")


def find_hubs(steps: Steps, n_steps: int) -> Hubs:
    """Return the hubs with which the walks from all nodes go along the fewest edges.

    Parameters
    ----------
    steps : Steps
        Along the edges.
    n_steps : int
        Length of the walk.
    """
    degree = np.diff(steps.indptr)
    nobody = np.zeros(len(degree), dtype=bool)
    if n_steps < 2 or degree.max() < BUSY:
        return set_apart(steps, nobody, nobody)
    choices = [nobody]
    while (n_edges := BUSY * 4 ** len(choices)) <= degree.max():
        choices.append(degree >= n_edges)
    is_busy = degree >= BUSY
    is_hub = nobody
    if len(choices) > 1:
        is_hub = _fewest_edges(steps, n_steps, choices, is_busy)
    return set_apart(steps, is_hub, is_busy)


def set_apart(
    steps: Steps, is_hub: np.ndarray, is_busy: np.ndarray, *, n_sharers: int = SHARERS
) -> Hubs:
    """Return what the loops need to know of the given hubs and busy nodes, any that one likes."""
    most_likely = np.zeros(len(is_busy))
    busy = np.flatnonzero(is_busy).astype(steps.indices.dtype)
    rows = steps.of(busy)
    most_likely[busy] = np.maximum.reduceat(rows.data, rows.indptr[:-1])
    columns = sp.csr_array(rows.T)
    indptr = columns.indptr.astype(steps.indptr.dtype, copy=False)
    from_busy = indptr, busy[columns.indices], columns.data
    return Hubs(is_hub, _groups(steps, is_hub, n_sharers), is_busy, most_likely, from_busy)


def _groups(steps: Steps, is_hub: np.ndarray, n_sharers: int) -> np.ndarray:
    """Return the group of each row (n_nodes,), from 1 on; 0 where fewer than `n_sharers` share."""
    group = np.zeros(len(is_hub), dtype=np.int64)
    if is_hub.any():
        marks = _marks(steps, is_hub)
        meeting = np.flatnonzero(marks)
        _, kind, size = np.unique(marks[meeting], return_inverse=True, return_counts=True)
        group[meeting] = np.where(size[kind] >= n_sharers, kind + 1, 0)
    return group


def _fewest_edges(
    steps: Steps, n_steps: int, choices: list[np.ndarray], is_busy: np.ndarray
) -> np.ndarray:
    """Return that of the choices, each (n_nodes,), with which the walks go along fewest edges.

    Nodes reached twice are counted twice, but in one step no walk goes along an edge twice.
    """
    degree = np.diff(steps.indptr).astype(np.float64)
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
    """Return a number (n_nodes,) for each node that tells which hubs it meets, how often each."""
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
