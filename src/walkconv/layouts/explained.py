"""How well the nearest columns of a layout explain a column: a judge that no relation favours.

For a layout in `n_dims` axes every column is regressed on the ``4 n_dims`` columns nearest to it.
The judge is the mean of ``-log`` of the variance that is left: were the columns a Gaussian field
with these neighbourhoods, it would be the pseudo-likelihood of the table.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from walkconv.layouts.nearest import nearest_places

N_NEAREST = 4
"""Nearest columns for each axis."""
RIDGE = 0.02
NOISE = 10.0
"""A column counts as this much noisier for each effective row that it lacks."""
FAINT = 1e-6
ROWS_AT_ONCE = 1024


@dataclass(frozen=True, eq=False)
class Judge:
    """What is known of the columns of a table.

    Attributes
    ----------
    correlation : ndarray of shape (n_columns, n_columns)
        Its diagonal is not used.
    effective : ndarray of shape (n_columns,)
        Effective number of rows of each column.
    """

    correlation: np.ndarray
    effective: np.ndarray

    def explained(self, positions: np.ndarray, period: np.ndarray) -> float:
        """Return the mean of ``-log`` of the variance that the nearest columns leave.

        Larger is better.

        Parameters
        ----------
        positions : ndarray of shape (n_columns, n_dims)
        period : ndarray of shape (n_dims,)
            Length of an axis that runs round a ring; 0 for an axis with two ends.
        """
        n_columns, n_dims = positions.shape
        n_near = self._n_near(n_dims)
        _, near = nearest_places(positions, period, n_near + 1)
        # Where columns share a position, a column may not be the first that is nearest to itself.
        is_self = near == np.arange(n_columns)[:, None]
        is_self[~is_self.any(axis=1), -1] = True
        return self._explained_by(near[~is_self].reshape(n_columns, n_near))

    def share(self, positions: np.ndarray, period: np.ndarray, relation: sp.csr_array) -> float:
        """Return what the nearest columns explain, divided by what the most related explain.

        The most related columns of each column are as many, by the relation or by the correlation,
        whichever explain more. In a layout that is right the nearest columns do as well. A layout
        with too few axes, or of columns that no layout fits, has room for some of them only.
        """
        n_near = self._n_near(positions.shape[1])
        nothing = float(-np.log(1.0 + self._noise).mean())
        most = max(
            self._explained_by(self._most_related(n_near, weight)) for weight in (relation, None)
        )
        return (self.explained(positions, period) - nothing) / max(most - nothing, FAINT)

    @property
    def _noise(self) -> np.ndarray:
        return RIDGE + NOISE / self.effective

    def _n_near(self, n_dims: int) -> int:
        return min(N_NEAREST * n_dims, len(self.correlation) - 1)

    def _most_related(self, n_near: int, weight: sp.csr_array | None) -> np.ndarray:
        """Return the columns (n_columns, n_near) of the largest weights, or correlations."""
        found = []
        for start in range(0, len(self.correlation), ROWS_AT_ONCE):
            rows = np.abs(self.correlation[start : start + ROWS_AT_ONCE])
            rows[np.arange(len(rows)), np.arange(start, start + len(rows))] = -1.0
            if weight is not None:  # correlations decide only where there are too few weights
                rows = FAINT * rows + weight[start : start + ROWS_AT_ONCE].toarray()
            found.append(np.argpartition(-rows, n_near - 1, axis=1)[:, :n_near])
        return np.concatenate(found)

    def _explained_by(self, near: np.ndarray) -> float:
        """Return the mean of ``-log`` of the variance that the columns `near` leave."""
        n_columns, n_near = near.shape
        noise = self._noise
        known = self.correlation[near[:, :, None], near[:, None, :]].astype(np.float64)
        known[:, np.arange(n_near), np.arange(n_near)] = 1.0 + noise[near]
        shared = self.correlation[near, np.arange(n_columns)[:, None]].astype(np.float64)
        weight = np.linalg.solve(known, shared[:, :, None])[:, :, 0]
        left = 1.0 + noise - (weight * shared).sum(axis=1)
        return float(-np.log(left).mean())
