"""Checks at the door: what must hold, what came, what to do."""

from collections.abc import Sequence
from contextlib import suppress
from numbers import Integral, Real
from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp

SHOWN = 5
"""Names that a message lists before it counts the rest."""


def check_integer(
    value: Any, name: str, *, minimum: int, maximum: int | None = None, hint: str = ""
) -> int:
    """Return `value` as an int within [minimum, maximum]."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, Integral):
        raise TypeError(f"{name} must be an integer; got {describe(value)}.")
    value = int(value)
    if value < minimum:
        raise ValueError(f"{name} must be at least {minimum}; got {value}.")
    if maximum is not None and value > maximum:
        raise ValueError(f"{name} must be at most {maximum}; got {value}. {hint}".rstrip())
    return value


def check_number(
    value: Any, name: str, *, minimum: float, below: float = np.inf, is_open: bool = False
) -> float:
    """Return `value` as a float in [minimum, below), or in (minimum, below) where `is_open`."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number; got {describe(value)}.")
    value = float(value)
    if not (minimum < value < below or (value == minimum and not is_open)):
        lowest = f"more than {minimum:g}" if is_open else f"at least {minimum:g}"
        highest = "finite" if below == np.inf else f"less than {below:g}"
        raise ValueError(f"{name} must be {lowest} and {highest}; got {value}.")
    return value


def check_flag(value: Any, name: str) -> bool:
    """Return `value` when it is True or False."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be True or False; got {describe(value)}.")
    return bool(value)


def check_option(value: Any, name: str, options: Sequence[str]) -> str:
    """Return `value` when it is one of `options`."""
    if not isinstance(value, str) or value not in options:
        listed = ", ".join(repr(option) for option in options)
        raise ValueError(f"{name} must be one of {listed}; got {describe(value)}.")
    return value


def check_table(X: Any, name: str = "X") -> np.ndarray | sp.csc_array:
    """Return a finite numeric table (n_samples, n_nodes): an array as it came, or sparse as CSC."""
    table = X if sp.issparse(X) else as_array(X, name)
    if table.ndim != 2:
        raise ValueError(
            f"{name} must have two dimensions (n_samples, n_nodes); got shape {table.shape}."
        )
    if sp.issparse(table):
        return sp.csc_array(as_finite_csr(table, name))
    table = as_real(table, name)
    check_finite(table, name)
    return table


def check_positions(values: Any, name: str, n_nodes: int) -> np.ndarray:
    """Return the places of nodes as finite float64 (n_nodes, n_axes), at least one axis."""
    positions = as_real(as_array(values, name), name).astype(np.float64)
    if positions.ndim != 2 or len(positions) != n_nodes or positions.shape[1] == 0:
        raise ValueError(
            f"{name} must have shape (n_nodes, n_axes) with n_nodes = {n_nodes}; "
            f"got shape {positions.shape}."
        )
    check_finite(positions, name)
    return positions


def as_array(values: Any, name: str) -> np.ndarray:
    """Return anything array-like as an array, without a copy where there need be none."""
    refuse_masked(values, name)
    if hasattr(values, "detach"):  # a tensor that records gradients
        values = values.detach()
    try:
        return np.asarray(values)
    except (TypeError, ValueError, RuntimeError, OverflowError) as error:
        raise TypeError(
            f"{name} must be an array of numbers; got {describe(values)}: {error}."
        ) from None


def refuse_masked(values: Any, name: str) -> None:
    """Refuse an array of which some values are not to be seen: numpy would show them."""
    if isinstance(values, np.ma.MaskedArray):
        raise TypeError(f"{name} must not be a masked array. Fill it, with NaN or a value, first.")


def as_real(values: np.ndarray, name: str) -> np.ndarray:
    """Return an array of real numbers, refusing text and complex numbers."""
    if values.dtype.kind in "biuf":
        return values
    if values.dtype.kind == "O" and not any(isinstance(value, str) for value in values.flat):
        with suppress(TypeError, ValueError, OverflowError):
            return values.astype(np.float64)
    raise TypeError(
        f"{name} must hold real numbers; got an array of {values.dtype}. "
        "Encode text and categories as numbers first."
    )


def as_finite_csr(matrix: Any, name: str) -> sp.csr_array:
    """Return a sparse matrix as float64 CSR of its own, duplicates summed, indices sorted."""
    as_real(np.empty(0, dtype=matrix.dtype), name)
    # Small integers are converted before duplicates are summed: afterwards they have wrapped.
    result = sp.csr_array(matrix.astype(np.float64))  # a copy, whatever the type was
    with np.errstate(over="ignore"):
        result.sum_duplicates()
    is_bad = ~np.isfinite(result.data)
    if is_bad.any():
        first = int(np.flatnonzero(is_bad)[0])
        row = int(np.searchsorted(result.indptr, first, side="right")) - 1
        _refuse(name, result.data[first], (row, result.indices[first]))
    return result


def check_finite(values: np.ndarray, name: str) -> None:
    """Refuse NaN and infinity, block by block so that no copy of a large array is made."""
    if values.dtype.kind != "f" or values.size == 0:
        return
    rows_at_once = max(1, 2**22 // max(1, values[0].size))
    for start in range(0, len(values), rows_at_once):
        block = values[start : start + rows_at_once]
        is_bad = ~np.isfinite(block)
        if is_bad.any():
            where = np.argwhere(is_bad)[0]
            _refuse(name, block[tuple(where)], (where[0] + start, *where[1:]))


def _refuse(name: str, came: Any, place: tuple[int, ...]) -> NoReturn:
    raise ValueError(
        f"{name} must be finite; got {came} at position ({', '.join(map(str, place))}). "
        "Drop or impute such values first."
    )


def listed(names: Sequence[Any]) -> str:
    """Return the first few names and the number of the others."""
    shown = ", ".join(repr(name) for name in names[:SHOWN])
    return shown if len(names) <= SHOWN else f"{shown} and {len(names) - SHOWN} more"


def describe(value: Any) -> str:
    """Say what came, briefly: strings and numbers as they are, arrays by their shape."""
    shape = getattr(value, "shape", None)
    if shape is not None and len(shape) > 0:
        return f"{type(value).__name__} of shape {tuple(shape)}"
    text = repr(value)
    return f"{text if len(text) <= 60 else text[:57] + '...'} ({type(value).__name__})"
