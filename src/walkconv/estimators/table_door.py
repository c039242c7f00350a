"""What a table must be, looked at before scikit-learn does: it would name a value, or nothing."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from walkconv._checks import as_real, listed


def as_table(X: Any) -> Any:
    """Return X, masked values missing; by name refuse the columns that hold no numbers."""
    if isinstance(X, np.ma.MaskedArray):
        X = np.ma.filled(X.astype(np.result_type(X.dtype, np.float32)), np.nan)
    if hasattr(X, "collect_schema") and not hasattr(X, "shape"):
        raise TypeError("X must be a table in memory; got a LazyFrame. Call X.collect() first.")
    if isinstance(X, list | tuple) and not X:
        raise ValueError("X must hold at least one sample; got none.")
    is_array = hasattr(X, "__array__") and len(getattr(X, "shape", ())) == 1
    is_row = is_array or isinstance(X, list | tuple)
    first = next(iter(X), None) if is_row else None
    if isinstance(first, str):
        raise TypeError(
            f"X must be a table or a list of graphs; got text, {str(first)!r} first. Molecules in "
            "SMILES notation become graphs by graphs_from_smiles."
        )
    other = list(_columns_without_numbers(X))
    if other:
        raise TypeError(
            f"The columns of X must hold numbers; these hold something else: {listed(other)}. "
            "Drop or encode them."
        )
    return X


def _columns_without_numbers(X: Any) -> Iterable[Any]:
    """Yield the names of such columns of a DataFrame, or their numbers in an array of objects."""
    if hasattr(X, "columns") and hasattr(X, "dtypes"):
        for name, dtype in zip(X.columns, X.dtypes, strict=True):
            if getattr(dtype, "kind", "O") not in "biuf" and not _is_real(np.asarray(X[name])):
                yield name
    elif isinstance(X, np.ndarray) and X.dtype == object and X.ndim == 2:
        for place, column in enumerate(X.T):
            if any(isinstance(value, str) for value in column):
                yield place


def _is_real(values: np.ndarray) -> bool:
    try:
        as_real(values, "X")
    except TypeError:
        return False
    return True
