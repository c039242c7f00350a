"""A block of columns of a table, standardised a few rows at a time."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from walkconv import _native

CHUNK_BYTES = 2**24
"""Most bytes of a block that are read at once."""
PIECE_BYTES = 2**17
"""Bytes of rows in double precision that are computed at once: they stay in the second cache."""
ROUNDING = 1e-12
"""Smaller correlations are rounding errors of zero: no edge."""


@dataclass(frozen=True, eq=False)
class Moments:
    """The numbers that standardise columns; every array has shape (n_columns,).

    The mean is subtracted in two parts: the second is the rounding error of the first. So nothing
    cancels, however far from zero a column lies. `factor` halves a column until its largest value
    is below 1. This is exact and keeps squares from overflowing. Missing values (NaN) do not count.

    Attributes
    ----------
    is_constant : ndarray of bool
        Also True for a column without any value.
    n_present : ndarray of int
        Number of values that are not missing.
    factor : ndarray
        A power of two. Multiplied first.
    mean, rest : ndarray
        Subtracted next, one after the other.
    length : ndarray
        The divisor; infinite for constant columns.
    """

    is_constant: np.ndarray
    n_present: np.ndarray
    factor: np.ndarray
    mean: np.ndarray
    rest: np.ndarray
    length: np.ndarray

    def of(self, chosen: np.ndarray) -> "Moments":
        """Return the moments of some of the columns."""
        return Moments(*(values[chosen] for values in vars(self).values()))


class Columns:
    """Some columns of a table. Only a few of their rows are dense at any time.

    Parameters
    ----------
    table : array-like or csc_array of shape (n_samples, n_nodes)
        An array, or anything that is sliced like one. NaN is a missing value.
    start, stop : int
        The first column, and the one after the last.
    chosen : ndarray of int, optional
        Some of these columns, counted from `start`. All by default.
    moments : Moments, optional
        If they are known. Otherwise the columns are read to measure them.

    Attributes
    ----------
    n_rows, n_columns : int
    columns : ndarray of shape (n_columns,), int64
        Their numbers in the table.
    rows_at_once : int
        Number of rows that fit into `CHUNK_BYTES`.
    """

    def __init__(
        self,
        table: Any,
        start: int,
        stop: int,
        chosen: np.ndarray | None = None,
        moments: Moments | None = None,
    ):
        self.table, self.start, self.stop, self.chosen = table, start, stop, chosen
        self.columns = np.arange(start, stop)[slice(None) if chosen is None else chosen]
        self.n_rows, self.n_columns = table.shape[0], len(self.columns)
        self.rows_at_once = max(1, CHUNK_BYTES // (8 * self.n_columns))
        self.moments = self._measure() if moments is None else moments
        self.has_missing = bool((self.moments.n_present < self.n_rows).any())

    def __reduce__(self) -> tuple:
        return Columns, (self.table, self.start, self.stop, self.chosen, self.moments)

    def standardised(
        self, start: int, stop: int, dtype: type[np.floating] = np.float64
    ) -> np.ndarray:
        """Return rows start to stop: centred, each column of length 1, constant columns all zero.

        A missing value is zero too: it counts as the mean of its column.
        """
        stop = min(stop, self.n_rows)
        rows = np.empty((stop - start, self.n_columns), dtype)
        self.standardise(start, stop, rows)
        return rows

    def standardise(self, start: int, stop: int, rows: np.ndarray) -> None:
        """Write rows start to stop, standardised in double precision, into an array of floats."""
        if _native.library() is not None and self._is_plain:
            self._standardise_plain(start, stop, rows)
            return
        done = 0
        for piece in self._pieces(start, stop):
            piece *= self.moments.factor
            piece -= self.moments.mean
            piece -= self.moments.rest
            piece /= self.moments.length
            if self.has_missing:
                _zero_where_missing(piece)
            rows[done : done + len(piece)] = piece
            done += len(piece)

    @property
    def _is_plain(self) -> bool:
        """Whether the library can read the table: an array of floats, each row in one piece."""
        table = self.table
        return (
            self.chosen is None
            and isinstance(table, np.ndarray)
            and table.dtype in (np.dtype(np.float32), np.dtype(np.float64))  # not byte-swapped
            and table.flags.aligned
            and table.strides[1] == table.itemsize
            and table.strides[0] % table.itemsize == 0
        )

    def _standardise_plain(self, start: int, stop: int, rows: np.ndarray) -> None:
        native, moments = _native.library(), self.moments
        assert native is not None
        table = self.table[start:stop, self.start : self.stop]
        native.walkconv_standardise(
            *(int(table.dtype == np.float64), table.ctypes.data),
            *(table.strides[0] // table.itemsize, *table.shape),
            *(
                _native.address(values, np.float64, self.n_columns)
                for values in (moments.factor, moments.mean, moments.rest, moments.length)
            ),
            *(int(rows.dtype == np.float64), rows.ctypes.data),
            *(n_bytes // rows.itemsize for n_bytes in rows.strides),
        )

    @property
    def is_lazy(self) -> bool:
        """Whether another library reads the table, which may not be safe in several threads."""
        return not (isinstance(self.table, np.ndarray) or sp.issparse(self.table))

    def some(self, chosen: np.ndarray) -> "Columns":
        """Return some of these columns, counted from the first of them."""
        return Columns(self.table, self.start, self.stop, chosen, self.moments.of(chosen))

    def _measure(self) -> Moments:
        lowest, highest = self._bounds(np.minimum, np.maximum)
        n_present = np.full(self.n_columns, self.n_rows)
        # NaN passes through min and max. Only then is another reading needed, to count the NaN.
        has_missing = np.isnan(lowest).any()
        if has_missing:
            lowest, highest = self._bounds(np.fmin, np.fmax)
            n_present -= sum(np.isnan(piece).sum(axis=0) for piece in self._pieces())
            # A column without values has no bounds. It is measured as if it were all zero.
            lowest, highest = (np.where(n_present, bound, 0.0) for bound in (lowest, highest))
        if not (np.isfinite(lowest) & np.isfinite(highest)).all():
            raise ValueError("X must hold finite numbers or NaN; got infinity. Replace it first.")
        # By the bounds: the variance of a constant column may be a rounding error above zero.
        is_constant = lowest == highest
        _, exponent = np.frexp(np.maximum(-lowest, highest))
        # A column of subnormal numbers would need a larger power than a double can hold.
        factor = np.ldexp(1.0, np.minimum(-exponent, 1023))
        n_values = np.maximum(n_present, 1)
        present = _zero_where_missing if has_missing else _unchanged
        mean = sum(present(piece * factor).sum(axis=0) for piece in self._pieces()) / n_values
        total, squares = np.zeros(self.n_columns), np.zeros(self.n_columns)
        for piece in self._pieces():
            piece *= factor
            piece -= mean
            present(piece)
            total += piece.sum(axis=0)
            squares += np.einsum("ij,ij->j", piece, piece)
        # `mean` is rounded, so what is left has a small mean of its own: it is taken out as well.
        rest = total / n_values
        length = np.where(is_constant, np.inf, np.sqrt(squares - total * rest))
        return Moments(is_constant, n_present, factor, mean, rest, length)

    def _bounds(self, least: np.ufunc, most: np.ufunc) -> tuple[np.ndarray, np.ndarray]:
        """Return the lowest and the highest value of each column in one reading."""
        bounds = [(least.reduce(piece), most.reduce(piece)) for piece in self._pieces()]
        lowest, highest = zip(*bounds, strict=True)
        return least.reduce(lowest), most.reduce(highest)

    def _pieces(self, start: int = 0, stop: int | None = None) -> Iterator[np.ndarray]:
        """Yield copies of the rows start to stop in double precision, a few at a time."""
        end: int = self.n_rows if stop is None else min(stop, self.n_rows)
        n_together = max(1, PIECE_BYTES // (8 * self.n_columns))
        for first in range(start, end, self.rows_at_once):
            chunk = self._read(first, min(first + self.rows_at_once, end))
            for place in range(0, len(chunk), n_together):
                piece = chunk[place : place + n_together]
                yield np.array(piece if self.chosen is None else piece[:, self.chosen], np.float64)

    def _read(self, start: int, stop: int) -> np.ndarray:
        """Return rows start to stop of all columns from `start` to `stop`, in the table's type."""
        if sp.issparse(self.table):
            return self._sparse_rows[start:stop].toarray()
        return np.asarray(self.table[start:stop, self.start : self.stop])

    @cached_property
    def _sparse_rows(self) -> sp.csr_array:
        return sp.csr_array(self.table[:, self.start : self.stop])


def _zero_where_missing(values: np.ndarray) -> np.ndarray:
    """Set NaN to zero, in place."""
    values[np.isnan(values)] = 0.0
    return values


def _unchanged(values: np.ndarray) -> np.ndarray:
    return values


def correlations(here: Columns, there: Columns) -> np.ndarray:
    """Return the correlations (n_here, n_there) of two blocks; 0 for a column with itself."""
    tile = np.zeros((here.n_columns, there.n_columns))
    # Chunks of rows: only one chunk is dense and in double precision at a time.
    rows_at_once = min(here.rows_at_once, there.rows_at_once)
    for start in range(0, here.n_rows, rows_at_once):
        stop = start + rows_at_once
        rows = here.standardised(start, stop)
        tile += rows.T @ (rows if there is here else there.standardised(start, stop))
    tile[here.columns[:, None] == there.columns] = 0.0
    return without_rounding(tile)


def without_rounding(correlation: np.ndarray) -> np.ndarray:
    """Set rounding errors of zero to zero and clip to [-1, 1], in place."""
    correlation[np.abs(correlation) < ROUNDING] = 0.0
    return np.clip(correlation, -1.0, 1.0, out=correlation)
