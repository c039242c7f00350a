"""Columns are centred and scaled as the training rows say."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod

import numpy as np
import scipy.sparse as sp
from sklearn.utils.sparsefuncs import min_max_axis

from walkconv.tables.lazy_rows import LazyRows

BLOCK_VALUES = 2**22


@dataclass(frozen=True, eq=False)
class Scaling:
    """The mean and the standard deviation of every column.

    Attributes
    ----------
    mean, deviation : ndarray of shape (n_nodes, n_channels), float64
        Over the values present. The deviation of a constant column is 1.
    """

    mean: np.ndarray
    deviation: np.ndarray

    def scale(self, values: np.ndarray) -> np.ndarray:
        """Return scaled values (m, n_nodes, n_channels), float32; NaN stays."""
        return ((values - self.mean) / self.deviation).astype(np.float32)

    def undo(self, values: np.ndarray) -> np.ndarray:
        """Return the values (m, n_nodes, n_channels) that were scaled, float64."""
        return values * self.deviation + self.mean

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays of the scaling, for a file."""
        return {"mean": self.mean, "deviation": self.deviation}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> "Scaling":
        """Return the scaling that `to_arrays` wrote, or raise an error if it is not whole."""
        mean, deviation = arrays["mean"], arrays["deviation"]
        for name, array in (("mean", mean), ("deviation", deviation)):
            if array.dtype != np.float64 or array.ndim != 2 or not np.isfinite(array).all():
                raise ValueError(f"the {name} of a scaling must be finite float64 in two axes.")
        if mean.shape != deviation.shape or (deviation <= 0).any():
            raise ValueError("a scaling must have a positive deviation for every mean.")
        return cls(mean, deviation)


def learn_scaling(X: np.ndarray | sp.csr_array | LazyRows, name: str = "X") -> Scaling:
    """Return the scaling of a table (n_samples, n_nodes[, n_channels]) that may hold NaN."""
    shape = (*X.shape[1:], 1)[:2]
    mean, deviation = _sparse_moments(X, name) if sp.issparse(X) else _moments(X, name)
    deviation = np.where(deviation == 0, 1.0, deviation)
    return Scaling(mean.reshape(shape), deviation.reshape(shape))


def no_scaling(X: np.ndarray | sp.csr_array | LazyRows) -> Scaling:
    """Return the scaling that leaves a table (n_samples, n_nodes[, n_channels]) as it is."""
    shape = (*X.shape[1:], 1)[:2]
    return Scaling(np.zeros(shape), np.ones(shape))


def _moments(X: np.ndarray | LazyRows, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean and the deviation of every column, 0 where it is constant.

    Of where the values lie between the lowest and the highest: nothing cancels however far from
    zero a column is, and no square overflows.
    """
    bounds = [
        (np.fmin.reduce(block), np.fmax.reduce(block), (~np.isnan(block)).sum(axis=0))
        for block in row_blocks(X)
    ]
    lowest, highest, present = zip(*bounds, strict=True)
    lowest, highest, n_present = np.fmin.reduce(lowest), np.fmax.reduce(highest), sum(present)
    span = _span(lowest, highest, name)
    unit = np.where(span == 0, 1.0, span)
    mean = sum(np.nansum((block - lowest) / unit, axis=0) for block in row_blocks(X)) / n_present
    squares = sum(
        np.nansum(((block - lowest) / unit - mean) ** 2, axis=0) for block in row_blocks(X)
    )
    return lowest + span * mean, span * np.sqrt(squares / n_present)


def _sparse_moments(X: sp.csr_array, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return what `_moments` does of a sparse table, in which most entries are zeros."""
    n_rows, n_columns = X.shape
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()

    def of_columns(values: np.ndarray) -> np.ndarray:
        return np.bincount(X.indices, values, minlength=n_columns)

    lowest, highest = min_max_axis(X, axis=0, ignore_nan=True)
    span = _span(lowest, highest, name)
    unit = np.where(span == 0, 1.0, span)
    is_known = ~np.isnan(X.data)
    n_zeros = n_rows - of_columns(np.ones(X.nnz))  # those that are not stored
    n_present = n_zeros + of_columns(is_known)
    stored, zero = (X.data - lowest[X.indices]) / unit[X.indices], -lowest / unit
    mean = (of_columns(np.where(is_known, stored, 0)) + n_zeros * zero) / n_present
    squares = np.where(is_known, (stored - mean[X.indices]) ** 2, 0)
    variance = (of_columns(squares) + n_zeros * (zero - mean) ** 2) / n_present
    return lowest + span * mean, span * np.sqrt(variance)


def _span(lowest: np.ndarray, highest: np.ndarray, name: str) -> np.ndarray:
    """Return how far apart the values of each column are; refuse what a float cannot hold."""
    with np.errstate(over="ignore"):
        span = highest - lowest
    if np.isinf(span).any():
        first = np.isinf(span).ravel().argmax()
        raise ValueError(
            f"{name} must have a spread that a float can hold; it goes from "
            f"{lowest.ravel()[first]:g} to {highest.ravel()[first]:g}. Divide it by a constant."
        )
    return span


def row_blocks(X: np.ndarray | sp.csr_array | LazyRows) -> Iterator[np.ndarray]:
    """Yield some rows at a time as dense float64, so that no such copy of a large table is made."""
    rows_at_once = max(1, BLOCK_VALUES // max(1, prod(X.shape[1:])))
    for start in range(0, X.shape[0], rows_at_once):
        block = X[start : start + rows_at_once]
        dense = block if isinstance(block, np.ndarray) else block.toarray()
        yield dense.astype(np.float64, copy=False)


def softly_clipped(scaled: np.ndarray, limit: float | None) -> np.ndarray:
    """Return ``z / sqrt(1 + (z / limit)^2)`` of scaled values; None does not clip."""
    if limit is None:
        return scaled
    # At a million times the limit it is reached, and squares do not overflow yet.
    scaled = np.clip(scaled, -1e6 * limit, 1e6 * limit)
    return scaled / np.sqrt(1 + np.square(scaled / limit))
