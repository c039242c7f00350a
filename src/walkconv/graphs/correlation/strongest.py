"""The strongest correlations of every column, updated tile by tile.

The library inserts the few entries that are strong enough; without it whole tiles are ranked.
"""

import numpy as np

from walkconv import _native

TIE_CELL = 2.0**-30
"""Correlations are compared in units of this, so that rounding errors do not decide ties."""
MERGED_AT_ONCE = 2**12
TINY = float(np.finfo(np.float32).tiny)


class Strongest:
    """The running best correlations of some columns, strongest first, ties to the lowest column.

    Parameters
    ----------
    n_rows : int
        Number of columns whose strongest correlations are kept.
    n_kept : int
        Number of correlations to keep of each column.
    first : int, default 0
        Number of the first of these columns.

    Attributes
    ----------
    cell : ndarray of shape (n_rows, n_kept), int64
        Strength in units of `TIE_CELL`; -1 in unused entries.
    column : ndarray of shape (n_rows, n_kept), int64
        The other column; -1 in unused entries.
    value : ndarray of shape (n_rows, n_kept), float64
        The correlation.

    Examples
    --------
    >>> import numpy as np
    >>> from walkconv.graphs.correlation.strongest import Strongest
    >>> strongest = Strongest(1, 2)
    >>> strongest.offer(np.array([[0.1, -0.5, 0.3, 0.5]]), row=0, column=10)
    >>> strongest.column, strongest.value
    (array([[11, 13]]), array([[-0.5,  0.5]]))
    """

    def __init__(self, n_rows: int, n_kept: int, first: int = 0):
        self.first = first
        self.cell = np.full((n_rows, n_kept), -1)
        self.column = np.full((n_rows, n_kept), -1)
        self.value = np.zeros((n_rows, n_kept))

    def offer(
        self, tile: np.ndarray, *, row: int, column: int, mirrored: "Strongest | None" = None
    ) -> None:
        """Insert the entries of a tile, whose first entry belongs to `row` and `column`.

        Correlation is symmetric, so each entry is also one of its column: `mirrored` takes these
        if given. Zeros are not inserted.
        """
        native = _native.library()
        if native is None:
            self._offer_rows(tile, row, column)
            if mirrored is not None:
                mirrored._offer_rows(tile.T, column, row)
            return
        n_rows, n_columns = tile.shape
        mine = self._best(row, n_rows)
        its = mine if mirrored is None else mirrored._best(column, n_columns)
        # No entry reaches infinity: columns take nothing unless `mirrored` is given.
        of_rows, of_columns = _limits(mine[0]), np.full(n_columns, np.inf)
        if mirrored is not None:
            of_columns = _limits(its[0])
        # In the type of the tile, so that the loop compares whole vectors without conversions.
        limits = [limit.astype(tile.dtype) for limit in (of_rows, of_columns)]
        n_kept = self.cell.shape[1]
        native.walkconv_insert_tile(
            *(int(tile.dtype == np.float64), _native.address(tile, tile.dtype, n_rows, n_columns)),
            *(n_rows, n_columns, row, column, *(limit.ctypes.data for limit in limits)),
            *(n_kept, TIE_CELL, TINY, *_addresses(mine, n_kept), *_addresses(its, n_kept)),
        )

    def _best(self, row: int, n_rows: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        rows = slice(row - self.first, row - self.first + n_rows)
        return self.cell[rows], self.column[rows], self.value[rows]

    def _offer_rows(self, tile: np.ndarray, row: int, column: int) -> None:
        """Insert the rows of a tile without the library: its whole rows are ranked again."""
        columns = np.where(np.abs(tile) < TINY, -1, column + np.arange(tile.shape[1]))
        self.merge(row, columns, tile.astype(np.float64))

    def rank(self, rows: np.ndarray, column: np.ndarray, value: np.ndarray) -> None:
        """Give rows, counted from the first, the best of known correlations (n_rows, n_others).

        A column of -1 is an unused entry.
        """
        cell = np.where(column < 0, -1, np.rint(np.abs(value) / TIE_CELL)).astype(np.int64)
        order = np.lexsort((column, -cell), axis=1)[:, : self.cell.shape[1]]
        for mine, offered in ((self.cell, cell), (self.column, column), (self.value, value)):
            mine[rows] = np.take_along_axis(offered, order, axis=1)

    def merge(self, row: int, column: np.ndarray, value: np.ndarray) -> None:
        """Insert known correlations (n_rows, n_others) of the rows from `row` on."""
        # Some rows at a time: ranking makes several copies of what it sorts.
        for start in range(0, len(column), MERGED_AT_ONCE):
            part = slice(start, start + MERGED_AT_ONCE)
            rows = np.arange(row, row + len(column))[part] - self.first
            columns = np.hstack([self.column[rows], column[part]])
            self.rank(rows, columns, np.hstack([self.value[rows], value[part]]))


def add_products(
    rows: np.ndarray,
    nodes: np.ndarray,
    column: np.ndarray,
    value: np.ndarray,
    start: int,
    stop: int,
) -> None:
    """Add to `value` (n, n_others) the products of `nodes` (n,) with `column` (n, n_others).

    Only nodes `start` to `stop` are computed. `rows` (n_nodes, m) holds some rows of the table,
    transposed; m is a multiple of four. A column of -1 is an unused entry. Four sums are added,
    of every fourth row each, so that no addition waits for the one before.
    """
    native, shape = _native.library(), column.shape
    if native is not None:
        native.walkconv_add_products(
            *(_native.address(rows, np.float64, *rows.shape), rows.shape[1]),
            _native.address(nodes, np.int64, shape[0]),
            *(_native.address(column, np.int64, *shape), shape[1]),
            *(_native.address(value, np.float64, *shape), start, stop),
        )
        return
    for which in range(start, stop):
        used = np.flatnonzero(column[which] >= 0)
        products = rows[nodes[which]] * rows[column[which, used]]
        # `cumsum` adds one product after the other, as the loop does. `sum` adds in pairs.
        a, b, c, d = products.reshape(len(used), products.shape[1] // 4, 4).cumsum(axis=1)[:, -1].T
        value[which, used] += (a + b) + (c + d)


def _limits(cells: np.ndarray) -> np.ndarray:
    """Return the smallest strengths (n_rows,) that round to the last cells, or `TINY`."""
    return np.maximum((cells[:, -1] - 0.5) * TIE_CELL, TINY)


def _addresses(best: tuple[np.ndarray, np.ndarray, np.ndarray], n_kept: int) -> tuple[int, ...]:
    types = np.int64, np.int64, np.float64
    shape = len(best[0]), n_kept
    return tuple(_native.address(x, dtype, *shape) for x, dtype in zip(best, types, strict=True))
