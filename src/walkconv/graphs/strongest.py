"""The strongest correlations of every column, while tiles of the matrix come and go."""

import numpy as np

from walkconv._compiled import compiled

TIE_CELL = 2.0**-30
"""Correlations are compared in units of this, so that the order of adding decides no tie."""
TINY = float(np.finfo(np.float32).tiny)


class Strongest:
    """The running best correlations of some columns, strongest first, ties to the lowest column.

    Parameters
    ----------
    n_rows : int
        Columns whose best are sought.
    n_kept : int
        How many of each.

    Attributes
    ----------
    cell : ndarray of shape (n_rows, n_kept), int64
        Strength in units of `TIE_CELL`; -1 where there are no more.
    column : ndarray of shape (n_rows, n_kept), int64
        With whom; -1 where there are no more.
    value : ndarray of shape (n_rows, n_kept), float64
        The correlation.

    Examples
    --------
    >>> import numpy as np
    >>> from walkconv.graphs.strongest import Strongest
    >>> strongest = Strongest(1, 2)
    >>> strongest.offer(np.array([[0.1, -0.5, 0.3, 0.5]]), row=0, column=10)
    >>> strongest.column, strongest.value
    (array([[11, 13]]), array([[-0.5,  0.5]]))
    """

    def __init__(self, n_rows: int, n_kept: int):
        self.cell = np.full((n_rows, n_kept), -1)
        self.column = np.full((n_rows, n_kept), -1)
        self.value = np.zeros((n_rows, n_kept))

    def offer(self, tile: np.ndarray, *, row: int, column: int, both: bool = False) -> None:
        """Take a tile into account, whose first entry belongs to `row` and `column`.

        Zeros are no correlations. With `both` its mirror image counts too: what a row has with a
        column the column has with the row.
        """
        best = self.cell, self.column, self.value
        strength = np.abs(tile)
        _insert(tile, self._worthy(strength, row, axis=1), row, column, *best)
        if both:
            _insert_mirrored(tile, self._worthy(strength, column, axis=0), column, row, *best)

    def _worthy(self, strength: np.ndarray, first: int, *, axis: int) -> np.ndarray:
        """Return the entries of a tile that may be among the best of its rows, or columns."""
        n_kept = self.cell.shape[1]
        last = self.cell[first : first + strength.shape[1 - axis], -1]
        least = np.maximum((last - 0.5) * TIE_CELL, TINY).astype(strength.dtype)
        if (last < 0).any() and n_kept < strength.shape[axis]:
            own = np.partition(strength, -n_kept, axis=axis).take(-n_kept, axis=axis)
            least = np.maximum(least, own - 2 * TIE_CELL)
        return np.flatnonzero(strength >= np.expand_dims(least, axis))

    def rank(self, column: np.ndarray, value: np.ndarray) -> None:
        """Take the best of known correlations (n_rows, n_others); column -1 is none."""
        cell = np.where(column < 0, -1, np.rint(np.abs(value) / TIE_CELL)).astype(np.int64)
        order = np.lexsort((column, -cell), axis=1)[:, : self.cell.shape[1]]
        for mine, offered in ((self.cell, cell), (self.column, column), (self.value, value)):
            mine[:] = np.take_along_axis(offered, order, axis=1)

    def put(self, rows: np.ndarray, other: "Strongest") -> None:
        """Take the best of the given rows (n_others,) from another that keeps as many."""
        self.cell[rows] = other.cell
        self.column[rows] = other.column
        self.value[rows] = other.value


@compiled
def add_products(rows, column, value, start, stop):
    """Add to `value` (n_nodes, n_others) the products of nodes start to stop with their `column`.

    `rows` (n_nodes, m) holds some rows of the table, transposed, m a multiple of four for the
    sake of the processor; a column of -1 is none.
    """
    for node in range(start, stop):
        for place in range(column.shape[1]):
            other = column[node, place]
            if other >= 0:
                mine, its = rows[node], rows[other]
                a = b = c = d = 0.0
                for r in range(0, len(mine), 4):
                    a += mine[r] * its[r]
                    b += mine[r + 1] * its[r + 1]
                    c += mine[r + 2] * its[r + 2]
                    d += mine[r + 3] * its[r + 3]
                value[node, place] += (a + b) + (c + d)


@compiled
def _insert(tile, chosen, row, column, cells, columns, values):
    """Put entries of a tile in their places, those that are among the strongest of their rows."""
    for entry in chosen:
        here, there = divmod(entry, tile.shape[1])
        _put(tile[here, there], row + here, column + there, cells, columns, values)


@compiled
def _insert_mirrored(tile, chosen, row, column, cells, columns, values):
    """Do the same with the transposed tile."""
    for entry in chosen:
        there, here = divmod(entry, tile.shape[1])
        _put(tile[there, here], row + here, column + there, cells, columns, values)


@compiled
def _put(value, row, column, cells, columns, values):
    cell = np.int64(np.rint(np.abs(np.float64(value)) / TIE_CELL))
    n_kept = cells.shape[1]
    place = n_kept
    while place > 0 and (
        cell > cells[row, place - 1]
        or (cell == cells[row, place - 1] and column < columns[row, place - 1])
    ):
        place -= 1
    if place == n_kept:
        return
    for later in range(n_kept - 1, place, -1):
        cells[row, later] = cells[row, later - 1]
        columns[row, later] = columns[row, later - 1]
        values[row, later] = values[row, later - 1]
    cells[row, place] = cell
    columns[row, place] = column
    values[row, place] = value
