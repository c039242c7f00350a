"""The rules by which tied nodes are ordered; `ranking.py` applies them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from walkconv._checks import check_positions, describe

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
    positions = check_positions(ties, "ties", n_nodes)
    extent = np.ptp(positions, axis=0)
    return TieRule(
        BY_DISPLACEMENT, np.uint64(0), positions / np.where(extent > 0, extent, 1.0) * 2.0**30
    )
