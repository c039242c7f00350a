"""Slots that are directions: every node has its neighbours where a template has its offsets."""

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from walkconv import _native
from walkconv._checks import as_array, as_real, check_finite, check_integer, check_positions
from walkconv.walks.assignment import local_spacing, orient_row
from walkconv.walks.plan import Plan

CANDIDATES_PER_SLOT = 8
"""Number of most visited nodes considered for each slot: some directions are visited more often.
Measured on the pixels of MNIST with 25 slots: 3 per slot leave 30 % of the slots empty, 8 leave
25 %."""
REACHED_PER_SLOT = 2
"""Nodes per slot that a walk of ``n_steps="auto"`` should reach."""
REACH = 1.0
"""How far from its offset a neighbour may lie, in units of the local spacing."""


def slot_offsets(n_neighbors: int, *, n_dims: int = 2) -> np.ndarray:
    """Return the displacement that each slot of an oriented table stands for.

    Slot 0 is the node itself. The others follow ring by ring, nearest first, and those equally
    near in ascending order of their components; so 9 slots of a plane are 3 x 3 cells, 25 are
    5 x 5, and the slots of a small table are the first of a large one.

    Parameters
    ----------
    n_neighbors : int
        Slots of each node, itself included.
    n_dims : int, default 2
        Axes of the layout.

    Returns
    -------
    ndarray of shape (n_neighbors, n_dims), int64
        Steps along each axis.

    Examples
    --------
    >>> from walkconv import slot_offsets
    >>> slot_offsets(5).tolist()
    [[0, 0], [-1, 0], [0, -1], [0, 1], [1, 0]]
    >>> slot_offsets(4, n_dims=1).ravel().tolist()
    [0, -1, 1, -2]
    """
    n_neighbors = check_integer(n_neighbors, "n_neighbors", minimum=1)
    n_dims = check_integer(n_dims, "n_dims", minimum=1)
    radius = 0
    while (2 * radius + 1) ** n_dims < n_neighbors:
        radius += 1
    steps = np.array(list(product(range(-radius, radius + 1), repeat=n_dims)))
    # By ring first, so that the first (2 r + 1)^n_dims slots are a whole square or cube.
    order = np.lexsort((*steps.T[::-1], (steps**2).sum(axis=1), np.abs(steps).max(axis=1)))
    return steps[order[:n_neighbors]]


@dataclass(frozen=True, eq=False)
class Places:
    """The positions of the nodes.

    Attributes
    ----------
    positions : ndarray of shape (n_nodes, n_dims), float64
    period : ndarray of shape (n_dims,), float64
        Length of an axis that runs round a ring; 0 for an axis with two ends.
    """

    positions: np.ndarray
    period: np.ndarray


def check_places(positions: Any, period: Any, n_nodes: int) -> Places:
    """Return the checked positions of the nodes."""
    if positions is None:
        raise ValueError(
            "order='direction' needs positions: known ones, or layout_graph(graph).positions."
        )
    checked = check_positions(positions, "positions", n_nodes)
    if period is None:
        return Places(checked, np.zeros(checked.shape[1]))
    lengths = as_real(as_array(period, "period"), "period").astype(np.float64)
    if lengths.shape != (checked.shape[1],) or not (lengths >= 0).all():
        raise ValueError(
            f"period must have a length for each of the {checked.shape[1]} axes, 0 for an axis "
            f"with two ends; got {lengths.tolist()}."
        )
    check_finite(lengths, "period")
    return Places(checked, lengths)


def refuse_places(positions: Any, period: Any) -> None:
    """Refuse positions that would not be used: in order of visits a slot is a rank."""
    unused = {"positions": positions, "period": period}
    given = [name for name, value in unused.items() if value is not None]
    if given:
        raise ValueError(
            f"positions and period are for order='direction'; got {' and '.join(given)} with "
            "order='visits'. To order ties by position, pass ties=positions."
        )


def oriented(
    candidates: np.ndarray, visits: np.ndarray, places: Places, n_neighbors: int, plan: Plan
) -> tuple[np.ndarray, np.ndarray]:
    """Put the most visited nodes into the slots of their displacements.

    Parameters
    ----------
    candidates, visits : ndarray of shape (n_nodes, n_candidates)
        The most visited nodes of each node, itself among them; -1 in an empty entry.
    places : Places
        The positions of the nodes.
    n_neighbors : int
        Slots.
    plan : Plan
        Its threads do the work.

    Returns
    -------
    index, visits : ndarray of shape (n_nodes, n_neighbors)
    """
    n_nodes, n_dims = places.positions.shape
    offsets = slot_offsets(n_neighbors, n_dims=n_dims).astype(np.float64)
    spacing = _spacing(candidates, places)
    index = np.empty((n_nodes, n_neighbors), dtype=np.int64)
    slot_visits = np.empty((n_nodes, n_neighbors))
    # Rows do not depend on each other once the spacing is known: threads take blocks of them.
    orient = _orient_rows if _native.library() is None else _orient_rows_natively

    def work(start: int, stop: int) -> None:
        rows = slice(start, stop)
        found = index[rows], slot_visits[rows]
        orient(start, candidates[rows], visits[rows], spacing[rows], places, offsets, found)

    plan.for_each_block(n_nodes, work)
    return index, slot_visits


def _spacing(candidates: np.ndarray, places: Places) -> np.ndarray:
    native, (n_nodes, n_dims) = _native.library(), places.positions.shape
    if native is None:
        return local_spacing(candidates, places.positions, places.period)
    own, spacing = np.empty(n_nodes), np.empty(n_nodes)
    _native.check(
        native.walkconv_local_spacing(
            _native.address(candidates, np.int64, n_nodes, candidates.shape[1]),
            *(n_nodes, candidates.shape[1], *_addresses(places), n_dims),
            *(own.ctypes.data, spacing.ctypes.data),
        )
    )
    return spacing


def _orient_rows(
    start: int,
    candidates: np.ndarray,
    visits: np.ndarray,
    spacing: np.ndarray,
    places: Places,
    offsets: np.ndarray,
    found: tuple[np.ndarray, np.ndarray],
) -> None:
    """Fill the slots `found`, index and visits, of the nodes start, start + 1, ..., in order."""
    index, slot_visits = found
    for row, others in enumerate(candidates):
        held = orient_row(
            *(start + row, others, places.positions, places.period),
            *(spacing[row], offsets, REACH),
        )
        # An empty slot (-1) reads the last candidate, which is then replaced.
        index[row] = np.where(held >= 0, others[held], -1)
        slot_visits[row] = np.where(held >= 0, visits[row, held], 0.0)
        index[row, 0] = start + row
        # A sum, as the node itself is found once or not at all.
        slot_visits[row, 0] = visits[row][others == start + row].sum()


def _orient_rows_natively(
    start: int,
    candidates: np.ndarray,
    visits: np.ndarray,
    spacing: np.ndarray,
    places: Places,
    offsets: np.ndarray,
    found: tuple[np.ndarray, np.ndarray],
) -> None:
    """Fill the slots in the library."""
    index, slot_visits = found
    native, (n_rows, n_candidates) = _native.library(), candidates.shape
    n_slots, n_dims = offsets.shape
    assert native is not None
    _native.check(
        native.walkconv_orient_rows(
            *(start, n_rows),
            _native.address(candidates, np.int64, n_rows, n_candidates),
            _native.address(visits, np.float64, n_rows, n_candidates),
            *(n_candidates, *_addresses(places), n_dims),
            _native.address(spacing, np.float64, n_rows),
            *(_native.address(offsets, np.float64, n_slots, n_dims), n_slots, REACH),
            _native.address(index, np.int64, n_rows, n_slots),
            _native.address(slot_visits, np.float64, n_rows, n_slots),
        )
    )


def _addresses(places: Places) -> tuple[int, int]:
    n_nodes, n_dims = places.positions.shape
    return (
        _native.address(places.positions, np.float64, n_nodes, n_dims),
        _native.address(places.period, np.float64, n_dims),
    )
