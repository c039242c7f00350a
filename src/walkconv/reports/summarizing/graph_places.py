"""Places for the nodes of a small graph, for a drawing of it."""

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components, shortest_path

N_ROUNDS = 150
MOST_NODES = 300
"""Nodes of a graph that is drawn; of a larger one only its size is told."""
GAP = 1.5


def place_nodes(length: sp.csr_array) -> np.ndarray:
    """Return places (n_nodes, 2) at which the distances are those along the edges, if they can be.

    Stress is minimised by majorisation from classical scaling. The longer axis lies across, and
    components stand in rows, the largest first.

    Parameters
    ----------
    length : csr_array of shape (n_nodes, n_nodes)
        The length of each edge, symmetric.

    Examples
    --------
    >>> import numpy as np
    >>> from walkconv import graph_from_edges
    >>> from walkconv.reports.summarizing.graph_places import place_nodes
    >>> path = graph_from_edges([[0, 1, 2], [1, 2, 3]])
    >>> places = place_nodes(path)
    >>> np.linalg.norm(np.diff(places, axis=0), axis=1).round(2).tolist()
    [1.0, 1.0, 1.0]
    """
    n_parts, part = connected_components(length, directed=False)
    parts = [np.flatnonzero(part == number) for number in range(n_parts)]
    parts.sort(key=len, reverse=True)
    placed = [_place_connected(sp.csr_array(length[nodes][:, nodes])) for nodes in parts]
    sizes = np.array([np.ptp(each, axis=0) + GAP for each in placed])
    width = max(float(sizes[:, 0].max()), float(np.sqrt(1.6 * sizes.prod(axis=1).sum())))
    places = np.zeros((length.shape[0], 2))
    left, top, height = 0.0, 0.0, 0.0
    for nodes, found, size in zip(parts, placed, sizes, strict=True):
        if left and left + size[0] > width:
            left, top, height = 0.0, top - height, 0.0
        corner = np.array([found[:, 0].min(), found[:, 1].max()])
        places[nodes] = found - corner + [left, top]
        left, height = left + size[0], max(height, size[1])
    return places


def _place_connected(length: sp.csr_array) -> np.ndarray:
    n_nodes = length.shape[0]
    if n_nodes == 1:
        return np.zeros((1, 2))
    distance = shortest_path(length, directed=False)
    places = _classical(distance)
    weight = 1.0 / (distance + np.eye(n_nodes)) ** 2
    np.fill_diagonal(weight, 0.0)
    laplacian = np.diag(weight.sum(axis=1)) - weight
    inverse = np.linalg.pinv(laplacian)
    for _ in range(N_ROUNDS):
        gap = np.linalg.norm(places[:, None] - places[None], axis=2)
        ratio = np.divide(weight * distance, gap, out=np.zeros_like(gap), where=gap > 1e-9)
        moved = inverse @ ((np.diag(ratio.sum(axis=1)) - ratio) @ places)
        if np.abs(moved - places).max() < 1e-4:
            break
        places = moved
    centred = places - places.mean(axis=0)
    _, _, axes = np.linalg.svd(centred, full_matrices=False)
    return centred @ axes.T


def _classical(distance: np.ndarray) -> np.ndarray:
    square = distance**2
    mean = square.mean(axis=0)
    gram = 0.5 * (mean + mean[:, None] - square - mean.mean())
    values, vectors = np.linalg.eigh(gram)
    places = vectors[:, -2:] * np.sqrt(np.maximum(values[-2:], 0.0))
    # Symmetric graphs have nodes on top of each other, which no majorisation moves apart.
    return places + 0.05 * np.random.default_rng(0).normal(size=places.shape)
