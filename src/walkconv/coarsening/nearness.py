"""Positions become a graph of the nodes that lie close to each other."""

import numpy as np
import scipy.sparse as sp

from walkconv.layouts.nearest import nearest_places

FAINT = 1e-6
"""Closeness from which on it falls like one over the distance."""


def near_graph(positions: np.ndarray, period: np.ndarray) -> sp.csr_array:
    """Return how close each node is to those that stand around it.

    On a lattice these are the ``3^n_dims - 1`` that touch its cell. Closeness falls with the
    distance like a Gaussian as wide as the usual distance to the nearest nodes, two for each axis;
    far out it falls more slowly, so that nodes few and far between are near to each other too.

    Parameters
    ----------
    positions : ndarray of shape (n_nodes, n_dims)
        Where the nodes are.
    period : ndarray of shape (n_dims,)
        Length of an axis that runs round a ring; 0 for an axis with two ends.

    Returns
    -------
    csr_array of shape (n_nodes, n_nodes), float64
        Symmetric, nothing on the diagonal.

    Examples
    --------
    >>> import numpy as np
    >>> from walkconv.coarsening.nearness import near_graph
    >>> near_graph(np.array([[0.0], [1.0], [2.0], [7.0]]), np.zeros(1)).toarray().round(2)
    array([[0.  , 0.8 , 0.41, 0.  ],
           [0.8 , 0.  , 0.8 , 0.  ],
           [0.41, 0.8 , 0.  , 0.  ],
           [0.  , 0.  , 0.  , 0.  ]])
    """
    n_nodes, n_dims = positions.shape
    distance, index = nearest_places(positions, period, min(3**n_dims, n_nodes))
    usual = distance[:, 1 : 2 * n_dims + 1]
    width = (np.median(usual) if usual.size else 0.0) or 1.0
    source = np.repeat(np.arange(n_nodes), index.shape[1])
    gap = distance.ravel() / width
    closeness = np.maximum(np.exp(-(gap**2) / 2), FAINT / np.maximum(gap, 1.0))
    is_other = index.ravel() != source
    pairs = source[is_other], index.ravel()[is_other]
    one_way = sp.csr_array((closeness[is_other], pairs), shape=(n_nodes, n_nodes))
    return sp.csr_array(one_way.maximum(one_way.T))
