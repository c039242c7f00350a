"""The graph of correlations between columns, equation (2) of the paper with the sign kept.

The matrix is computed in square tiles of columns, each tile from a few thousand rows at a time,
which are centred and scaled just before they are multiplied. A table may therefore be dense,
sparse or a memory map: little of it is dense and in double precision at any time.
"""

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from walkconv._checks import check_integer, check_table

ROUNDING = 1e-12
"""Correlations below this are what rounding leaves of zero: no edge."""
TIE_CELL = 2.0**-30
"""Correlations are compared in units of this, so that the size of the tiles decides no tie."""
TILE_COLUMNS = 1024
CHUNK_BYTES = 2**24
"""Of the rows that are centred and multiplied at once."""


def correlation_graph(
    X: Any, *, n_edges: int | None = None, tile_size: int | None = None
) -> sp.csr_array:
    """Return the graph of Pearson correlations between the columns of X.

    Parameters
    ----------
    X : array, DataFrame, memory map or sparse matrix of shape (n_samples, n_nodes)
        The table whose columns are the nodes.
    n_edges : int, optional
        Keep only the `n_edges` strongest correlations of each column (in absolute value, ties to
        the lowest column). Memory is then O(n_nodes * n_edges); by default all pairs are kept.
    tile_size : int, optional
        Columns computed at once. It bounds the memory and does not change the answer.

    Returns
    -------
    csr_array of shape (n_nodes, n_nodes), float64
        Entry (i, j) is the correlation of columns i and j, with its sign; the diagonal is 1. With
        `n_edges` row i holds the strongest of column i, so the matrix need not be symmetric.
        A constant column has no correlation: it becomes a node without edges, and a warning says
        how many there are.

    Examples
    --------
    >>> import numpy as np
    >>> from walkconv import correlation_graph
    >>> X = np.array([[0.0, 0.0, 3.0], [1.0, 2.0, 2.0], [2.0, 4.0, 0.0]])
    >>> correlation_graph(X).toarray().round(2)
    array([[ 1.  ,  1.  , -0.98],
           [ 1.  ,  1.  , -0.98],
           [-0.98, -0.98,  1.  ]])
    """
    table = check_table(X)
    n_samples, n_nodes = table.shape
    if n_samples < 2:
        raise ValueError(f"X must have at least 2 rows to correlate its columns; got {n_samples}.")
    if n_nodes < 1:
        raise ValueError("X must have at least one column; got none.")
    n_kept = n_nodes - 1
    if n_edges is not None:
        n_kept = check_integer(n_edges, "n_edges", minimum=1, maximum=max(1, n_nodes - 1))
    tile_size = check_integer(
        TILE_COLUMNS if tile_size is None else tile_size, "tile_size", minimum=1
    )
    blocks = [
        _Columns(table, start, min(start + tile_size, n_nodes))
        for start in range(0, n_nodes, tile_size)
    ]
    _warn_of_constant_columns(sum(int(block.is_constant.sum()) for block in blocks))
    strips = [_strip(here, blocks, n_kept, n_nodes) for here in blocks]
    graph = sp.csr_array(sp.vstack(strips, format="csr"))
    graph.sort_indices()
    return graph


class _Columns:
    """Columns start to stop of a table, read as standardised rows, some at a time.

    The mean is subtracted in two parts, what rounding left of it after the first: so nothing
    cancels however far from zero a column lies. Halving until the largest value is below 1 is
    exact and keeps squares from overflowing.
    """

    def __init__(self, table: np.ndarray | sp.csc_array, start: int, stop: int):
        self.start = start
        self.values = table[:, start:stop]
        if not isinstance(self.values, np.ndarray):
            self.values = self.values.tocsr()
        self.n_rows, n_columns = self.values.shape
        self.rows_at_once = max(1, CHUNK_BYTES // (8 * n_columns))
        lowest = np.min([chunk.min(axis=0) for chunk in self._chunks()], axis=0)
        highest = np.max([chunk.max(axis=0) for chunk in self._chunks()], axis=0)
        self.is_constant = lowest == highest
        _, exponent = np.frexp(np.maximum(-lowest, highest))
        self.factor = np.ldexp(1.0, np.minimum(-exponent, 1023))
        self.mean = sum(chunk.sum(axis=0) for chunk in self._scaled()) / self.n_rows
        total, squares = np.zeros(n_columns), np.zeros(n_columns)
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

    def _dense(self, start: int, stop: int) -> np.ndarray:
        rows = self.values[start:stop]
        return np.asarray(rows if isinstance(rows, np.ndarray) else rows.toarray(), np.float64)

    def _chunks(self) -> Iterator[np.ndarray]:
        for start in range(0, self.n_rows, self.rows_at_once):
            yield self._dense(start, start + self.rows_at_once)

    def _scaled(self) -> Iterator[np.ndarray]:
        return (chunk * self.factor for chunk in self._chunks())


def _strip(here: _Columns, blocks: list[_Columns], n_kept: int, n_nodes: int) -> sp.csr_array:
    """Return the rows of the graph (n_rows, n_nodes) that belong to the columns `here`."""
    strongest = _Strongest(len(here.is_constant), n_kept)
    for there in blocks:
        strongest.offer(_correlations(here, there), there.start)
    return strongest.as_rows(~here.is_constant, here.start, n_nodes)


def _correlations(here: _Columns, there: _Columns) -> np.ndarray:
    """Return the correlations of two blocks of columns; 0 for a column with itself."""
    tile = np.zeros((len(here.is_constant), len(there.is_constant)))
    for start in range(0, here.n_rows, here.rows_at_once):
        rows = here.standardised(start, start + here.rows_at_once)
        if there is here:
            tile += rows.T @ rows
        else:
            tile += rows.T @ there.standardised(start, start + here.rows_at_once)
    tile[np.abs(tile) < ROUNDING] = 0.0
    if there is here:
        np.fill_diagonal(tile, 0.0)
    return np.clip(tile, -1.0, 1.0)


class _Strongest:
    """The running best `n_kept` correlations of each of `n_rows` columns."""

    def __init__(self, n_rows: int, n_kept: int):
        self.n_kept = n_kept
        self.value = np.empty((n_rows, 0))
        self.column = np.empty((n_rows, 0), dtype=np.int64)

    def offer(self, tile: np.ndarray, first: int) -> None:
        """Take the tile (n_rows, width) of the columns from `first` on into account."""
        columns = np.broadcast_to(np.arange(first, first + tile.shape[1]), tile.shape)
        value = np.concatenate([self.value, tile], axis=1)
        column = np.concatenate([self.column, columns], axis=1)
        if value.shape[1] > self.n_kept:
            # Columns arrive in ascending order, so a stable sort gives ties to the lowest.
            strength = np.rint(np.abs(value) / TIE_CELL)
            best = np.argsort(-strength, axis=1, kind="stable")[:, : self.n_kept]
            best.sort(axis=1)
            value, column = (np.take_along_axis(a, best, axis=1) for a in (value, column))
        self.value, self.column = value, column

    def as_rows(self, varies: np.ndarray, start: int, n_nodes: int) -> sp.csr_array:
        """Return rows of the graph (n_rows, n_nodes), with 1 on the diagonal where one varies."""
        n_rows = len(self.value)
        row, place = np.nonzero(self.value)
        on_diagonal = np.flatnonzero(varies)
        values = np.concatenate([self.value[row, place], np.ones(len(on_diagonal))])
        rows = np.concatenate([row, on_diagonal])
        columns = np.concatenate([self.column[row, place], start + on_diagonal])
        return sp.csr_array((values, (rows, columns)), shape=(n_rows, n_nodes))


def _warn_of_constant_columns(n_constant: int) -> None:
    if n_constant:
        warnings.warn(
            f"{n_constant} constant column(s) have no correlation and become isolated nodes.",
            UserWarning,
            stacklevel=3,
        )
