"""Positions are rounded to pixels, each to its own, so that they move as little as they can.

The cost is the squared distance from a position to the centre of its pixel. Each node may take one
of the nearest pixels, or one that halving the image again and again finds for it. The assignment is
optimal among these. Where positions are piled up, so that most must move far, the halving decides.
"""

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import min_weight_full_bipartite_matching
from scipy.spatial import cKDTree

N_NEAR = 12
"""Nearest pixels that a node may take."""
FAR = 2.0
"""Mean distance to pixels from which positions are no lattice, and optimal pixels take too long."""
FRACTION = 1024
"""Costs are rounded to this part of a squared step."""
MOST_TURNS = 64
"""Scalings tried: sides are whole numbers, so one may not be enough."""
MOST_PIXELS = 4
"""Pixels for each node at most: positions that are spread wider are drawn together."""


def own_pixels(positions: np.ndarray, period: np.ndarray) -> tuple[np.ndarray, tuple[int, ...]]:
    """Return a pixel of its own for every node, and the shape of the image.

    Parameters
    ----------
    positions : ndarray of shape (n_nodes, n_dims)
        In steps of the lattice.
    period : ndarray of shape (n_dims,)
        Length of an axis that runs round a ring; 0 for an axis with two ends.

    Returns
    -------
    pixel : ndarray of shape (n_nodes, n_dims), int64
    shape : tuple of int

    Examples
    --------
    >>> import numpy as np
    >>> from walkconv.images.pixels import own_pixels
    >>> pixel, shape = own_pixels(np.array([[0.1], [0.9], [1.1], [3.0]]), np.zeros(1))
    >>> pixel.ravel().tolist(), shape
    ([0, 1, 2, 3], (4,))
    """
    places = np.where(period > 0, np.mod(positions, np.where(period > 0, period, 1.0)), positions)
    places, shape = _in_image(places)
    pixel = np.stack(np.unravel_index(_assigned(places, shape), shape), axis=1)
    return pixel, shape


def _in_image(places: np.ndarray) -> tuple[np.ndarray, tuple[int, ...]]:
    """Return the places in the frame of an image, and a shape with enough pixels, not too many."""
    n_nodes, n_dims = places.shape
    places = places - _phase(places)
    for _ in range(MOST_TURNS):
        shape = _shape(places)
        if n_dims > 1 and 1 in shape:  # no scale makes an image of a line
            break
        n_pixels = float(np.prod(np.array(shape, dtype=float)))
        if n_pixels < n_nodes:
            factor = 1.01 * (n_nodes / n_pixels) ** (1 / n_dims)
        elif n_pixels > max(MOST_PIXELS * n_nodes, 2**n_dims):
            factor = 0.99 * (MOST_PIXELS * n_nodes / n_pixels) ** (1 / n_dims)
        else:
            return places - np.rint(places.min(axis=0)), shape
        places = places * factor
    side = int(np.ceil(n_nodes ** (1 / n_dims)))
    span = np.maximum(np.ptp(places, axis=0), 1e-12)
    return (places - places.min(axis=0)) / span * (side - 1), (side,) * n_dims


def _shape(places: np.ndarray) -> tuple[int, ...]:
    lengths = np.rint(places.max(axis=0)) - np.rint(places.min(axis=0)) + 1
    return tuple(int(length) for length in lengths)


def _phase(places: np.ndarray) -> np.ndarray:
    """Return the shift (n_dims,) after which the places lie nearest to whole numbers."""
    return np.angle(np.exp(2j * np.pi * places).mean(axis=0)) / (2 * np.pi)


def _assigned(places: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Return the number of the pixel (n_nodes,) of each node, by the least sum of squares."""
    n_nodes, n_pixels = len(places), int(np.prod(shape))
    pixels = np.stack(np.unravel_index(np.arange(n_pixels), shape), axis=1)
    halved = _halved(places, shape)
    if np.linalg.norm(pixels[halved] - places, axis=1).mean() > FAR:
        return halved
    n_near = min(N_NEAR, n_pixels)
    _, near = cKDTree(pixels).query(places, k=np.arange(1, n_near + 1))
    # With the pixel from the halving every node can have one, so the assignment exists.
    offered = np.column_stack([near, halved])
    distance = ((pixels[offered] - places[:, None]) ** 2).sum(axis=2)
    node = np.repeat(np.arange(n_nodes), n_near + 1)
    pair, first = np.unique(node * n_pixels + offered.ravel(), return_index=True)
    # A cost of 0 would count as an entry that is missing. In fractions of 2 sums are exact: where
    # they are rounded, scipy may turn for ever between tied assignments.
    rounded = 1.0 + np.rint(distance.ravel()[first] * FRACTION) / FRACTION
    entries = rounded, (pair // n_pixels, pair % n_pixels)
    cost = sp.csr_array(entries, shape=(n_nodes, n_pixels))
    assigned, pixel = min_weight_full_bipartite_matching(cost)
    return pixel[np.argsort(assigned)]


def _halved(places: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Return a pixel (n_nodes,) for each node by halving the image again and again.

    The nodes go to the half they lie in, except those nearest to the border that its pixels are not
    enough for.
    """
    found = np.empty(len(places), dtype=np.int64)
    waiting = [(np.arange(len(places)), np.zeros(len(shape), dtype=int), np.array(shape))]
    while waiting:
        nodes, low, high = waiting.pop()
        side = high - low
        if side.max() == 1:
            found[nodes] = np.ravel_multi_index(tuple(low), shape)
            continue
        axis = int(side.argmax())
        border = low[axis] + side[axis] // 2
        along = places[nodes, axis]
        below = side.prod() // side[axis] * (border - low[axis])
        n_below = np.clip((along < border - 0.5).sum(), len(nodes) - (side.prod() - below), below)
        order = nodes[np.argsort(along, kind="stable")]
        middle_high, middle_low = high.copy(), low.copy()
        middle_high[axis] = middle_low[axis] = border
        halves = (order[:n_below], low, middle_high), (order[n_below:], middle_low, high)
        waiting += [half for half in halves if len(half[0])]
    return found
