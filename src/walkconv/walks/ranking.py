"""The p most visited nodes of a row in order: the definition, in numpy.

Two engines add the same probabilities in another order and differ in the 16th digit, so visits are
tied when they agree to a relative `TIE`: of the visits in descending order, each that lies within
`TIE` of the one before it belongs to the same tie. Within a tie the node itself comes first, then
the caller's rule decides, then the lowest index.

The library ranks the same way in a tenth of the time (`_native/graphs/rank.h`).
"""

from dataclasses import dataclass

import numpy as np

from walkconv import _native

BY_INDEX, BY_CHANCE, BY_DISPLACEMENT = 0, 1, 2
TIE = 1e-9
REACHED = float(np.finfo(np.float64).tiny)
"""Fewer expected visits count as none: products of probabilities lose their digits there."""


@dataclass(frozen=True)
class TieRule:
    """How tied nodes are ordered: plain data that compiled code can read.

    Attributes
    ----------
    kind : int
        BY_INDEX, BY_CHANCE or BY_DISPLACEMENT.
    seed : uint64
        Fixes the random order, which is a hash of seed and both nodes. A stream of random numbers
        would make the answer depend on the order of the work.
    places : ndarray of shape (n_nodes, n_axes), float64
        Positions in units of a 2^30th of their extent; displacements are compared as integers.
    """

    kind: int
    seed: np.uint64
    places: np.ndarray


def rank_rows(
    rows: np.ndarray, visits: np.ndarray, rule: TieRule, index: np.ndarray, best: np.ndarray
) -> None:
    """Write the most visited nodes of some rows, and their visits.

    Parameters
    ----------
    rows : ndarray of shape (n_rows,), int64
        Where the walks start.
    visits : ndarray of shape (n_rows, n_nodes)
        Expected visits.
    rule : TieRule
        How ties are broken.
    index, best : ndarray of shape (n_rows, n_slots)
        Written: nodes in order and their visits; -1 and 0 in empty slots.
    """
    native = _native.library()
    if native is None:
        place, node = np.nonzero(visits >= _lowest_of_ties(visits, index.shape[1])[:, None])
        rank_entries(rows, place, node, visits[place, node], rule, index, best)
        return
    (n_rows, n_nodes), n_slots = visits.shape, index.shape[1]
    _native.check(
        native.walkconv_rank_rows(
            *(_native.address(rows, np.int64, n_rows), n_rows),
            *(_native.address(visits, np.float64, n_rows, n_nodes), n_nodes),
            *(rule.kind, int(rule.seed)),
            *(_native.address(rule.places, np.float64, *rule.places.shape), rule.places.shape[1]),
            n_slots,
            _native.address(index, np.int64, n_rows, n_slots),
            _native.address(best, np.float64, n_rows, n_slots),
        )
    )


def rank_entries(
    rows: np.ndarray,
    place: np.ndarray,
    node: np.ndarray,
    visits: np.ndarray,
    rule: TieRule,
    index: np.ndarray,
    best: np.ndarray,
) -> None:
    """Write the most visited nodes from visits that are not 0, given in any order.

    Parameters
    ----------
    rows : ndarray of shape (n_rows,), int64
        Where the walks start.
    place, node, visits : ndarray of shape (n_entries,)
        Expected visits to `node` of the walk from ``rows[place]``.
    rule, index, best
        As above.
    """
    # First by visits alone, to see where a tie ends: each value is compared with the one before.
    order = np.lexsort((-visits, place))
    order = order[visits[order] >= REACHED]
    place, node, visits = place[order], node[order], visits[order]
    is_first = np.diff(place, prepend=-1) > 0
    is_apart = visits < np.concatenate([[0.0], visits[:-1]]) * (1.0 - TIE)
    tie = np.cumsum(is_first | is_apart)
    # Again within each tie: the node itself, then the rule, then the lowest index.
    start = rows[place]
    order = np.lexsort((node, *_keys(rule, start, node), node != start, tie))
    place, node, visits = place[order], node[order], visits[order]
    slot = np.arange(len(place)) - np.maximum.accumulate(
        np.where(is_first, np.arange(len(place)), 0)
    )
    is_best = slot < index.shape[1]
    index[:], best[:] = -1, 0.0
    index[place[is_best], slot[is_best]] = node[is_best]
    best[place[is_best], slot[is_best]] = visits[is_best]


def _keys(rule: TieRule, start: np.ndarray, node: np.ndarray) -> list[np.ndarray]:
    """Return what the rule orders by, the most important last, as `lexsort` takes it."""
    if rule.kind == BY_CHANCE:
        return [
            mixed(
                mixed(mixed(np.full(1, rule.seed)) ^ start.astype(np.uint64))
                ^ node.astype(np.uint64)
            )
        ]
    if rule.kind == BY_DISPLACEMENT:
        return list(np.rint(rule.places[node] - rule.places[start]).T[::-1])
    return []


def mixed(numbers: np.ndarray) -> np.ndarray:
    """Return 64 bits for each number, uint64, that look random (splitmix64)."""
    bits = numbers + np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


def _lowest_of_ties(visits: np.ndarray, n_slots: int) -> np.ndarray:
    """Return the least visits (n_rows,) of the tie that the last slot belongs to."""
    # The last tie may go on below the last slot, and its rule may prefer the nodes there. So it is
    # followed down until the next value is apart.
    n_below = visits.shape[1] - n_slots
    low = np.partition(visits, n_below, axis=1)[:, n_below]
    while True:
        is_tied = visits >= (low * (1.0 - TIE))[:, None]
        lower = np.where(is_tied, visits, np.inf).min(axis=1)
        if (lower == low).all():
            return np.maximum(low, REACHED)
        low = lower
