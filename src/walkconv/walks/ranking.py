"""The best p of a row, in order: the one place where ties are decided.

Every engine hands its rows to `rank_row`. Two engines add the same probabilities in another order
and differ in the 16th digit, so visits are tied when they agree to a relative `TIE`: of the visits
in descending order, each that lies within `TIE` of the one before it belongs to the same tie.
Within a tie the node itself comes first, then the caller's rule decides, then the lowest index.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from walkconv._checks import as_real, check_finite, describe
from walkconv.walks.compiled import compiled

TIE = 1e-9
REACHED = float(np.finfo(np.float64).tiny)
"""Fewer expected visits than this are none: products of probabilities lose their digits there."""

BY_INDEX, BY_CHANCE, BY_DISPLACEMENT = 0, 1, 2


@dataclass(frozen=True)
class TieRule:
    """How tied nodes are ordered: plain data that compiled code can read.

    Attributes
    ----------
    kind : int
        BY_INDEX, BY_CHANCE or BY_DISPLACEMENT.
    seed : uint64
        Chooses the order by chance; it is a function of the two nodes, not of a stream, so that
        the order of the work does not matter.
    places : ndarray of shape (n_nodes, n_axes), float64
        Positions in units of a 2^30th of their extent; displacements are compared as integers.
    """

    kind: int
    seed: np.uint64
    places: np.ndarray


def tie_rule(ties: Any, random_state: Any, n_nodes: int) -> TieRule:
    """Return the rule for ``ties="index"``, ``"random"`` or an array of positions."""
    nowhere = np.empty((0, 0))
    if isinstance(ties, str) and ties == "index":
        return TieRule(BY_INDEX, np.uint64(0), nowhere)
    if isinstance(ties, str) and ties == "random":
        if isinstance(random_state, np.random.Generator):
            seed = random_state.integers(2**31)
        else:
            seed = check_random_state(random_state).randint(2**31 - 1)
        return TieRule(BY_CHANCE, np.uint64(seed), nowhere)
    if isinstance(ties, str) or ties is None:
        raise ValueError(
            f"ties must be 'index', 'random' or positions (n_nodes, n_axes); got {describe(ties)}."
        )
    positions = as_real(np.asarray(ties), "positions").astype(np.float64)
    if positions.ndim != 2 or positions.shape[0] != n_nodes or positions.shape[1] == 0:
        raise ValueError(
            f"positions must have shape (n_nodes, n_axes) with n_nodes = {n_nodes}; "
            f"got shape {positions.shape}."
        )
    check_finite(positions, "positions")
    extent = np.ptp(positions, axis=0)
    return TieRule(
        BY_DISPLACEMENT, np.uint64(0), positions / np.where(extent > 0, extent, 1.0) * 2.0**30
    )


@compiled
def rank_row(node, candidates, visits, kind, seed, places, index, best_visits):
    """Write the most visited candidates into one row.

    Parameters
    ----------
    node : int
        The node the walk starts in.
    candidates, visits : arrays of shape (n_candidates,)
        The nodes reached, in any order, and their visits.
    kind, seed, places
        The fields of `TieRule`.
    index, best_visits : arrays of shape (n_neighbors,)
        Written: nodes in order and their visits, then -1 and 0.
    """
    n_neighbors = len(index)
    index[:] = -1
    best_visits[:] = 0.0
    cutoff = _cutoff(visits, n_neighbors)
    kept = np.flatnonzero(visits >= cutoff)
    kept = kept[np.argsort(-visits[kept])]
    n_filled = 0
    tie_start = 0
    for place in range(len(kept)):
        if place > 0 and visits[kept[place]] < visits[kept[place - 1]] * (1.0 - TIE):
            tie_start = n_filled
        if n_filled == n_neighbors and tie_start == n_neighbors:
            break
        # Insert into the tie, which is kept in order in slots tie_start to n_filled.
        candidate = candidates[kept[place]]
        slot = n_filled
        while slot > tie_start and _comes_before(
            candidate, index[slot - 1], node, kind, seed, places
        ):
            slot -= 1
        if slot == n_neighbors:
            continue
        if n_filled < n_neighbors:
            n_filled += 1
        for later in range(n_filled - 1, slot, -1):
            index[later] = index[later - 1]
            best_visits[later] = best_visits[later - 1]
        index[slot] = candidate
        best_visits[slot] = visits[kept[place]]


@compiled
def _cutoff(visits, n_neighbors):
    """Return the least visits of the tie that the last slot belongs to."""
    if len(visits) <= n_neighbors:
        return REACHED
    cutoff = np.partition(visits, len(visits) - n_neighbors)[len(visits) - n_neighbors]
    grows = True
    while grows:
        lowest = cutoff
        for value in visits:
            if cutoff * (1.0 - TIE) <= value < lowest:
                lowest = value
        grows = lowest < cutoff
        cutoff = lowest
    return max(cutoff, REACHED)


@compiled
def _comes_before(a, b, node, kind, seed, places):
    """Tell whether a stands before b in a tie of `node`."""
    if a == node or b == node:
        return a == node
    if kind == BY_CHANCE:
        return _chance(seed, node, a) < _chance(seed, node, b)
    if kind == BY_DISPLACEMENT:
        for axis in range(places.shape[1]):
            step_a = np.rint(places[a, axis] - places[node, axis])
            step_b = np.rint(places[b, axis] - places[node, axis])
            if step_a != step_b:
                return step_a < step_b
    return a < b


@compiled
def _chance(seed, node, other):
    """Return a number that looks random, the same for the same pair (splitmix64)."""
    return _mix(_mix(_mix(np.uint64(seed)) ^ np.uint64(node)) ^ np.uint64(other))


@compiled
def _mix(bits):
    bits = np.uint64(bits + np.uint64(0x9E3779B97F4A7C15))
    bits = np.uint64((bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9))
    bits = np.uint64((bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB))
    return bits ^ (bits >> np.uint64(31))
