"""Checks of input, before any work. An error says what must hold, what was given, what to do."""

import math
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from difflib import get_close_matches
from numbers import Integral, Real
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp

SHOWN = 5
"""Number of names that a message lists. It only counts the others."""
COPIES = 4
"""Numbers that training keeps for each weight: itself, its gradient and two moments."""
MOST_STEPS = 10_000
"""A walk takes as long as it has steps, and a model file may ask for any number."""


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


def check_steps(n_steps: Any, *, minimum: int = 0) -> int:
    """Return a number of steps that a walk can take in reasonable time."""
    hint = "A walk so long has forgotten where it began."
    return check_integer(n_steps, "n_steps", minimum=minimum, maximum=MOST_STEPS, hint=hint)


def check_number(
    value: Any, name: str, *, minimum: float, below: float = np.inf, is_open: bool = False
) -> float:
    """Return `value` as a float in [minimum, below), or in (minimum, below) where `is_open`."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number; got {describe(value)}.")
    try:
        value = float(value)
    except OverflowError:  # an integer of hundreds of digits
        raise ValueError(
            f"{name} must be at most 1.8e308 in size; got a number too large for a float."
        ) from None
    if not (minimum < value < below or (value == minimum and not is_open)):
        lowest = f"more than {minimum:g}" if is_open else f"at least {minimum:g}"
        highest = "finite" if below == np.inf else f"less than {below:g}"
        raise ValueError(f"{name} must be {lowest} and {highest}; got {value}.")
    return value


def check_parameters(*shape: int, layer: str) -> None:
    """Refuse weights of a layer for whose training the memory is not enough."""
    needed = COPIES * 4 * math.prod(shape)
    # The system would grant such an array, and kill the process while it is filled.
    has_size = hasattr(os, "sysconf")  # not on Windows
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if has_size else needed
    if needed > memory:
        sides = " x ".join(map(str, shape))
        raise ValueError(
            f"The weights of each layer must fit into the memory, {memory / 2**30:.0f} GiB, "
            f"{COPIES} times; those of {layer} ({sides}) take {needed / 2**30:.0f} GiB. Give the "
            "layers fewer filters or units, or pool more nodes."
        )


def check_flag(value: Any, name: str) -> bool:
    """Return `value` when it is True or False."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be True or False; got {describe(value)}.")
    return bool(value)


def check_option(value: Any, name: str, options: Sequence[str]) -> str:
    """Return `value` when it is one of `options`."""
    if not isinstance(value, str) or value not in options:
        listed = ", ".join(repr(option) for option in options)
        raise ValueError(
            f"{name} must be one of {listed}; got {describe(value)}.{closest(value, options)}"
        )
    return value


def check_table(
    X: Any, name: str = "X", *, allow_missing: bool = False
) -> np.ndarray | sp.csc_array:
    """Return a table (n_samples, n_nodes) of finite numbers: a dense array, or sparse as CSC.

    With `allow_missing` the numbers may also be NaN.
    """
    refuse_odd_table(X)
    table = X if sp.issparse(X) else as_array(X, name)
    if table.ndim != 2:
        raise ValueError(
            f"{name} must have two dimensions (n_samples, n_nodes); got shape {table.shape}."
        )
    if sp.issparse(table):
        return sp.csc_array(as_finite_csr(table, name, allow_missing=allow_missing))
    table = as_real(table, name)
    check_finite(table, name, allow_missing=allow_missing)
    return table


def refuse_odd_table(X: Any) -> None:
    """Reject an AnnData object and a table with a column name that appears more than once."""
    # Recognised by name, so that anndata need not be installed.
    if any(_is_anndata(base) for base in type(X).__mro__):
        raise TypeError(
            f"X must be a table; got {type(X).__name__}, which holds several. Pass adata.to_df() "
            "to keep the names of the variables, or adata.X for the values alone."
        )
    columns = getattr(X, "columns", None)
    if columns is None:
        return
    if not len(columns):
        raise ValueError("X must have at least one column; it has none.")
    odd = [name for name in columns if isinstance(name, str) and not is_utf8(name)]
    if odd:
        raise ValueError(
            f"Column names must be text that UTF-8 can hold; got {odd[0]!r}. Rename the column, or "
            "read the file again with its encoding."
        )
    counts = Counter(columns)
    repeated = [name for name, count in counts.items() if count > 1]
    if repeated:
        others = f" {len(repeated) - 1} more name(s) appear again." if len(repeated) > 1 else ""
        raise ValueError(
            f"Column names must be unique: {repeated[0]!r} appears {counts[repeated[0]]} times."
            f"{others} Rename or drop one."
        )


def _is_anndata(kind: type) -> bool:
    return kind.__name__ == "AnnData" and kind.__module__.split(".")[0] == "anndata"


def check_positions(values: Any, name: str, n_nodes: int) -> np.ndarray:
    """Return the positions of nodes as finite float64 (n_nodes, n_axes), at least one axis."""
    positions = as_real(as_array(values, name), name).astype(np.float64)
    if positions.ndim != 2 or len(positions) != n_nodes or positions.shape[1] == 0:
        raise ValueError(
            f"{name} must have shape (n_nodes, n_axes) with n_nodes = {n_nodes}; "
            f"got shape {positions.shape}."
        )
    check_finite(positions, name)
    return positions


def as_array(values: Any, name: str) -> np.ndarray:
    """Return anything array-like as an array, without a copy where possible."""
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
    """Reject masked arrays: `np.asarray` would silently drop the mask."""
    if isinstance(values, np.ma.MaskedArray):
        raise TypeError(
            f"{name} must not be a masked array. Fill it first: X.filled(numpy.nan) if NaN is "
            "allowed, or X.filled(value)."
        )


def as_real(values: np.ndarray, name: str) -> np.ndarray:
    """Return an array of real numbers; reject text and complex numbers."""
    if values.dtype.kind in "biuf":
        return values
    if values.dtype.kind == "O" and not any(isinstance(value, str) for value in values.flat):
        with suppress(TypeError, ValueError, OverflowError):
            return values.astype(np.float64)
    raise TypeError(
        f"{name} must hold real numbers; got an array of {values.dtype}. "
        "Encode text and categories as numbers first."
    )


def as_finite_csr(matrix: Any, name: str, *, allow_missing: bool = False) -> sp.csr_array:
    """Return a copy of a sparse matrix as float64 CSR, duplicates summed, indices sorted."""
    as_real(np.empty(0, dtype=matrix.dtype), name)
    check_sparse(matrix, name)
    # Convert first, then sum duplicates: sums of small integer types would overflow.
    result = sp.csr_array(matrix.astype(np.float64))  # always a copy
    with np.errstate(over="ignore"):
        result.sum_duplicates()
    is_bad = np.isinf(result.data) if allow_missing else ~np.isfinite(result.data)
    if is_bad.any():
        first = int(np.flatnonzero(is_bad)[0])
        row = int(np.searchsorted(result.indptr, first, side="right")) - 1
        _refuse(name, result.data[first], (row, result.indices[first]))
    return result


def check_sparse(matrix: Any, name: str) -> None:
    """Reject a scipy sparse matrix whose arrays do not fit its shape or each other.

    scipy itself does not look at them, and its compiled code would read and write elsewhere.
    """
    reason = _flaw(matrix)
    if reason:
        raise ValueError(
            f"{name} must be a whole sparse matrix; {reason}. Its file or its arrays are damaged: "
            "make the matrix again."
        )


def _flaw(matrix: Any) -> str:
    """Return what is wrong with the arrays of a sparse matrix, or an empty string."""
    if matrix.format not in ("csr", "csc", "bsr", "coo"):
        try:
            matrix = matrix.tocoo()  # in Python, or checked by scipy
        except (ValueError, IndexError, TypeError) as error:
            return str(error).rstrip(".")
    if matrix.format == "coo":
        each = zip(matrix.coords, matrix.shape, strict=True)
        flaws = [_index_flaw(index, n, len(matrix.data)) for index, n in each]
        return next(filter(None, flaws), "")
    block = matrix.blocksize if matrix.format == "bsr" else (1, 1)
    if any(side < 1 or n % side for n, side in zip(matrix.shape, block, strict=True)):
        return f"its blocks of shape {block} do not divide its shape"
    n_rows, n_columns = (n // side for n, side in zip(matrix.shape, block, strict=True))
    if matrix.format == "csc":
        n_rows, n_columns = n_columns, n_rows
    indptr = matrix.indptr
    if indptr.ndim != 1 or indptr.dtype.kind not in "iu" or len(indptr) != n_rows + 1:
        return f"its indptr must be {n_rows + 1} integers"
    if indptr[0] != 0 or (indptr[:-1] > indptr[1:]).any() or indptr[-1] > len(matrix.indices):
        return f"its indptr must rise from 0 to at most {len(matrix.indices)}, its entries"
    return _index_flaw(matrix.indices, n_columns, len(matrix.data))


def _index_flaw(index: np.ndarray, n: int, n_entries: int) -> str:
    if index.ndim != 1 or index.dtype.kind not in "iu" or len(index) != n_entries:
        return f"it must have an integer index for each of its {n_entries} entries"
    if not len(index):
        return ""
    lowest, highest = int(index.min()), int(index.max())
    if lowest < 0 or highest >= n:
        return f"its indices must lie between 0 and {n - 1}, but one is {min(lowest, 0) or highest}"
    return ""


def check_finite(values: np.ndarray, name: str, *, allow_missing: bool = False) -> None:
    """Reject infinity, and NaN unless `allow_missing`.

    It looks at a block of rows at a time, so that it makes no copy of a large array.
    """
    if values.dtype.kind != "f" or values.size == 0:
        return
    rows_at_once = max(1, 2**22 // max(1, values[0].size))
    for start in range(0, len(values), rows_at_once):
        block = values[start : start + rows_at_once]
        is_bad = np.isinf(block) if allow_missing else ~np.isfinite(block)
        if is_bad.any():
            where = np.argwhere(is_bad)[0]
            _refuse(name, block[tuple(where)], (where[0] + start, *where[1:]))


def _refuse(name: str, value: Any, position: tuple[int, ...]) -> NoReturn:
    raise ValueError(
        f"{name} must be finite; got {value} at position ({', '.join(map(str, position))}). "
        "Drop or impute such values first."
    )


def as_path(path: str | os.PathLike[str]) -> Path:
    """Return a path that a user gave, or say why it can't be one."""
    if not isinstance(path, str | bytes | os.PathLike):
        raise TypeError(f"A path must be text or a pathlib.Path; got {type(path).__name__}.")
    try:
        is_possible = b"\0" not in os.fsencode(path)
    except UnicodeEncodeError:
        is_possible = False
    if not is_possible:
        raise ValueError(f"{path!r} must be a path; it holds characters that no path can hold.")
    return Path(os.fsdecode(path))


def is_missing(value: Any) -> bool:
    """Say whether a Python object stands for a missing value."""
    # By its name, so that pandas need not be installed.
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float | np.floating) and bool(value != value)


def is_utf8(value: Any) -> bool:
    """Say whether an object is text that UTF-8 can hold, as nearly all text is."""
    if not isinstance(value, str):
        return False
    return value.isascii() or not any("\ud800" <= character <= "\udfff" for character in value)


def closest(name: Any, known: Iterable[Any]) -> str:
    """Return a hint to add to an error about a mistyped name, or an empty string.

    Examples
    --------
    >>> closest("corelation", ["correlation", "knn"])
    " Did you mean 'correlation'?"
    >>> closest("grid", ["correlation", "knn"])
    ''
    """
    if not isinstance(name, str):
        return ""
    names = [other for other in known if isinstance(other, str)]
    # Upper and lower case are the same to a person, not to difflib.
    by_folded = {other.casefold(): other for other in reversed(names)}
    found = get_close_matches(name.casefold(), list(by_folded), n=1)
    return f" Did you mean {by_folded[found[0]]!r}?" if found else ""


def listed(names: Sequence[Any]) -> str:
    """Return the first few names and the number of the others."""
    shown = ", ".join(repr(name) for name in names[:SHOWN])
    return shown if len(names) <= SHOWN else f"{shown} and {len(names) - SHOWN} more"


def describe(value: Any) -> str:
    """Describe a given value briefly: strings and numbers as they are, arrays by their shape."""
    shape = getattr(value, "shape", None)
    if shape is not None and len(shape) > 0:
        return f"{type(value).__name__} of shape {tuple(shape)}"
    text = repr(value)
    return f"{text if len(text) <= 60 else text[:57] + '...'} ({type(value).__name__})"
