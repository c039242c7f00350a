"""Which share of the strong relations a layout shows: the related nodes stand nearest."""

import numpy as np
import scipy.sparse as sp

from walkconv.layouts.edges import TIE, strongest_weights
from walkconv.layouts.nearest import nearest_places


def kept_neighborhoods(
    weight: sp.csr_array, positions: np.ndarray, period: np.ndarray, n_strong: int
) -> float:
    """Return the share of the `n_strong` strongest edges that lead to nearest nodes.

    Nearest are as many nodes as touch the cell of a lattice. The share is counted from chance.
    """
    n_nodes, n_dims = positions.shape
    n_around = min(3**n_dims, n_nodes) - 1
    n_own = np.minimum(np.diff(weight.indptr), min(n_strong, n_around))
    if not n_own.any():
        return 0.0
    nodes = np.arange(n_nodes)
    least = strongest_weights(weight, n_around)[nodes, n_own - 1] * (1.0 - TIE)
    source = np.repeat(nodes, np.diff(weight.indptr))
    is_strong = weight.data >= least[source]
    source, target = source[is_strong], weight.indices[is_strong]
    distance, _ = nearest_places(positions, period, n_around + 1)
    farthest = distance[nodes, n_around] * (1.0 + TIE)
    step = positions[target] - positions[source]
    round_trip = np.where(period > 0, period, np.inf)
    step -= np.where(period > 0, period * np.rint(step / round_trip), 0.0)
    is_near = np.sqrt((step**2).sum(axis=1)) <= farthest[source]
    by_chance = n_around / max(1, n_nodes - 1)
    return float((is_near.mean() - by_chance) / (1.0 - by_chance)) if by_chance < 1 else 0.0
