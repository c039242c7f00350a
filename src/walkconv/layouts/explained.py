"""How well the nearest columns of a layout explain a column: a judge that no relation favours.

For a layout in `n_dims` axes every column is regressed on the ``4 n_dims`` columns nearest to it.
The judge is the mean of ``-log`` of the variance that is left: were the columns a Gaussian field
with these neighbourhoods, it would be the pseudo-likelihood of the table.
"""

import numpy as np

from walkconv.layouts.nearest import nearest_places

N_NEAREST = 4
"""Nearest columns for each axis."""
RIDGE = 0.02
NOISE = 10.0
"""A column counts as this much noisier for each effective row that it lacks."""


def explained(
    correlation: np.ndarray, effective: np.ndarray, positions: np.ndarray, period: np.ndarray
) -> float:
    """Return the mean of ``-log`` of the variance that the nearest columns leave; larger is better.

    Parameters
    ----------
    correlation : ndarray of shape (n_columns, n_columns)
    effective : ndarray of shape (n_columns,)
        Effective number of rows of each column.
    positions : ndarray of shape (n_columns, n_dims)
    period : ndarray of shape (n_dims,)
        Length of an axis that runs round a ring; 0 for an axis with two ends.
    """
    n_columns, n_dims = positions.shape
    n_near = min(N_NEAREST * n_dims, n_columns - 1)
    columns = np.arange(n_columns)[:, None]
    _, near = nearest_places(positions, period, n_near + 1)
    # Where columns share a position, a column may not be the first that is nearest to itself.
    is_self = near == columns
    is_self[~is_self.any(axis=1), -1] = True
    near = near[~is_self].reshape(n_columns, n_near)
    noise = RIDGE + NOISE / effective
    known = correlation[near[:, :, None], near[:, None, :]].astype(np.float64)
    known[:, np.arange(n_near), np.arange(n_near)] = 1.0 + noise[near]
    shared = correlation[near, columns].astype(np.float64)
    weight = np.linalg.solve(known, shared[:, :, None])[:, :, 0]
    left = 1.0 + noise - (weight * shared).sum(axis=1)
    return float(-np.log(left).mean())
