"""Stress of a layout, and the positions that minimise it by majorisation (SMACOF).

The stress is ``sum w (|x_i - x_j| - d)^2 / sum w d^2`` with ``w = 1 / d^2``: the mean squared
relative error of the distances. Its terms are the near pairs and all pairs of a node with a
landmark, so memory grows with the number of nodes and not with its square. Every round solves a
sparse linear system whose solution is never worse than the positions before it.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from walkconv.layouts.solve import solver

N_ROUNDS = 20
LEAST_GAIN = 1e-3
"""Rounds end when the stress falls by a smaller share."""


@dataclass(frozen=True, eq=False)
class Distances:
    """Wanted distances between pairs of nodes.

    Attributes
    ----------
    a, b : ndarray of shape (n_pairs,), int64
    distance : ndarray of shape (n_pairs,)
        Positive.
    n_nodes : int
    """

    a: np.ndarray
    b: np.ndarray
    distance: np.ndarray
    n_nodes: int


def wanted_distances(length: sp.csr_array, landmarks: np.ndarray, paths: np.ndarray) -> Distances:
    """Return the distances of near pairs and of all nodes to the landmarks.

    Parameters
    ----------
    length : csr_array of shape (n_nodes, n_nodes)
        Symmetric, the length of each edge.
    landmarks : ndarray of shape (n_landmarks,)
    paths : ndarray of shape (n_landmarks, n_nodes)
        Length of the shortest path from each landmark to each node.
    """
    near = sp.coo_array(sp.triu(length, k=1))
    from_landmark = np.repeat(landmarks, paths.shape[1])
    to_node = np.tile(np.arange(paths.shape[1]), len(landmarks))
    a = np.concatenate([near.row, from_landmark])
    b = np.concatenate([near.col, to_node])
    distance = np.concatenate([near.data, paths.ravel()])
    is_pair = distance > 0
    return Distances(a[is_pair], b[is_pair], distance[is_pair], paths.shape[1])


def stress(positions: np.ndarray, wanted: Distances) -> float:
    """Return the mean squared relative error of the distances, after the best scaling."""
    return _relative_error(_gaps(positions, wanted) / wanted.distance)


def least_stress(
    positions: np.ndarray, wanted: Distances, n_rounds: int = N_ROUNDS
) -> tuple[np.ndarray, float]:
    """Return positions (n_nodes, n_dims) of less stress, and that stress."""
    n_nodes = wanted.n_nodes
    if not len(wanted.a):
        return positions, stress(positions, wanted)
    weight = wanted.distance**-2
    half = sp.csr_array((weight, (wanted.a, wanted.b)), shape=(n_nodes, n_nodes))
    both = sp.csr_array(half + half.T)
    degree = both.sum(axis=1)
    solve = solver(sp.csr_array(sp.diags_array(degree * (1 + 1e-9)) - both))
    gap = _gaps(positions, wanted)
    ratio = gap / wanted.distance
    scale = ratio.sum() / max((ratio**2).sum(), 1e-300)
    positions, gap = positions * scale, gap * scale
    before = _relative_error(ratio)
    for _ in range(n_rounds):
        pull = np.divide(weight * wanted.distance, gap, out=np.zeros_like(gap), where=gap > 0)
        force = np.empty_like(positions)
        for axis, values in enumerate(positions.T):
            push = pull * (values[wanted.a] - values[wanted.b])
            force[:, axis] = np.bincount(wanted.a, push, n_nodes) - np.bincount(
                wanted.b, push, n_nodes
            )
        moved = solve(force, positions)
        gap = _gaps(moved, wanted)
        after = _relative_error(gap / wanted.distance)
        if after >= before:
            break
        positions = moved
        is_still = after > before * (1 - LEAST_GAIN)
        before = after
        if is_still:
            break
    return positions - positions.mean(axis=0), before


def ring_stress(positions: np.ndarray, period: float, wanted: Distances) -> float:
    """Return the stress of positions (n_nodes, 1) on a ring, where distances go the shorter way."""
    gap = np.abs(positions[wanted.a, 0] - positions[wanted.b, 0])
    return _relative_error(np.minimum(gap, period - gap) / wanted.distance)


def _relative_error(ratio: np.ndarray) -> float:
    square = (ratio**2).sum()
    return float(1.0 - ratio.sum() ** 2 / (len(ratio) * square)) if square > 0 else 1.0


def _gaps(positions: np.ndarray, wanted: Distances) -> np.ndarray:
    square = np.zeros(len(wanted.a))
    for values in positions.T:
        square += (values[wanted.a] - values[wanted.b]) ** 2
    return np.sqrt(square)
