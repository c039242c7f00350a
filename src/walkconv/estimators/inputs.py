"""Rows as they come from the user: tables of any form, weights, validation rows."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import _check_sample_weight, validate_data

from walkconv._checks import as_real
from walkconv.estimators.table_door import as_table


@dataclass(frozen=True, eq=False)
class Rows:
    """Samples with their targets and weights.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_nodes) or (n_samples, n_nodes, n_channels), or CSR
        Or an array (n_samples,) of `GraphSample`.
    y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
    weight : ndarray of shape (n_samples,), float64
    """

    X: Any
    y: np.ndarray
    weight: np.ndarray

    def take(self, rows: np.ndarray) -> "Rows":
        """Return some of the rows."""
        return Rows(self.X[rows], self.y[rows], self.weight[rows])


TABLE = {
    "accept_sparse": "csr",
    "dtype": "numeric",
    "ensure_all_finite": "allow-nan",
    "allow_nd": True,
}


def read_rows(
    model: Any, X: Any, y: Any, sample_weight: Any, *, is_first: bool, **target: bool
) -> Rows:
    """Return checked rows; those of weight 0 are gone.

    `is_first` says whether the columns are learned from X or must be those of an earlier fit.
    """
    X = as_table(X)
    if not is_first:
        X = in_fitted_order(model, X)
    X, y = validate_data(
        model, X, y, reset=is_first, ensure_min_samples=2 if is_first else 1, **TABLE, **target
    )
    X = _as_real_table(X)
    if sample_weight is None:
        return Rows(X, y, np.ones(X.shape[0]))
    weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    return drop_weightless(Rows(X, y, weight))


def drop_weightless(rows: Rows) -> Rows:
    """Return the rows without those of weight 0."""
    is_kept = rows.weight > 0
    if is_kept.sum() < 2:
        raise ValueError(
            f"At least two rows must have a positive sample_weight; got {is_kept.sum()}."
        )
    return rows if is_kept.all() else rows.take(np.flatnonzero(is_kept))


def read_table(model: Any, X: Any) -> Any:
    """Return a checked table whose columns are those seen in fit, in that order."""
    X = in_fitted_order(model, as_table(X))
    return _as_real_table(validate_data(model, X, reset=False, **TABLE))


def in_fitted_order(model: Any, X: Any) -> Any:
    """Return a DataFrame with its columns in the order of fit where it has the same names."""
    names = getattr(model, "feature_names_in_", None)
    columns = getattr(X, "columns", None)
    if names is None or columns is None:
        return X
    order = list(columns)
    is_reordered = order != list(names) and len(order) == len(names) and set(order) == set(names)
    return X[list(names)] if is_reordered else X


def refuse_empty_columns(model: Any, X: Any) -> None:
    """Refuse a column that is missing in every row: nothing can be learned from it."""
    if sp.issparse(X):
        n_present = X.shape[0] - np.bincount(X.indices[np.isnan(X.data)], minlength=X.shape[1])
        is_empty = n_present == 0
    elif X.dtype.kind == "f":
        is_empty = _is_missing_in_every_row(X)
    else:
        return
    if is_empty.any():
        column = int(np.flatnonzero(is_empty)[0])
        names = getattr(model, "feature_names_in_", None)
        name = f"column {column}" if names is None else f"column {names[column]!r}"
        raise ValueError(
            f"Every column must have a value in some training row; {name} is missing in all "
            f"({is_empty.sum()} such). Drop it."
        )


def _is_missing_in_every_row(X: np.ndarray) -> np.ndarray:
    is_empty: np.ndarray = np.ones(X.shape[1:], dtype=bool)
    for row in X:
        is_empty &= np.isnan(row)
        if not is_empty.any():
            break
    return np.asarray(is_empty.reshape(len(is_empty), -1).any(axis=1))


def _as_real_table(X: Any) -> Any:
    """Return a table of real numbers; a DataFrame of several types may come as objects."""
    if X.ndim > 3:
        raise ValueError(
            f"X must have shape (n_samples, n_nodes) or (n_samples, n_nodes, n_channels); "
            f"got {X.shape}."
        )
    return X if sp.issparse(X) else as_real(X, "X")
