"""Partial correlations of columns: how two columns relate when all others are known.

Correlations of a picture fall slowly with the distance, and symmetric pictures correlate a pixel
with its mirror image. A partial correlation is strong between neighbours only. The ridge makes
the inverse stable. It is larger for a rare column, one with a few values far from its mean, whose
correlations are mostly noise.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import get_lapack_funcs

from walkconv.graphs import correlation_graph

ROWS_AT_ONCE = 4096
LEAST_SHARED = 1e-12
N_KEPT = 32
"""Strongest partial correlations of a column that are kept."""
N_NEAR = 48
"""Strongest correlates of a column that a wide table conditions on."""


@dataclass(frozen=True)
class Ridge:
    """What is added to the diagonal of a matrix of correlations before it is inverted.

    Attributes
    ----------
    base : float
    noise : float
        More for a column with few effective rows: this, divided by their number.
    """

    base: float
    noise: float


def column_moments(X: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return mean, standard deviation and effective number of rows of each column.

    The effective number is the number of rows divided by the kurtosis. It is near the number of
    rows for a normal column, and near the number of ones for a rare binary column.
    """
    n_rows, n_columns = X.shape
    factor = exact_factor(X)
    total, present = np.zeros(n_columns), np.zeros(n_columns)
    for rows in _blocks(X):
        present += (~np.isnan(rows)).sum(axis=0)
        total += np.nansum(rows * factor, axis=0)
    mean = total / np.maximum(present, 1)
    squares, fourths = np.zeros(n_columns), np.zeros(n_columns)
    for rows in _blocks(X):
        square = np.nan_to_num(rows * factor - mean) ** 2
        squares += square.sum(axis=0)
        fourths += (square**2).sum(axis=0)
    effective = np.divide(squares**2, fourths, out=np.zeros(n_columns), where=fourths > 0)
    return mean / factor, np.sqrt(squares / n_rows) / factor, effective


def exact_factor(X: Any) -> np.ndarray:
    """Return a power of two for each column: it rounds nothing, and no fourth power overflows."""
    largest = np.zeros(X.shape[1])
    for rows in _blocks(X):
        largest = np.fmax(largest, np.fmax.reduce(np.abs(rows), axis=0, initial=0.0))
    exponent = np.frexp(largest)[1]
    return np.ldexp(1.0, -np.clip(exponent, -1000, 1000))


def correlation_matrix(X: Any, mean: np.ndarray, deviation: np.ndarray) -> np.ndarray:
    """Return the correlations (n_columns, n_columns) between the columns; none is constant."""
    n_columns = len(mean)
    total = np.zeros((n_columns, n_columns), dtype=np.float32 if n_columns > 2000 else np.float64)
    for rows in _blocks(X):
        scaled = np.nan_to_num((rows - mean) / deviation).astype(total.dtype)
        total += scaled.T @ scaled
    total /= X.shape[0]
    return total


def column_relations(
    correlation: np.ndarray, effective: np.ndarray, ridges: Sequence[Ridge]
) -> Iterator[np.ndarray]:
    """Yield for each ridge the partial correlations and the cosines (n_columns, n_columns).

    With R the correlations and D the ridge, both come from ``P = (R + D)^-1``. A partial
    correlation is ``-P_ij / sqrt(P_ii P_jj)``. A cosine divides the same entry by what a column
    shares with the others instead of what it has alone: ``M_ij / sqrt(M_ii M_jj)`` with ``M = I -
    D^(1/2) P D^(1/2)``. Under a large ridge it is the correlation, under a small one all directions
    in which columns vary count alike.

    Parameters
    ----------
    correlation : ndarray of shape (n_columns, n_columns)
    effective : ndarray of shape (n_columns,)
        Effective number of rows of each column.
    ridges : sequence of Ridge
    """
    diagonal = np.arange(len(correlation))
    for ridge in ridges:
        added = (ridge.base + ridge.noise / effective).astype(correlation.dtype)
        inverse = correlation.copy()
        inverse[diagonal, diagonal] += added
        inverse = _inverse(inverse)
        alone = inverse[diagonal, diagonal]
        root = np.sqrt(added)
        shared = np.sqrt(np.maximum(1.0 - added * alone, LEAST_SHARED))
        inverse[diagonal, diagonal] = 0.0
        inverse *= -1.0
        alone = 1.0 / np.sqrt(alone)
        yield inverse * alone[:, None] * alone
        scale = root / shared
        inverse *= scale[:, None]
        inverse *= scale
        yield inverse


def strongest_relations(relation: np.ndarray) -> sp.csr_array:
    """Return the strongest positive entries of each column, symmetric."""
    n_columns = len(relation)
    n_kept = min(N_KEPT, n_columns - 1)
    strongest = np.argpartition(-relation, n_kept - 1, axis=1)[:, :n_kept]
    value = np.take_along_axis(relation, strongest, axis=1).astype(np.float64).ravel()
    row = np.repeat(np.arange(n_columns), n_kept)
    is_kept = value > 0
    ends = row[is_kept], strongest.ravel()[is_kept]
    half = sp.csr_array((value[is_kept], ends), shape=relation.shape)
    return sp.csr_array(half.maximum(half.T))


def _inverse(matrix: np.ndarray) -> np.ndarray:
    """Return the inverse of a symmetric and positive definite matrix, in its place."""
    factorise, invert = get_lapack_funcs(("potrf", "potri"), (matrix,))
    factor, status = factorise(matrix.T, lower=True, overwrite_a=True)
    assert status == 0, "a matrix of correlations with a ridge must be positive definite"
    inverse = invert(factor, lower=True, overwrite_c=True)[0].T
    for start in range(0, len(inverse), ROWS_AT_ONCE):  # LAPACK wrote one triangle
        stop = start + ROWS_AT_ONCE
        block = inverse[start:stop, start:stop]
        block[:] = np.triu(block) + np.triu(block, 1).T
        inverse[stop:, start:stop] = inverse[start:stop, stop:].T
    return inverse


def nearby_partial_correlations(
    X: Any,
    mean: np.ndarray,
    deviation: np.ndarray,
    effective: np.ndarray,
    ridge: Ridge,
    n_near: int = N_NEAR,
) -> sp.csr_array:
    """Return partial correlations given the columns that correlate most, for wide tables.

    For each column only the matrix of its `n_near` strongest correlates is inverted, so memory
    grows with the number of columns and not with its square. Where the correlates are all columns
    the answer is that of `partial_correlations`.

    Parameters
    ----------
    X : ndarray or csc_array of shape (n_samples, n_columns)
    mean, deviation, effective : ndarray of shape (n_columns,)
        From `column_moments`.
    ridge : Ridge
    n_near : int

    Returns
    -------
    csr_array of shape (n_columns, n_columns)
        Symmetric.
    """
    n_rows, n_columns = X.shape
    n_near = min(n_near, n_columns - 1)
    strongest = correlation_graph(X, n_edges=n_near)
    value = np.zeros((n_columns, n_near))
    column = np.zeros((n_columns, n_near), dtype=np.int64)
    for here in range(n_columns):
        found = strongest.indices[strongest.indptr[here] : strongest.indptr[here + 1]]
        near = np.concatenate([[here], found[found != here]])
        rows = X[:, near]
        rows = rows.toarray() if sp.issparse(rows) else np.asarray(rows, np.float64)
        scaled = np.nan_to_num((rows - mean[near]) / deviation[near])
        matrix = scaled.T @ scaled / n_rows + np.diag(ridge.base + ridge.noise / effective[near])
        inverse = np.linalg.inv(matrix)
        partial = -inverse[0, 1:] / np.sqrt(inverse[0, 0] * np.diag(inverse)[1:])
        value[here, : len(partial)] = partial
        column[here, : len(partial)] = near[1:]
    row, place = np.nonzero(value > 0)
    ends = row, column[row, place]
    half = sp.csr_array((value[row, place], ends), shape=(n_columns, n_columns))
    return sp.csr_array(half.maximum(half.T))


def _blocks(X: Any):
    for start in range(0, X.shape[0], ROWS_AT_ONCE):
        rows = X[start : start + ROWS_AT_ONCE]
        yield (rows.toarray() if sp.issparse(rows) else np.asarray(rows)).astype(np.float64)
