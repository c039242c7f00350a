"""The graph of correlations between columns, equation (2) of the paper with the sign kept.

The matrix is computed in square tiles of a few hundred columns, each centred and scaled just
before it is multiplied. A table may therefore be dense, sparse or a memory map: only two blocks of
its columns are dense in memory at a time.
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
TILE_BYTES = 2**26


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
    if tile_size is None:
        tile_size = int(np.clip(TILE_BYTES // (8 * n_samples), 16, 1024))
    tile_size = check_integer(tile_size, "tile_size", minimum=1)

    strips = list(_strips(table, tile_size, n_kept))
    _warn_of_constant_columns(sum(n_constant for *_, n_constant in strips))
    graph = sp.csr_array(sp.vstack([strip for strip, _ in strips], format="csr"))
    graph.sort_indices()
    return graph


def _strips(
    table: np.ndarray | sp.csc_array, tile_size: int, n_kept: int
) -> Iterator[tuple[sp.csr_array, int]]:
    """Yield the graph a few rows at a time, with the number of constant columns among them."""
    n_nodes = table.shape[1]
    for start in range(0, n_nodes, tile_size):
        here = _standardised(table, start, start + tile_size)
        strongest = _Strongest(here.shape[1], n_kept)
        for first in range(0, n_nodes, tile_size):
            there = here if first == start else _standardised(table, first, first + tile_size)
            strongest.offer(_correlations(here, there, start - first), first)
        yield strongest.as_rows(here, start, n_nodes), int((~here.any(axis=0)).sum())


def _standardised(table: np.ndarray | sp.csc_array, start: int, stop: int) -> np.ndarray:
    """Return columns start to stop, centred and of length 1; constant ones are all zero."""
    block = table[:, start:stop]
    if not isinstance(block, np.ndarray):
        block = block.toarray()
    columns = np.asarray(block, dtype=np.float64)
    is_constant = (columns == columns[0]).all(axis=0)
    # Halving until the largest is below 1 is exact and keeps squares from overflowing. After the
    # shift by a value of its own no column cancels, however far from zero it lies.
    columns = np.ldexp(columns, -np.frexp(np.abs(columns).max(axis=0))[1])
    columns -= columns[0].copy()
    columns -= columns.mean(axis=0)
    columns[:, is_constant] = 0.0
    length = np.sqrt(np.einsum("ij,ij->j", columns, columns))
    return columns / np.where(is_constant, 1.0, length)


def _correlations(here: np.ndarray, there: np.ndarray, lag: int) -> np.ndarray:
    """Return the tile of correlations, without the diagonal of the matrix, which lies at `lag`."""
    tile = np.clip(here.T @ there, -1.0, 1.0)
    tile[np.abs(tile) < ROUNDING] = 0.0
    on_diagonal = np.arange(len(tile)) + lag
    is_inside = (on_diagonal >= 0) & (on_diagonal < tile.shape[1])
    tile[np.flatnonzero(is_inside), on_diagonal[is_inside]] = 0.0
    return tile


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

    def as_rows(self, here: np.ndarray, start: int, n_nodes: int) -> sp.csr_array:
        """Return the rows of the graph (n_rows, n_nodes), with 1 on its diagonal."""
        n_rows = len(self.value)
        row, place = np.nonzero(self.value)
        on_diagonal = np.flatnonzero(here.any(axis=0))
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
