"""Missing values (NaN) in a table: each counts as the mean of its column."""

from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp

from walkconv._checks import listed


def with_means(table: np.ndarray | sp.csc_array, X: Any) -> np.ndarray | sp.csc_array:
    """Return the table with each NaN replaced by the mean of its column.

    Parameters
    ----------
    table : ndarray or csc_array of shape (n_samples, n_nodes)
        Finite numbers and NaN. Returned as it is if there is no NaN.
    X : array-like
        The table as the user gave it: an error takes the names of the columns from it.
    """
    n_samples, n_nodes = table.shape
    values = table if isinstance(table, np.ndarray) else table.data
    is_missing = np.isnan(values)
    if not is_missing.any():
        return table
    if isinstance(table, np.ndarray):
        columns = np.broadcast_to(np.arange(n_nodes), table.shape)
    else:
        columns = np.repeat(np.arange(n_nodes), np.diff(table.indptr))
    # Zeros that a sparse matrix does not store are values too: only NaN is not counted.
    n_present = n_samples - np.bincount(columns[is_missing], minlength=n_nodes)
    if not n_present.all():
        refuse_empty_columns(n_present == 0, X)
    # Divided before they are added, so that large values do not overflow.
    shares = np.where(is_missing, 0.0, values / n_present[columns])
    means = np.bincount(columns.ravel(), weights=shares.ravel(), minlength=n_nodes)
    filled = np.where(is_missing, means[columns], values)
    if isinstance(table, np.ndarray):
        return filled
    return sp.csc_array((filled, table.indices, table.indptr), shape=table.shape)


def refuse_empty_columns(is_empty: np.ndarray, X: Any) -> NoReturn:
    """Raise an error that names the columns without any value; `is_empty` is (n_nodes,)."""
    names = list(getattr(X, "columns", range(len(is_empty))))
    empty = [names[number] for number in np.flatnonzero(is_empty)]
    raise ValueError(
        "Every column of X must have at least one value; all values are missing (NaN) in column "
        f"{listed(empty)}. Drop it."
    )
