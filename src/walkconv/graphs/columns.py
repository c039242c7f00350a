"""A block of columns of a table, read as standardised rows, some at a time."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

CHUNK_BYTES = 2**24
"""Of the rows that are dense and in double precision at once."""


class Columns:
    """Some columns of a table; only a few of their rows are dense at any time.

    The mean is subtracted in two parts, what rounding left of it after the first: so nothing
    cancels however far from zero a column lies. Halving until the largest value is below 1 is
    exact and keeps squares from overflowing.

    Parameters
    ----------
    table : array-like or csc_array of shape (n_samples, n_nodes)
        An array, or anything that is sliced like one.
    start, stop : int
        The first column, and the first after the last.
    chosen : ndarray of int, optional
        Some of these columns, counted from `start`; by default all.

    Attributes
    ----------
    n_rows, n_columns : int
    columns : ndarray of shape (n_columns,), int64
        Their numbers in the table.
    is_constant : ndarray of shape (n_columns,), bool
    rows_at_once : int
        Rows to ask for, so that they fit into `CHUNK_BYTES`.
    """

    def __init__(self, table: Any, start: int, stop: int, chosen: np.ndarray | None = None):
        self.table, self.start, self.stop, self.chosen = table, start, stop, chosen
        self.block = sp.csr_array(table[:, start:stop]) if sp.issparse(table) else None
        self.columns = np.arange(start, stop)[slice(None) if chosen is None else chosen]
        self.n_rows, self.n_columns = table.shape[0], len(self.columns)
        self.rows_at_once = max(1, CHUNK_BYTES // (8 * self.n_columns))
        lowest = np.min([chunk.min(axis=0) for chunk in self._chunks()], axis=0)
        highest = np.max([chunk.max(axis=0) for chunk in self._chunks()], axis=0)
        if not (np.isfinite(lowest) & np.isfinite(highest)).all():
            raise ValueError("X must hold finite numbers; got NaN or infinity.")
        self.is_constant = lowest == highest
        _, exponent = np.frexp(np.maximum(-lowest, highest))
        self.factor = np.ldexp(1.0, np.minimum(-exponent, 1023))
        self.mean = sum(chunk.sum(axis=0) for chunk in self._scaled()) / self.n_rows
        total, squares = np.zeros(self.n_columns), np.zeros(self.n_columns)
        for chunk in self._scaled():
            chunk -= self.mean
            total += chunk.sum(axis=0)
            squares += np.einsum("ij,ij->j", chunk, chunk)
        self.rest = total / self.n_rows
        length = np.sqrt(squares - total * self.rest)
        self.length = np.where(self.is_constant, np.inf, length)

    def standardised(self, start: int, stop: int) -> np.ndarray:
        """Return rows start to stop: centred, each column of length 1, constant ones all zero."""
        rows = self._dense(start, stop) * self.factor
        rows -= self.mean
        rows -= self.rest
        rows /= self.length
        return rows

    def some(self, chosen: np.ndarray) -> "Columns":
        """Return some of these columns, counted from the first."""
        return Columns(self.table, self.start, self.stop, chosen)

    def _dense(self, start: int, stop: int) -> np.ndarray:
        if self.block is not None:
            rows = self.block[start:stop].toarray()
        else:
            rows = np.asarray(self.table[start:stop, self.start : self.stop])
        return np.asarray(rows if self.chosen is None else rows[:, self.chosen], np.float64)

    def _chunks(self) -> Iterator[np.ndarray]:
        for start in range(0, self.n_rows, self.rows_at_once):
            yield self._dense(start, start + self.rows_at_once)

    def _scaled(self) -> Iterator[np.ndarray]:
        return (chunk * self.factor for chunk in self._chunks())
