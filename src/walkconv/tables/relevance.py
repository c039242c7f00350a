"""Columns weighted by what they tell of y, counts by their logarithm.

A fully connected layer treats all inputs alike before it has learned. Among thousands of columns
those that correlate with y should speak louder from the start.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from walkconv.tables.lazy_rows import LazyRows
from walkconv.tables.scaling import Scaling, learn_scaling, row_blocks, softly_clipped

LEAST_COUNT = 2
"""Largest value that a column of counts must exceed: indicators stay as they are."""


@dataclass(frozen=True, eq=False)
class Relevance:
    """What the training rows say about columns and y.

    Attributes
    ----------
    is_count : ndarray of shape (n_nodes, n_channels), bool
        Columns of whole numbers from 0, replaced by the logarithm of 1 + count.
    weight : ndarray of shape (n_nodes, n_channels), float32
        Correlation with y, absolute and divided by its mean over the columns.
    """

    is_count: np.ndarray
    weight: np.ndarray

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays of the record, for a file."""
        return {"is_count": self.is_count, "weight": self.weight}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray], shape: tuple[int, ...]) -> "Relevance":
        """Return the record that `to_arrays` wrote, or raise an error if it is not whole."""
        is_count, weight = arrays["is_count"], arrays["weight"]
        if is_count.dtype != bool or weight.dtype != np.float32:
            raise TypeError("the relevance of columns must be of bool and float32.")
        if is_count.shape != shape or weight.shape != shape:
            raise ValueError(f"the relevance must have the shape of the scaling, {shape}.")
        if not np.isfinite(weight).all() or (weight < 0).any():
            raise ValueError("the relevance must be finite and not negative.")
        return cls(is_count, weight)


def logarithm_of_counts(values: np.ndarray, is_count: np.ndarray) -> np.ndarray:
    """Return values (m, n_nodes, n_channels) with log(1 + count) in the columns of counts.

    Examples
    --------
    >>> import numpy as np
    >>> from walkconv.tables.relevance import logarithm_of_counts
    >>> counts = np.array([[[0.0], [20.0]]])
    >>> logarithm_of_counts(counts, np.array([[True], [True]])).round(2).ravel()
    array([0.  , 3.04])
    """
    if not is_count.any():
        return values
    small = np.sign(values) * np.log1p(np.abs(values))  # below 0 only where training had no such
    return np.where(is_count, small, values)


def find_counts(X: np.ndarray | sp.csr_array | LazyRows) -> np.ndarray:
    """Return which columns (n_nodes, n_channels) of a table hold whole numbers from 0."""
    shape = (*X.shape[1:], 1)[:2]
    is_count, largest = np.ones(shape, dtype=bool), np.zeros(shape)
    for block in row_blocks(X):
        values = np.nan_to_num(block.reshape(len(block), *shape), nan=0.0)
        is_count &= ((values >= 0) & (values == np.rint(values))).all(axis=0)
        largest = np.maximum(largest, values.max(axis=0))
    return is_count & (largest > LEAST_COUNT)


def scale_counts(X: np.ndarray | sp.csr_array | LazyRows, is_count: np.ndarray) -> Scaling:
    """Return the scaling of a table whose counts are replaced by logarithms."""
    if not is_count.any():
        return learn_scaling(X)

    def scaled(values: np.ndarray) -> np.ndarray:
        columns = values.reshape(len(values), *is_count.shape)
        return logarithm_of_counts(columns, is_count).reshape(values.shape)

    if isinstance(X, LazyRows):
        return learn_scaling(X.changed(scaled))
    if sp.issparse(X):
        changed: sp.csr_array = X.copy().astype(np.float64)
        of_value = is_count[:, 0][changed.indices]
        changed.data[of_value] = np.log1p(changed.data[of_value])
        return learn_scaling(changed)
    return learn_scaling(scaled(X))


def learn_relevance(
    X: np.ndarray | sp.csr_array | LazyRows,
    y: np.ndarray,
    *,
    is_classification: bool,
    weight: np.ndarray,
    soft_clip: float | None,
) -> tuple[Relevance, Scaling]:
    """Return the relevance of the columns of training rows, and their scaling.

    Parameters
    ----------
    X : array of shape (n_samples, n_nodes) or (n_samples, n_nodes, n_channels), CSR or LazyRows
        NaN is a missing value and counts as the mean of its column.
    y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        Labels, or values.
    is_classification : bool
    weight : ndarray of shape (n_samples,)
        Weight of each row.
    soft_clip : float or None
        As the networks see the columns.
    """
    is_count = find_counts(X)
    scaling = scale_counts(X, is_count)
    target = _centred(y, weight, is_classification=is_classification)  # (n_samples, n_outputs)
    total = np.zeros((*is_count.shape, target.shape[1]))
    squares, start = np.zeros(is_count.shape), 0
    for block in row_blocks(X):
        values = logarithm_of_counts(block.reshape(len(block), *is_count.shape), is_count)
        scaled = np.nan_to_num(softly_clipped(scaling.scale(values), soft_clip))
        rows = slice(start, start + len(block))
        total += np.tensordot(scaled, weight[rows, None] * target[rows], axes=(0, 0))
        squares += np.tensordot(weight[rows], np.square(scaled), axes=(0, 0))
        start = rows.stop
    spread = (weight[:, None] * target**2).sum(axis=0)  # (n_outputs,)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = np.nan_to_num(total**2 / (squares[..., None] * spread), posinf=0.0)
    correlation = np.sqrt(shares @ (spread / spread.sum()) if spread.sum() else shares[..., 0])
    mean = correlation.mean()
    relative = correlation / mean if mean > 0 else np.ones_like(correlation)
    return Relevance(is_count, relative.astype(np.float32)), scaling


def _centred(y: np.ndarray, weight: np.ndarray, *, is_classification: bool) -> np.ndarray:
    """Return y without its mean (n_samples, n_outputs); a column for each class."""
    if is_classification:
        codes = np.unique(y, return_inverse=True)[1]
        values = np.eye(codes.max() + 1)[codes]
    else:
        values = learn_scaling(y.reshape(len(y), -1)).scale(y.reshape(len(y), -1, 1))[:, :, 0]
    return values - np.average(values, axis=0, weights=weight)
