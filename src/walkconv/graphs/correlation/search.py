"""The search for the strongest correlations of every column.

1. Tiles of the matrix in single precision name the candidates, in half the time of double.
2. The few candidates of each column are computed again in double precision.
3. The error of a tile has a known bound. Where another column could still be among the strongest,
   all correlations of that column are computed in double precision.

So the answer equals that of double precision everywhere.

The values come from loops that add in one order (`add_products`), never from the matrix products of
a library, whose rounding depends on its threads. So they are the same bits wherever they are
computed: here, or by the workers of a cluster, each of which takes groups of tiles.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import cache, partial
from itertools import combinations_with_replacement
from threading import Lock, get_ident, local
from typing import Any

import numpy as np
from threadpoolctl import ThreadpoolController

from walkconv._cluster import Spread, n_threads_of
from walkconv._threads import available_threads, done_in_threads, for_each_range
from walkconv.graphs.correlation.columns import (
    CHUNK_BYTES,
    Columns,
    correlations,
    without_rounding,
)
from walkconv.graphs.correlation.strongest import TIE_CELL, Strongest, add_products

SPARE = 8
"""Candidates of each column beyond the number of edges: with them few columns stay undecided."""
NODES_AT_ONCE = 512
SINGLE_BYTES = 2**29
"""Most bytes of standardised columns in single precision that are kept for the next tiles."""
LIST_BYTES = 2**30
"""Most bytes of the lists of strongest correlations, one list for each thread."""
TASKS_PER_THREAD = 8
ENTRIES_PER_TASK = 2**20
"""Most correlations that one task of a cluster computes in double precision."""

Done = Callable[[Callable[[list[Columns], Any], Any], Sequence[Any]], Iterator[tuple[Any, Any]]]
"""Called with work and items, yields ``(item, work(blocks, item))`` for all items."""


def find_strongest(blocks: list[Columns], n_edges: int, client: Any = None) -> Strongest:
    """Return the `n_edges` strongest correlations of every column.

    Parameters
    ----------
    blocks : list of Columns
        All columns of a table.
    n_edges : int
        Number of correlations to keep of each column.
    client : distributed.Client, optional
        The dask client whose workers do the work. By default it is done in this process.
    """
    n_nodes, n_threads = blocks[-1].stop, 0 if client is None else n_threads_of(client)
    done = partial(_done_here, blocks) if client is None else Spread(client, blocks).done
    n_kept = min(n_edges + SPARE, max(1, n_nodes - 1))
    strongest = Strongest(n_nodes, n_edges)
    # A constant column has no correlations, so nothing remains to be found.
    is_sure = np.concatenate([block.moments.is_constant for block in blocks])
    # Where the candidates would be a quarter of all columns, steps 1 and 2 save nothing.
    if n_nodes > 4 * (n_edges + SPARE):
        candidates, error = _candidates(blocks, n_kept, done, n_threads)
        # Two cells are added because strengths are rounded to cells before they compare.
        error += 2 * TIE_CELL
        strength = np.abs(candidates.value)
        # `n_edges` columns are stronger than any candidate that lies further below: it is dropped.
        is_weak = strength < strength[:, n_edges - 1 : n_edges] - 2 * error
        column = np.where(is_weak, -1, candidates.column)
        _rank(strongest, np.arange(n_nodes), column, done, n_threads)
        # No column outside the candidates can be stronger than the weakest candidate plus the
        # error.
        is_sure |= np.abs(strongest.value[:, -1]) > strength[:, -1] + error
    # Step 3: the undecided columns of each block, against all columns.
    some = [(place, np.flatnonzero(~is_sure[b.start : b.stop])) for place, b in enumerate(blocks)]
    some = [(place, chosen) for place, chosen in some if len(chosen)]
    found = list(done(partial(_strongest_of, n_kept), some))
    if found:
        unsure = np.concatenate([blocks[place].start + chosen for (place, chosen), _ in found])
        _rank(strongest, unsure, np.concatenate([column for _, column in found]), done, n_threads)
    return strongest


def _done_here(blocks: list[Columns], work: Callable, items: Sequence) -> Iterator[tuple]:
    return ((item, work(blocks, item)) for item in items)


def _candidates(
    blocks: list[Columns], n_kept: int, done: Done, n_threads: int
) -> tuple[Strongest, float]:
    """Return the strongest correlations in single precision, and the bound of their error.

    The sum of m products in single precision, in any order, has an error of at most
    ``m u / (1 - m u)`` with u = 2^-24, because the absolute products of two columns of length 1 add
    up to at most 1. m is a little larger than the number of rows, for rounding the columns
    themselves.
    """
    # g groups make g (g + 1) / 2 tasks; here g is chosen for TASKS_PER_THREAD tasks per thread.
    n_groups = max(1, math.isqrt(2 * TASKS_PER_THREAD * n_threads))
    size = -(-len(blocks) // n_groups)
    groups = [(start, start + size) for start in range(0, len(blocks), size)]
    pairs = list(combinations_with_replacement(groups, 2))
    strongest = Strongest(blocks[-1].stop, n_kept)
    work = partial(_tiles, n_kept, _threads_of_a_task(n_threads))
    for pair, found in done(work, pairs):
        # A group paired with itself has one result, so the second of the pair is skipped.
        for group, (column, value) in zip(pair, found, strict=False):
            strongest.merge(blocks[group[0]].start, column, value)
    # Rows are added within a chunk first, then the chunks: m is the sum of the two counts.
    n_rows, rows_at_once = blocks[0].n_rows, blocks[0].rows_at_once
    n_chunks = -(-n_rows // rows_at_once)
    rounding = (min(n_rows, rows_at_once) + n_chunks + 8) * 2.0**-24
    return strongest, rounding / (1.0 - rounding) if rounding < 1 else np.inf


def _threads_of_a_task(n_threads: int) -> int:
    """Return the number of threads per task: one on a cluster, all available threads locally."""
    return 1 if n_threads else available_threads()


def _tiles(
    n_kept: int,
    n_threads: int,
    blocks: list[Columns],
    pair: tuple[tuple[int, int], tuple[int, int]],
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the strongest between two groups of blocks: columns and values of each group.

    For a group paired with itself there is one result. Each thread multiplies tiles and searches
    them by itself, so that no thread waits for another. Their lists are merged at the end.
    """
    groups = [blocks[start:stop] for start, stop in dict.fromkeys(pair)]
    n_rows, rows_at_once = blocks[0].n_rows, blocks[0].rows_at_once
    widths = [group[-1].stop - group[0].start for group in groups]
    # Every block is part of many tiles: it is standardised once where all blocks fit in memory.
    read = cache(_single) if 4 * n_rows * sum(widths) <= SINGLE_BYTES else _single
    # The matrix is symmetric, so a group paired with itself needs only its upper triangle.
    tiles = [
        (here, there)
        for place, here in enumerate(groups[0])
        for there in groups[-1][place if len(groups) == 1 else 0 :]
    ]
    # Each thread has a list of three arrays of 8 bytes (24). Threads that are not used here,
    # because tiles or memory are few, go to the matrix products instead.
    n_at_once = min(n_threads, len(tiles), max(1, LIST_BYTES // (24 * n_kept * sum(widths))))
    if blocks[0].is_lazy:
        n_at_once = 1
    found: list[list[Strongest]] = []
    own, caller = local(), get_ident()

    def search(sides: tuple[Columns, Columns]) -> None:
        if not hasattr(own, "best"):  # the first tile of this thread
            own.best = [
                Strongest(width, n_kept, group[0].start)
                for width, group in zip(widths, groups, strict=True)
            ]
            own.tile = None
            found.append(own.best)
            if n_at_once > 1 and get_ident() != caller:
                limit_products_here(n_threads // n_at_once)
        here, there = sides
        # Every tile is written over the one before: new memory costs a page fault per page.
        if own.tile is None or own.tile.shape != (here.n_columns, there.n_columns):
            own.tile = np.empty((here.n_columns, there.n_columns), np.float32)
        tile = np.matmul(read(here, 0, rows_at_once).T, read(there, 0, rows_at_once), out=own.tile)
        for start in range(rows_at_once, n_rows, rows_at_once):
            stop = start + rows_at_once
            tile += read(here, start, stop).T @ read(there, start, stop)
        if there is here:
            np.fill_diagonal(tile, 0.0)
        # One tile serves both sides: its rows are `here`, its columns are `there`.
        mirrored = None if there is here else own.best[-1]
        own.best[0].offer(tile, row=here.start, column=there.start, mirrored=mirrored)

    with limited_products(n_threads // n_at_once) if n_at_once > 1 else nullcontext():
        for _ in done_in_threads(search, tiles, n_at_once):
            pass
    best, *others = found
    for other in others:
        for one, more in zip(best, other, strict=True):
            one.merge(one.first, more.column, more.value)
    # Short types: on a cluster this is what travels.
    return [(one.column.astype(np.int32), one.value.astype(np.float32)) for one in best]


def _single(block: Columns, start: int, stop: int) -> np.ndarray:
    return block.standardised(start, stop, np.float32)


def _strongest_of(n_kept: int, blocks: list[Columns], some: tuple[int, np.ndarray]) -> np.ndarray:
    """Return the partners (n_chosen, n_kept) of some columns of a block, in double precision."""
    place, chosen = some
    here = blocks[place].some(chosen)
    strongest = Strongest(here.n_columns, n_kept)
    for there in blocks:
        strongest.offer(correlations(here, there), row=0, column=there.start)
    return strongest.column


def _rank(
    strongest: Strongest, nodes: np.ndarray, column: np.ndarray, done: Done, n_threads: int
) -> None:
    """Give nodes (n,) the strongest of their correlations with `column` (n, n_others)."""
    size = len(nodes)
    if n_threads:  # a cluster: every thread gets a part, and none gets more than a task may have
        size = min(-(-size // n_threads), max(1, ENTRIES_PER_TASK // column.shape[1]))
    starts = range(0, len(nodes), size)
    parts = [(nodes[start : start + size], column[start : start + size]) for start in starts]
    work = partial(_products, _threads_of_a_task(n_threads))
    for (some, others), value in done(work, parts):
        strongest.rank(some, others, value)


def _products(
    n_threads: int, blocks: list[Columns], part: tuple[np.ndarray, np.ndarray]
) -> np.ndarray:
    """Return the correlations (n, n_others) of nodes (n,) with their columns (n, n_others)."""
    nodes, column = part
    n_rows, n_nodes = blocks[0].n_rows, blocks[-1].stop
    # A multiple of four, as `add_products` needs it; rows that do not exist stay zero.
    rows_at_once = 4 * min(-(-n_rows // 4), max(1, CHUNK_BYTES // (32 * n_nodes)))
    value = np.zeros(column.shape)
    rows = np.zeros((n_nodes, rows_at_once))  # transposed: a node's values lie together
    for start in range(0, n_rows, rows_at_once):
        stop = min(start + rows_at_once, n_rows)
        rows[:, stop - start :] = 0.0

        def read(first: int, last: int, start: int = start, stop: int = stop) -> None:
            for block in blocks[first:last]:
                block.standardise(start, stop, rows[block.start : block.stop].T)

        for_each_range(len(blocks), 1, 1 if blocks[0].is_lazy else n_threads, read)
        add = partial(add_products, rows, nodes, column, value)
        for_each_range(len(nodes), NODES_AT_ONCE, n_threads, add)
    return without_rounding(value)


_LOCK = Lock()
_LIMITS: list = []
"""One entry for each `limited_products` in progress; the first entry holds the limit."""


@contextmanager
def limited_products(n_threads: int) -> Iterator[None]:
    """Limit matrix products to `n_threads` threads each until the last such block ends.

    Some libraries have one number of threads for the whole process. So overlapping blocks share one
    limit: if each restored the number it found, a block could restore the limit of another.
    """
    with _LOCK:
        if not _LIMITS:
            _LIMITS.append(_controller().limit(limits=n_threads, user_api="blas"))
        else:
            _LIMITS.append(None)
    try:
        yield
    finally:
        with _LOCK:
            limit = _LIMITS[0] if len(_LIMITS) == 1 else None
            _LIMITS.pop()
            if limit is not None:
                limit.restore_original_limits()


def limit_products_here(n_threads: int) -> None:
    """Limit the products of a thread that ends soon: some libraries count by thread."""
    _controller().limit(limits=n_threads, user_api="blas")


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()  # once: it looks through all libraries of the process
