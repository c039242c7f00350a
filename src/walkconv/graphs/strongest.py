"""The strongest correlations of every column, while tiles of the matrix come and go."""

import numpy as np

from walkconv._compiled import compiled

TIE_CELL = 2.0**-30
"""Correlations are compared in units of this, so that the order of adding decides no tie."""
MERGED_AT_ONCE = 2**12
TINY = float(np.finfo(np.float32).tiny)
TOGETHER = 64
"""Entries of a tile that are compared before any is looked at."""


class Strongest:
    """The running best correlations of some columns, strongest first, ties to the lowest column.

    Parameters
    ----------
    n_rows : int
        Columns whose best are sought.
    n_kept : int
        How many of each.
    first : int, default 0
        The first of these columns.

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

    def __init__(self, n_rows: int, n_kept: int, first: int = 0):
        self.first = first
        self.cell = np.full((n_rows, n_kept), -1)
        self.column = np.full((n_rows, n_kept), -1)
        self.value = np.zeros((n_rows, n_kept))

    def offer(
        self, tile: np.ndarray, *, row: int, column: int, mirrored: "Strongest | None" = None
    ) -> None:
        """Take a tile into account, whose first entry is of `row` and `column`.

        What a row has with a column the column has with the row: that is for `mirrored`, if given.
        Zeros are no correlations.
        """
        n_rows, n_columns = tile.shape
        mine = self._best(row, n_rows)
        its = mine if mirrored is None else mirrored._best(column, n_columns)
        of_rows, of_columns = _limit(mine[0][:, -1]), np.full(n_columns, np.inf)
        if mirrored is not None:
            of_columns = _limit(its[0][:, -1])
        limits = of_rows.astype(tile.dtype), of_columns.astype(tile.dtype)
        _insert(tile, *limits, row, column, mine, its)

    def _best(self, row: int, n_rows: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        rows = slice(row - self.first, row - self.first + n_rows)
        return self.cell[rows], self.column[rows], self.value[rows]

    def rank(self, rows: np.ndarray, column: np.ndarray, value: np.ndarray) -> None:
        """Let rows, counted from the first, have the best of known correlations (n_rows, n_others).

        A column of -1 is none.
        """
        cell = np.where(column < 0, -1, np.rint(np.abs(value) / TIE_CELL)).astype(np.int64)
        order = np.lexsort((column, -cell), axis=1)[:, : self.cell.shape[1]]
        for mine, offered in ((self.cell, cell), (self.column, column), (self.value, value)):
            mine[rows] = np.take_along_axis(offered, order, axis=1)

    def merge(self, row: int, column: np.ndarray, value: np.ndarray) -> None:
        """Take known correlations (n_rows, n_others) of the rows from `row` on into account."""
        for start in range(0, len(column), MERGED_AT_ONCE):
            part = slice(start, start + MERGED_AT_ONCE)
            rows = np.arange(row, row + len(column))[part] - self.first
            columns = np.hstack([self.column[rows], column[part]])
            self.rank(rows, columns, np.hstack([self.value[rows], value[part]]))


@compiled
def add_products(rows, nodes, column, value, start, stop):
    """Add to `value` (n, n_others) the products of `nodes` (n,) with their own `column`.

    It does so from `start` to `stop`. `rows` (n_nodes, m) holds some rows of the table, transposed,
    m a multiple of four for the sake of the processor; a column of -1 is none.
    """
    for which in range(start, stop):
        for place in range(column.shape[1]):
            other = column[which, place]
            if other >= 0:
                mine, its = rows[nodes[which]], rows[other]
                a = b = c = d = 0.0
                for r in range(0, len(mine), 4):
                    a += mine[r] * its[r]
                    b += mine[r + 1] * its[r + 1]
                    c += mine[r + 2] * its[r + 2]
                    d += mine[r + 3] * its[r + 3]
                value[which, place] += (a + b) + (c + d)


@compiled
def _limit(cell):
    """Return what has the given cell at least."""
    return np.maximum((cell - 0.5) * TIE_CELL, TINY)


@compiled
def _insert(tile, of_rows, of_columns, row, column, mine, its):
    """Put entries of a tile in their places, those at least as strong as the last of the best.

    Most are not. Some neighbouring entries at a time are compared without a branch between them,
    which processors do at once, and looked at one by one only where there is something.

    Parameters
    ----------
    tile : array of shape (n_rows, n_columns)
    of_rows, of_columns : arrays of shape (n_rows,) and (n_columns,)
        What the rows and the columns ask for; overwritten. Infinite where nothing is wanted.
    row, column : int
        Whom the first entry belongs to.
    mine, its : tuple
        Cells, columns and values of the best of the rows and of the columns, of the tile alone.
    """
    n_rows, n_columns = tile.shape
    for here in range(n_rows):
        for start in range(0, n_columns, TOGETHER):
            stop = min(start + TOGETHER, n_columns)
            n_found = 0
            for there in range(start, stop):
                n_found += abs(tile[here, there]) >= min(of_rows[here], of_columns[there])
            if n_found == 0:
                continue
            for there in range(start, stop):
                value = tile[here, there]
                if abs(value) >= of_rows[here]:
                    of_rows[here] = _limit(_put(value, here, column + there, mine))
                if abs(value) >= of_columns[there]:
                    of_columns[there] = _limit(_put(value, there, row + here, its))


@compiled
def _put(value, row, column, best):
    """Put a value among the best of a row if it is one of them; return the last cell there."""
    cells, columns, values = best
    cell = np.int64(np.rint(np.abs(np.float64(value)) / TIE_CELL))
    n_kept = cells.shape[1]
    place = n_kept
    while place > 0 and (
        cell > cells[row, place - 1]
        or (cell == cells[row, place - 1] and column < columns[row, place - 1])
    ):
        place -= 1
    for later in range(n_kept - 1, place, -1):
        cells[row, later] = cells[row, later - 1]
        columns[row, later] = columns[row, later - 1]
        values[row, later] = values[row, later - 1]
    if place < n_kept:
        cells[row, place] = cell
        columns[row, place] = column
        values[row, place] = value
    return cells[row, n_kept - 1]
