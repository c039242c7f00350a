"""A block of columns of a table, read as standardised rows, some at a time."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

CHUNK_BYTES = 2**24
"""Of the rows that are dense and in double precision at once."""
ROUNDING = 1e-12
"""Correlations below this are what rounding leaves of zero: no edge."""


@dataclass(frozen=True, eq=False)
class Moments:
    """What standardises columns; every array has shape (n_columns,).

    The mean is subtracted in two parts, what rounding left of it after the first: so nothing
    cancels however far from zero a column lies. Halving until the largest value is below 1 is
    exact and keeps squares from overflowing.

    Attributes
    ----------
    is_constant : ndarray of bool
    factor : ndarray
        A power of two, multiplied first.
    mean, rest : ndarray
        Subtracted next, one after the other.
    length : ndarray
        What is divided by; infinite for constant columns.
    """

    is_constant: np.ndarray
    factor: np.ndarray
    mean: np.ndarray
    rest: np.ndarray
    length: np.ndarray

    def of(self, chosen: np.ndarray) -> "Moments":
        """Return those of some of the columns."""
        return Moments(*(values[chosen] for values in vars(self).values()))


class Columns:
    """Some columns of a table; only a few of their rows are dense at any time.

    Parameters
    ----------
    table : array-like or csc_array of shape (n_samples, n_nodes)
        An array, or anything that is sliced like one.
    start, stop : int
        The first column, and the first after the last.
    chosen : ndarray of int, optional
        Some of these columns, counted from `start`; by default all.
    moments : Moments, optional
        Where they are known; else the columns are read for them.

    Attributes
    ----------
    n_rows, n_columns : int
    columns : ndarray of shape (n_columns,), int64
        Their numbers in the table.
    rows_at_once : int
        Rows to ask for, so that they fit into `CHUNK_BYTES`.
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

    def __reduce__(self) -> tuple:
        return Columns, (self.table, self.start, self.stop, self.chosen, self.moments)

    def standardised(self, start: int, stop: int) -> np.ndarray:
        """Return rows start to stop: centred, each column of length 1, constant ones all zero."""
        rows = self._dense(start, stop) * self.moments.factor
        rows -= self.moments.mean
        rows -= self.moments.rest
        rows /= self.moments.length
        return rows

    @property
    def is_lazy(self) -> bool:
        """Whether someone else reads the table for us: libraries that may not like threads."""
        return not (isinstance(self.table, np.ndarray) or sp.issparse(self.table))

    def some(self, chosen: np.ndarray) -> "Columns":
        """Return some of these columns, counted from the first."""
        return Columns(self.table, self.start, self.stop, chosen, self.moments.of(chosen))

    def _measure(self) -> Moments:
        bounds = [(chunk.min(axis=0), chunk.max(axis=0)) for chunk in self._chunks()]
        lowest = np.min([low for low, _ in bounds], axis=0)
        highest = np.max([high for _, high in bounds], axis=0)
        if not (np.isfinite(lowest) & np.isfinite(highest)).all():
            raise ValueError("X must hold finite numbers; got NaN or infinity.")
        is_constant = lowest == highest
        _, exponent = np.frexp(np.maximum(-lowest, highest))
        factor = np.ldexp(1.0, np.minimum(-exponent, 1023))
        mean = sum((chunk * factor).sum(axis=0) for chunk in self._chunks()) / self.n_rows
        total, squares = np.zeros(self.n_columns), np.zeros(self.n_columns)
        for chunk in self._chunks():
            chunk = chunk * factor - mean
            total += chunk.sum(axis=0)
            squares += np.einsum("ij,ij->j", chunk, chunk)
        rest = total / self.n_rows
        length = np.sqrt(squares - total * rest)
        return Moments(is_constant, factor, mean, rest, np.where(is_constant, np.inf, length))

    def _dense(self, start: int, stop: int) -> np.ndarray:
        if sp.issparse(self.table):
            rows = self._sparse_rows[start:stop].toarray()
        else:
            rows = np.asarray(self.table[start:stop, self.start : self.stop])
        return np.asarray(rows if self.chosen is None else rows[:, self.chosen], np.float64)

    @cached_property
    def _sparse_rows(self) -> sp.csr_array:
        return sp.csr_array(self.table[:, self.start : self.stop])

    def _chunks(self) -> Iterator[np.ndarray]:
        for start in range(0, self.n_rows, self.rows_at_once):
            yield self._dense(start, start + self.rows_at_once)


def correlations(here: Columns, there: Columns) -> np.ndarray:
    """Return the correlations (n_here, n_there) of columns; 0 for a column with itself."""
    tile = np.zeros((here.n_columns, there.n_columns))
    rows_at_once = min(here.rows_at_once, there.rows_at_once)
    for start in range(0, here.n_rows, rows_at_once):
        stop = start + rows_at_once
        rows = here.standardised(start, stop)
        tile += rows.T @ (rows if there is here else there.standardised(start, stop))
    tile[here.columns[:, None] == there.columns] = 0.0
    return without_rounding(tile)


def without_rounding(correlation: np.ndarray) -> np.ndarray:
    """Set to 0 what rounding leaves of it, and let nothing exceed 1; in place."""
    correlation[np.abs(correlation) < ROUNDING] = 0.0
    return np.clip(correlation, -1.0, 1.0, out=correlation)
