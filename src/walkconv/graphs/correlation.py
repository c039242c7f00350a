"""The graph of correlations between columns, equation (2) of the paper with the sign kept.

The matrix is computed in square tiles of columns, each tile from a few thousand rows at a time,
which are centred and scaled just before they are multiplied. A table may therefore be dense,
sparse or a memory map: little of it is dense and in double precision at any time. Where only the
strongest are kept, `search.py` finds them.
"""

import warnings
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from walkconv._checks import check_integer, check_table
from walkconv._cluster import Spread, check_client
from walkconv._threads import available_threads, done_in_threads
from walkconv.graphs.columns import Columns, Moments, correlations
from walkconv.graphs.search import find_strongest
from walkconv.graphs.strongest import Strongest

TILE_COLUMNS = 1024


def correlation_graph(
    X: Any, *, n_edges: int | None = None, tile_size: int | None = None, client: Any = None
) -> sp.csr_array:
    """Return the graph of Pearson correlations between the columns of X.

    Parameters
    ----------
    X : array, DataFrame, memory map or sparse matrix of shape (n_samples, n_nodes)
        The table whose columns are the nodes. Or an array that is sliced like one, as zarr, h5py
        and dask have them: it is read in parts.
    n_edges : int, optional
        Keep only the `n_edges` strongest correlations of each column (in absolute value, ties to
        the lowest column). Memory is then O(n_nodes * n_edges), at most 512 MiB for columns that
        are kept in single precision, and at most 1 GiB for what threads keep each for themselves;
        by default all pairs are kept.
    tile_size : int, optional
        Columns computed at once. It does not change the answer.
    client : dask.distributed.Client, optional
        Its workers do the work (extra ``walkconv[dask]``), given `n_edges`; when workers die their
        part is done again. X is sent to each of them once; workers of a LocalCluster map a copy of
        it in the folder for temporary files. Of a dask or zarr array only the recipe is sent, and
        they read it in parts, so it may be larger than their memory; a memory map is sent whole.
        The answer is the same bit for bit, given the same kind of processor and the same versions
        of numpy and numba on all machines.

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
    if client is not None:
        check_client(client)
        if n_edges is None:
            raise ValueError("With a client n_edges must be given: all pairs would come back here.")
    blocks = _blocks(table, tile_size, client)
    is_constant = np.concatenate([block.moments.is_constant for block in blocks])
    _warn_of_constant_columns(int(is_constant.sum()))
    if n_edges is None:
        return _all_pairs(blocks)
    return _as_graph(find_strongest(blocks, n_edges, client), is_constant)


def _blocks(table: Any, tile_size: int, client: Any) -> list[Columns]:
    """Return all columns in blocks; workers read those that are not here for their moments."""
    n_nodes = table.shape[1]
    ends = [(start, min(start + tile_size, n_nodes)) for start in range(0, n_nodes, tile_size)]
    is_here = isinstance(table, np.ndarray) or sp.issparse(table)
    if client is None or is_here:
        n_threads = available_threads() if is_here else 1  # who reads lazy ones may not like more
        moments = dict(done_in_threads(partial(_moments, table), ends, n_threads))
    else:
        moments = dict(Spread(client, table).done(_moments, ends))
    return [Columns(table, *place, moments=moments[place]) for place in ends]


def _moments(table: Any, ends: tuple[int, int]) -> Moments:
    return Columns(table, *ends).moments


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
    """Return the graph of all pairs (n_nodes, n_nodes), each tile and its mirror image at once."""
    strips = []
    tiles = [[] for _ in blocks]  # of each strip, from the left
    for place, here in enumerate(blocks):
        tiles[place].append(correlations(here, here))
        for later in range(place + 1, len(blocks)):
            tile = correlations(here, blocks[later])
            tiles[place].append(tile)
            tiles[later].append(tile.T)
        strip = np.hstack(tiles[place])
        tiles[place].clear()
        strip[np.arange(here.n_columns), here.columns] = ~here.moments.is_constant
        strips.append(sp.csr_array(strip))
    return sp.csr_array(sp.vstack(strips, format="csr"))


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
