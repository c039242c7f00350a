"""Which share of the strong relations a layout shows: related nodes stand near each other."""

from functools import cached_property

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from walkconv.layouts.edges import TIE, mutual_edges, strongest_weights
from walkconv.layouts.nearest import nearest_places

SCALES = {1: ((2, 4), (4, 8), (8, 16)), 2: ((4, 8), (8, 20)), 3: ((6, 26),)}
"""For each number of axes: how many strongest relations should lead to how many nearest nodes."""
MOST_STRONG = 16
WHOLE = 1 / 3
"""Of the nodes; more are not near."""


class Relation:
    """Positive weights between nodes.

    Parameters
    ----------
    weight : csr_array of shape (n_nodes, n_nodes)
        Symmetric.
    """

    def __init__(self, weight: sp.csr_array):
        self.weight = weight
        self._hanging: dict[int, tuple[float, float]] = {}

    @cached_property
    def strongest(self) -> np.ndarray:
        """The largest weights (n_nodes, MOST_STRONG) of each node, descending, then zeros."""
        return strongest_weights(self.weight, MOST_STRONG)

    @cached_property
    def pairs(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Ends of each relation, and how many relations of the first end are stronger."""
        source = np.repeat(np.arange(self.weight.shape[0]), np.diff(self.weight.indptr))
        stronger = self.weight.data[:, None] < self.strongest[source] * (1.0 - TIE)
        return source, self.weight.indices, stronger.sum(axis=1)

    def hanging(self, n_edges: int) -> tuple[float, float]:
        """Return whether the nodes hang together, and how much like a crowd rather than a lattice.

        Edges count that are among the `n_edges` strongest of both ends. The first number is the
        chance that two nodes are joined by them: near 0 where the nodes fall into groups. The
        second is the share of pairs of edges that a third edge closes to a triangle: near 0 on a
        lattice with so many edges, larger where nodes stand at random.
        """
        if n_edges not in self._hanging:
            edges = mutual_edges(self.weight, self.strongest, n_edges)
            _, part = connected_components(edges, directed=False)
            joined = float(((np.bincount(part) / len(part)) ** 2).sum())
            edges.data[:] = 1.0
            degree = edges.sum(axis=1)
            n_pairs = float((degree * (degree - 1)).sum())
            n_closed = float((edges @ edges).multiply(edges).sum())
            self._hanging[n_edges] = joined, n_closed / max(1.0, n_pairs)
        return self._hanging[n_edges]

    def kept(self, positions: np.ndarray, period: np.ndarray) -> float:
        """Return the share of strong relations that lead to near nodes, counted from chance.

        Parameters
        ----------
        positions : ndarray of shape (n_nodes, n_dims)
        period : ndarray of shape (n_dims,)
            Length of an axis that runs round a ring; 0 for an axis with two ends.
        """
        n_nodes, n_dims = positions.shape
        source, target, n_stronger = self.pairs
        step = positions[target] - positions[source]
        round_trip = np.where(period > 0, period, np.inf)
        step -= np.where(period > 0, period * np.rint(step / round_trip), 0.0)
        length = np.sqrt((step**2).sum(axis=1))
        scales = [SCALES[n_dims][0]]
        scales += [scale for scale in SCALES[n_dims][1:] if scale[1] <= WHOLE * n_nodes]
        scales = [(n_strong, min(n_near, n_nodes - 1)) for n_strong, n_near in scales]
        distance, _ = nearest_places(positions, period, scales[-1][1] + 1)
        shares = []
        for n_strong, n_near in scales:
            is_strong = n_stronger < n_strong
            farthest = distance[:, n_near] * (1.0 + TIE)
            by_chance = n_near / max(1, n_nodes - 1)
            if not is_strong.any() or by_chance >= 1:
                shares.append(0.0)
                continue
            is_near = length[is_strong] <= farthest[source[is_strong]]
            shares.append(float((is_near.mean() - by_chance) / (1.0 - by_chance)))
        return float(np.mean(shares))
