"""Isomap: distances along the edges from some landmarks, then classical scaling.

Landmarks bound the memory to (n_landmarks, n_nodes); where every node is one this is plain Isomap.
The landmarks are drawn with a fixed seed, since an even choice by number could lie on one line.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import dijkstra

N_EIGENVALUES = 8


@dataclass(frozen=True, eq=False)
class LandmarkScaling:
    """Classical scaling of landmarks.

    Attributes
    ----------
    landmarks : ndarray of shape (n_landmarks,), int64
    squares : ndarray of shape (n_landmarks, n_nodes)
        Squared distances from each landmark to each node.
    mean : ndarray of shape (n_landmarks,)
        Mean squared distance of each landmark to all landmarks.
    eigenvalues : ndarray of shape (n_eigenvalues,)
        Largest first.
    eigenvectors : ndarray of shape (n_landmarks, n_eigenvalues)
    spread : float
        Sum of the positive eigenvalues.
    """

    landmarks: np.ndarray
    squares: np.ndarray
    mean: np.ndarray
    eigenvalues: np.ndarray
    eigenvectors: np.ndarray
    spread: float

    def positions(self, n_dims: int) -> np.ndarray:
        """Return the place (n_nodes, n_dims) of every node; 0 along axes that do not exist."""
        n_found = int((self.eigenvalues[:n_dims] > self.spread * 1e-12).sum())
        axes = self.eigenvectors[:, :n_found] / np.sqrt(self.eigenvalues[:n_found])
        places = np.zeros((self.squares.shape[1], n_dims))
        places[:, :n_found] = 0.5 * (axes.T @ (self.mean[:, None] - self.squares)).T
        return places - places.mean(axis=0)


def scale_distances(likeness: sp.csr_array, n_landmarks: int) -> LandmarkScaling:
    """Scale the distances along the edges of a connected graph.

    Parameters
    ----------
    likeness : csr_array of shape (n_nodes, n_nodes)
        Symmetric, in (0, 1); an edge of likeness r is ``sqrt(-log r)`` long.
    n_landmarks : int
        All nodes where there are fewer.
    """
    # dijkstra before scipy 1.17 takes indices of 32 bits alone; no layout has more edges.
    places = likeness.indices.astype(np.int32), likeness.indptr.astype(np.int32)
    length = sp.csr_array((np.sqrt(-np.log(likeness.data)), *places), shape=likeness.shape)
    n_nodes = length.shape[0]
    landmarks = np.arange(n_nodes)
    if n_nodes > n_landmarks:
        landmarks = np.sort(np.random.default_rng(0).permutation(n_nodes)[:n_landmarks])
    # The matrix holds both directions of every edge, so the directed search is the same and faster.
    squares = dijkstra(length, directed=True, indices=landmarks) ** 2
    between = squares[:, landmarks]
    mean = between.mean(axis=0)
    gram = 0.5 * (mean + mean[:, None] - between - mean.mean())
    values, vectors = np.linalg.eigh((gram + gram.T) / 2)
    first = np.argsort(-values, kind="stable")[:N_EIGENVALUES]
    spread = float(values[values > 0].sum())
    return LandmarkScaling(landmarks, squares, mean, values[first], vectors[:, first], spread)
