"""The graph of correlations between columns, equation (2) of the paper with the sign kept.

The matrix is computed in square tiles of columns, each tile from a few thousand rows at a time,
which are centred and scaled just before they are multiplied. A table may therefore be dense,
sparse or a memory map: little of it is dense and in double precision at any time.

Where only the strongest are kept, tiles in single precision say who may be among them, in half of
the time; those few are computed anew in double precision. What a tile can be wrong by is known, so
a column whose strongest might be others is told from the rest, and all of its correlations are
computed in double precision. The answer is as if all had been.
"""

import warnings
from functools import cache, partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from walkconv._checks import check_integer, check_table
from walkconv._threads import available_threads, for_each_range
from walkconv.graphs.columns import CHUNK_BYTES, Columns
from walkconv.graphs.strongest import TIE_CELL, Strongest, add_products

ROUNDING = 1e-12
"""Correlations below this are what rounding leaves of zero: no edge."""
TILE_COLUMNS = 1024
SPARE = 8
"""So many more than the strongest are taken from single precision."""
NODES_AT_ONCE = 512
SINGLE_BYTES = 2**29
"""Standardised columns in single precision that are kept for the next strip of tiles."""


def correlation_graph(
    X: Any, *, n_edges: int | None = None, tile_size: int | None = None
) -> sp.csr_array:
    """Return the graph of Pearson correlations between the columns of X.

    Parameters
    ----------
    X : array, DataFrame, memory map or sparse matrix of shape (n_samples, n_nodes)
        The table whose columns are the nodes. Or an array that is sliced like one, as zarr, h5py
        and dask have them: it is read in parts.
    n_edges : int, optional
        Keep only the `n_edges` strongest correlations of each column (in absolute value, ties to
        the lowest column). Memory is then O(n_nodes * n_edges), and at most 512 MiB for columns
        that are kept in single precision; by default all pairs are kept.
    tile_size : int, optional
        Columns computed at once. It does not change the answer.

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
    table = _as_table(X)
    n_samples, n_nodes = table.shape
    if n_samples < 2:
        raise ValueError(f"X must have at least 2 rows to correlate its columns; got {n_samples}.")
    if n_nodes < 1:
        raise ValueError("X must have at least one column; got none.")
    if n_edges is not None:
        n_edges = check_integer(n_edges, "n_edges", minimum=1, maximum=max(1, n_nodes - 1))
    tile_size = check_integer(
        TILE_COLUMNS if tile_size is None else tile_size, "tile_size", minimum=1
    )
    starts = range(0, n_nodes, tile_size)
    blocks = [Columns(table, start, min(start + tile_size, n_nodes)) for start in starts]
    is_constant = np.concatenate([block.is_constant for block in blocks])
    _warn_of_constant_columns(int(is_constant.sum()))
    if n_edges is None:
        return _all_pairs(blocks)
    strongest, is_sure = Strongest(n_nodes, n_edges), is_constant.copy()
    if n_nodes > 4 * (n_edges + SPARE):
        is_sure |= _screen(blocks, strongest)
    for block in blocks:
        unsure = np.flatnonzero(~is_sure[block.start : block.stop])
        if len(unsure):
            strongest.put(block.start + unsure, _strongest_of(block.some(unsure), blocks, n_edges))
    return _as_graph(strongest, is_constant)


def _as_table(X: Any) -> Any:
    """Return a checked table; an array that is read slice by slice as it came."""
    is_lazy = isinstance(getattr(X, "dtype", None), np.dtype)
    if not is_lazy or isinstance(X, np.ndarray) or sp.issparse(X):
        return check_table(X)
    sides = [side for side in X.shape if isinstance(side, int | np.integer)]
    if len(X.shape) != 2 or len(sides) != 2 or X.dtype.kind not in "biuf":
        raise ValueError(
            "X must be a table of numbers (n_samples, n_nodes) of known size; got "
            f"{X.dtype} of shape {X.shape}."
        )
    return X


def _all_pairs(blocks: list[Columns]) -> sp.csr_array:
    """Return the graph of all pairs (n_nodes, n_nodes)."""
    strips = []
    for here in blocks:
        strip = np.hstack([_correlations(here, there) for there in blocks])
        strip[np.arange(here.n_columns), here.columns] = ~here.is_constant
        strips.append(sp.csr_array(strip))
    return sp.csr_array(sp.vstack(strips, format="csr"))


def _strongest_of(here: Columns, blocks: list[Columns], n_kept: int) -> Strongest:
    """Return the strongest correlations of a few columns, all computed in double precision."""
    strongest = Strongest(here.n_columns, n_kept)
    for there in blocks:
        strongest.offer(_correlations(here, there), row=0, column=there.start)
    return strongest


def _correlations(here: Columns, there: Columns) -> np.ndarray:
    """Return the correlations (n_here, n_there) of columns; 0 for a column with itself."""
    tile = np.zeros((here.n_columns, there.n_columns))
    for start in range(0, here.n_rows, there.rows_at_once):
        stop = start + there.rows_at_once
        rows = here.standardised(start, stop)
        tile += rows.T @ (rows if there is here else there.standardised(start, stop))
    tile[here.columns[:, None] == there.columns] = 0.0
    return _without_rounding(tile)


def _without_rounding(correlation: np.ndarray) -> np.ndarray:
    correlation[np.abs(correlation) < ROUNDING] = 0.0
    return np.clip(correlation, -1.0, 1.0, out=correlation)


def _screen(blocks: list[Columns], strongest: Strongest) -> np.ndarray:
    """Fill in the strongest that single precision can tell; return which columns (n_nodes,) are.

    A product of standardised columns in single precision, of m rows added in any order, is wrong by
    at most ``m u / (1 - m u)`` with u = 2^-24, and m a little larger for rounding the columns
    themselves: the absolute products of two columns of length 1 add to 1 at most. Where the last of
    the strongest is farther than that from all that were not looked at, it is sure.
    """
    candidates, error = _candidates(blocks, strongest.column.shape[1] + SPARE)
    strongest.rank(candidates.column, _products(blocks, candidates.column))
    others = np.abs(candidates.value[:, -1]) + error + 2 * TIE_CELL
    return np.abs(strongest.value[:, -1]) > others


def _candidates(blocks: list[Columns], n_kept: int) -> tuple[Strongest, float]:
    """Return the strongest in single precision, and how wrong a correlation may be."""
    n_rows, n_nodes, rows_at_once = blocks[0].n_rows, blocks[-1].stop, blocks[0].rows_at_once
    read = _single
    if 4 * n_rows * n_nodes <= SINGLE_BYTES:
        read = cache(_single)
    strongest = Strongest(n_nodes, n_kept)
    for place, here in enumerate(blocks):
        for there in blocks[place:]:
            tile = read(here, 0, rows_at_once).T @ read(there, 0, rows_at_once)
            for start in range(rows_at_once, n_rows, rows_at_once):
                stop = start + rows_at_once
                tile += read(here, start, stop).T @ read(there, start, stop)
            if there is here:
                np.fill_diagonal(tile, 0.0)
            strongest.offer(tile, row=here.start, column=there.start, both=there is not here)
    n_chunks = -(-n_rows // rows_at_once)
    rounding = (min(n_rows, rows_at_once) + n_chunks + 8) * 2.0**-24
    return strongest, rounding / (1.0 - rounding) if rounding < 1 else np.inf


def _single(block: Columns, start: int, stop: int) -> np.ndarray:
    return block.standardised(start, stop).astype(np.float32)


def _products(blocks: list[Columns], column: np.ndarray) -> np.ndarray:
    """Return the correlation of every column with each of its own `column` (n_nodes, n_others)."""
    n_rows, n_nodes = blocks[0].n_rows, len(column)
    rows_at_once = 4 * min(-(-n_rows // 4), max(1, CHUNK_BYTES // (32 * n_nodes)))
    value = np.zeros(column.shape)
    for start in range(0, n_rows, rows_at_once):
        rows = np.zeros((n_nodes, rows_at_once))

        def read(first: int, last: int, rows: np.ndarray = rows, start: int = start) -> None:
            for block in blocks[first:last]:
                some = block.standardised(start, start + rows_at_once)
                rows[block.start : block.stop, : len(some)] = some.T

        for_each_range(len(blocks), 1, available_threads(), read)
        add = partial(add_products, rows, column, value)
        for_each_range(n_nodes, NODES_AT_ONCE, available_threads(), add)
    return _without_rounding(value)


def _as_graph(strongest: Strongest, is_constant: np.ndarray) -> sp.csr_array:
    """Return the graph (n_nodes, n_nodes), with 1 on the diagonal where a column varies."""
    n_nodes = len(is_constant)
    row, place = np.nonzero(strongest.value)
    varying = np.flatnonzero(~is_constant)
    value = np.concatenate([strongest.value[row, place], np.ones(len(varying))])
    rows = np.concatenate([row, varying])
    columns = np.concatenate([strongest.column[row, place], varying])
    graph = sp.csr_array((value, (rows, columns)), shape=(n_nodes, n_nodes))
    graph.sort_indices()
    return graph


def _warn_of_constant_columns(n_constant: int) -> None:
    if n_constant:
        warnings.warn(
            f"{n_constant} constant column(s) have no correlation and become isolated nodes.",
            UserWarning,
            stacklevel=3,
        )
