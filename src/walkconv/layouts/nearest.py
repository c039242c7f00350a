"""Which nodes stand nearest to each other."""

import numpy as np
from scipy.spatial import cKDTree


def nearest_places(
    positions: np.ndarray, period: np.ndarray, n_nearest: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the nearest nodes of each node, itself among them, and how far they are.

    Parameters
    ----------
    positions : ndarray of shape (n_nodes, n_dims)
    period : ndarray of shape (n_dims,)
        Length of an axis that runs round a ring; 0 for an axis with two ends.
    n_nearest : int
        At most n_nodes.

    Returns
    -------
    distance, index : ndarray of shape (n_nodes, n_nearest)
        Nearest first.

    Examples
    --------
    >>> import numpy as np
    >>> from walkconv.layouts.nearest import nearest_places
    >>> places = np.array([[0.0], [1.0], [4.0], [9.0]])
    >>> nearest_places(places, np.array([10.0]), 2)[1][:, 1]  # the last stands beside the first
    array([1, 0, 1, 0])
    """
    around = np.where(period > 0, np.mod(positions, np.where(period > 0, period, 1.0)), positions)
    around = np.where((period > 0) & (around >= period), 0.0, around)
    distance, index = cKDTree(around, boxsize=period).query(around, k=np.arange(1, n_nearest + 1))
    return distance, index
