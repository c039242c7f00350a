"""The graph of correlations between columns, equation (2) of the paper with the sign kept.

The matrix is computed in square tiles of columns. Each tile reads a few thousand rows at a time,
which are centred and scaled just before they are multiplied. So the table may be dense, sparse or a
memory map: only a small part is dense and in double precision at any time. If only the strongest
correlations are kept, `search.py` finds them.
"""

from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from walkconv._checks import check_integer, check_table
from walkconv._cluster import Spread, check_client
from walkconv._threads import available_threads, done_in_threads
from walkconv._warnings import warn_user
from walkconv.graphs.correlation.columns import Columns, Moments, correlations
from walkconv.graphs.correlation.search import find_strongest
from walkconv.graphs.correlation.strongest import Strongest
from walkconv.graphs.missing import refuse_empty_columns

TILE_COLUMNS = 1024
MANY_NODES = 4096
"""With more nodes than this, not all pairs of columns are kept, only the strongest of each column.

All pairs of 4,096 columns take 200 MB as a CSR matrix.
"""
KEPT_EDGES = 128
"""Edges of each column that are kept for a random walk of several steps.

Such a walk passes through columns that are not selected in the end, so it needs more than these.
"""


def correlation_graph(
    X: Any, *, n_edges: int | None = None, tile_size: int | None = None, client: Any = None
) -> sp.csr_array:
    """Return the graph of Pearson correlations between the columns of X.

    Parameters
    ----------
    X : array, DataFrame, memory map or sparse matrix of shape (n_samples, n_nodes)
        The table whose columns are the nodes. It may also be an array of zarr, h5py or dask, which
        is read in parts. A missing value (NaN) counts as the mean of the other values of its
        column, as in the estimators.
    n_edges : int, optional
        Keep only the `n_edges` strongest correlations of each column, by absolute value. Ties go to
        the lowest column. Memory is then O(n_nodes * n_edges), plus at most 512 MiB for columns in
        single precision and 1 GiB for the lists of all threads. By default all pairs are kept.
    tile_size : int, optional
        Columns computed at once. It does not change the answer.
    client : dask.distributed.Client, optional
        Its workers do the work (extra ``walkconv[dask]``); needs `n_edges`. If a worker dies, its
        part is done again. X is sent to each worker once; the workers of a LocalCluster map one
        copy of it from a temporary file. Workers read a dask or zarr array themselves in parts, so
        it may be larger than their memory; a memory map is sent whole. The answer is the same bit
        for bit if all machines have the same kind of processor and the same versions of numpy and
        walkconv.

    Returns
    -------
    csr_array of shape (n_nodes, n_nodes), float64
        Entry (i, j) is the correlation of columns i and j, with its sign; the diagonal is 1. With
        `n_edges` row i holds the strongest correlations of column i, so the matrix may be
        asymmetric. A constant column has no correlation: it becomes a node without edges, and a
        warning gives the number of such columns.

    Raises
    ------
    ValueError
        If a column has no value at all, or X holds infinity.

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
    graph, n_constant = correlate_columns(X, n_edges, tile_size, client)
    if n_constant:
        warn_user(
            f"{n_constant} constant column(s) have no correlation and become isolated nodes.",
        )
    return graph


def correlate_columns(
    X: Any, n_edges: int | None = None, tile_size: int | None = None, client: Any = None
) -> tuple[sp.csr_array, int]:
    """Return the graph and the number of constant columns; arguments as in `correlation_graph`."""
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
            raise ValueError(
                "n_edges must be given with a client; got None. All pairs would be sent back here: "
                "set n_edges, or call without client."
            )
    # The moments are measured first: a column without values or with infinity is refused before
    # the long computation.
    blocks = _blocks(table, tile_size, client)
    n_present = np.concatenate([block.moments.n_present for block in blocks])
    if not n_present.all():
        refuse_empty_columns(n_present == 0, X)
    is_constant = np.concatenate([block.moments.is_constant for block in blocks])
    n_constant = int(is_constant.sum())
    if n_edges is None:
        return _all_pairs(blocks), n_constant
    return _as_graph(find_strongest(blocks, n_edges, client), is_constant), n_constant


def edges_to_keep(n_nodes: int, n_neighbors: int, *, is_ranked_at_once: bool) -> int | None:
    """Return the number of edges to keep of each column, or None to keep all.

    Parameters
    ----------
    n_nodes : int
        Number of columns. Up to `MANY_NODES` all edges are kept.
    n_neighbors : int
        Neighbors that will be selected for each column, the column itself included.
    is_ranked_at_once : bool
        Whether the strongest edges of a column are its neighbors, as with one step of the walk.
        Then more than `n_neighbors - 1` edges would change nothing.

    Returns
    -------
    int or None
        The `n_edges` of `correlation_graph` and `heat_kernel_graph`.

    Examples
    --------
    >>> from walkconv.graphs import edges_to_keep
    >>> edges_to_keep(784, 25, is_ranked_at_once=True)  # None: all
    >>> edges_to_keep(20_000, 25, is_ranked_at_once=True)
    24
    >>> edges_to_keep(20_000, 25, is_ranked_at_once=False)
    128
    """
    if n_nodes <= MANY_NODES:
        return None
    needed = max(1, n_neighbors - 1)
    return min(needed if is_ranked_at_once else max(KEPT_EDGES, needed), n_nodes - 1)


def _blocks(table: Any, tile_size: int, client: Any) -> list[Columns]:
    """Return all columns in blocks, measured by threads, or by workers if the table is lazy."""
    n_nodes = table.shape[1]
    ends = [(start, min(start + tile_size, n_nodes)) for start in range(0, n_nodes, tile_size)]
    is_here = isinstance(table, np.ndarray) or sp.issparse(table)
    if client is None or is_here:
        n_threads = available_threads() if is_here else 1  # a lazy reader may not be thread-safe
        moments = dict(done_in_threads(partial(_moments, table), ends, n_threads))
    else:
        moments = dict(Spread(client, table).done(_moments, ends))
    return [Columns(table, *place, moments=moments[place]) for place in ends]


def _moments(table: Any, ends: tuple[int, int]) -> Moments:
    return Columns(table, *ends).moments


def _as_table(X: Any) -> Any:
    """Return a checked table. An array that is read slice by slice stays as it is."""
    is_lazy = isinstance(getattr(X, "dtype", None), np.dtype)
    if not is_lazy or isinstance(X, np.ndarray) or sp.issparse(X):
        return check_table(X, allow_missing=True)
    sides = [side for side in X.shape if isinstance(side, int | np.integer)]
    if len(X.shape) != 2 or len(sides) != 2 or X.dtype.kind not in "biuf":
        raise ValueError(
            "X must be a table of numbers (n_samples, n_nodes) of known size; got "
            f"{X.dtype} of shape {X.shape}. For a dask array, call X.compute_chunk_sizes()."
        )
    return X


def _all_pairs(blocks: list[Columns]) -> sp.csr_array:
    """Return the graph of all pairs (n_nodes, n_nodes), each tile and its mirror image at once."""
    strips = []
    tiles = [[] for _ in blocks]  # the tiles of each strip, from left to right
    for place, here in enumerate(blocks):
        tiles[place].append(correlations(here, here))
        for later in range(place + 1, len(blocks)):
            tile = correlations(here, blocks[later])
            tiles[place].append(tile)
            tiles[later].append(tile.T)
        strip = np.hstack(tiles[place])
        tiles[place].clear()
        strip[np.arange(here.n_columns), here.columns] = ~here.moments.is_constant
        # Sparse at once: only one strip (TILE_COLUMNS, n_nodes) is dense at a time.
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
