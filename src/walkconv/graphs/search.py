"""The search for the strongest correlations of every column.

Tiles in single precision say who may be among them, in half of the time; those few are computed
anew in double precision. What a tile can be wrong by is known, so a column whose strongest might
be others is told from the rest, and all of its correlations are computed in double precision. The
answer is as if all had been.

The values come from loops that add in one order (`add_products`), never from a library's matrix
products, which round as their threads have it. So they are the same bits wherever they are
computed, here or by the workers of a cluster, which share the columns and take groups of tiles.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from functools import cache, partial
from itertools import combinations_with_replacement
from threading import get_ident, local
from typing import Any

import numpy as np

from walkconv._blas import limit_products_here, limited_products
from walkconv._cluster import Spread, n_threads_of
from walkconv._threads import available_threads, done_in_threads, for_each_range
from walkconv.graphs.columns import CHUNK_BYTES, Columns, correlations, without_rounding
from walkconv.graphs.strongest import TIE_CELL, Strongest, add_products

SPARE = 8
"""So many more than the strongest are taken from matrix products."""
NODES_AT_ONCE = 512
SINGLE_BYTES = 2**29
"""Standardised columns in single precision that are kept for the next strip of tiles."""
LIST_BYTES = 2**30
"""Of the strongest of all columns that threads have each for themselves."""
TASKS_PER_THREAD = 8
ENTRIES_PER_TASK = 2**20
"""Of columns whose correlations a worker is asked for at once."""

Done = Callable[[Callable[[list[Columns], Any], Any], Sequence[Any]], Iterator[tuple[Any, Any]]]
"""Called with work and items, yields ``(item, work(blocks, item))`` for all items."""


def find_strongest(blocks: list[Columns], n_edges: int, client: Any = None) -> Strongest:
    """Return the `n_edges` strongest correlations of every column.

    Parameters
    ----------
    blocks : list of Columns
        All columns of a table.
    n_edges : int
        How many of each.
    client : distributed.Client, optional
        Whose workers do it; else it is done here.
    """
    n_nodes, n_threads = blocks[-1].stop, 0 if client is None else n_threads_of(client)
    done = partial(_done_here, blocks) if client is None else Spread(client, blocks).done
    n_kept = min(n_edges + SPARE, max(1, n_nodes - 1))
    strongest = Strongest(n_nodes, n_edges)
    is_sure = np.concatenate([block.moments.is_constant for block in blocks])
    if n_nodes > 4 * (n_edges + SPARE):
        candidates, error = _candidates(blocks, n_kept, done, n_threads)
        _rank(strongest, np.arange(n_nodes), candidates.column, done, n_threads)
        others = np.abs(candidates.value[:, -1]) + error + 2 * TIE_CELL
        is_sure |= np.abs(strongest.value[:, -1]) > others
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
    """Return the strongest in single precision, and how wrong a correlation may be.

    A product of standardised columns in single precision, of m rows added in any order, is wrong by
    at most ``m u / (1 - m u)`` with u = 2^-24, and m a little larger for rounding the columns
    themselves: the absolute products of two columns of length 1 add to 1 at most. Where the last of
    the strongest is farther than that from all that were not looked at, it is sure.
    """
    n_groups = max(1, math.isqrt(2 * TASKS_PER_THREAD * n_threads))
    size = -(-len(blocks) // n_groups)
    groups = [(start, start + size) for start in range(0, len(blocks), size)]
    pairs = list(combinations_with_replacement(groups, 2))
    strongest = Strongest(blocks[-1].stop, n_kept)
    work = partial(_tiles, n_kept, _threads_of_a_task(n_threads))
    for pair, found in done(work, pairs):
        for group, (column, value) in zip(pair, found, strict=False):
            strongest.merge(blocks[group[0]].start, column, value)
    n_rows, rows_at_once = blocks[0].n_rows, blocks[0].rows_at_once
    n_chunks = -(-n_rows // rows_at_once)
    rounding = (min(n_rows, rows_at_once) + n_chunks + 8) * 2.0**-24
    return strongest, rounding / (1.0 - rounding) if rounding < 1 else np.inf


def _threads_of_a_task(n_threads: int) -> int:
    """Return with how many threads to do one thing, while a cluster has so many for others."""
    return 1 if n_threads else available_threads()


def _tiles(
    n_kept: int,
    n_threads: int,
    blocks: list[Columns],
    pair: tuple[tuple[int, int], tuple[int, int]],
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the strongest between two groups of blocks: column and value of one, then the other.

    Of a group with itself only one comes back. Each thread multiplies tiles and looks through them
    by itself, so that nobody waits for the others; what they find is put together at the end. With
    fewer tiles than threads, or too many columns for a list in each, products have the rest.
    """
    groups = [blocks[start:stop] for start, stop in dict.fromkeys(pair)]
    n_rows, rows_at_once = blocks[0].n_rows, blocks[0].rows_at_once
    widths = [group[-1].stop - group[0].start for group in groups]
    read = cache(_single) if 4 * n_rows * sum(widths) <= SINGLE_BYTES else _single
    tiles = [
        (here, there)
        for place, here in enumerate(groups[0])
        for there in groups[-1][place if len(groups) == 1 else 0 :]
    ]
    n_at_once = min(n_threads, len(tiles), max(1, LIST_BYTES // (24 * n_kept * sum(widths))))
    if blocks[0].is_lazy:
        n_at_once = 1
    found: list[list[Strongest]] = []
    own, caller = local(), get_ident()

    def search(sides: tuple[Columns, Columns]) -> None:
        if not hasattr(own, "best"):
            own.best = [
                Strongest(width, n_kept, group[0].start)
                for width, group in zip(widths, groups, strict=True)
            ]
            found.append(own.best)
            if n_at_once > 1 and get_ident() != caller:
                limit_products_here(n_threads // n_at_once)
        here, there = sides
        tile = read(here, 0, rows_at_once).T @ read(there, 0, rows_at_once)
        for start in range(rows_at_once, n_rows, rows_at_once):
            stop = start + rows_at_once
            tile += read(here, start, stop).T @ read(there, start, stop)
        if there is here:
            np.fill_diagonal(tile, 0.0)
        mirrored = None if there is here else own.best[-1]
        own.best[0].offer(tile, row=here.start, column=there.start, mirrored=mirrored)

    with limited_products(n_threads // n_at_once) if n_at_once > 1 else nullcontext():
        for _ in done_in_threads(search, tiles, n_at_once):
            pass
    best, *others = found
    for other in others:
        for one, more in zip(best, other, strict=True):
            one.merge(one.first, more.column, more.value)
    return [(one.column.astype(np.int32), one.value.astype(np.float32)) for one in best]


def _single(block: Columns, start: int, stop: int) -> np.ndarray:
    return block.standardised(start, stop).astype(np.float32)


def _strongest_of(n_kept: int, blocks: list[Columns], some: tuple[int, np.ndarray]) -> np.ndarray:
    """Return with whom some columns of a block are strongest, of all in double precision."""
    place, chosen = some
    here = blocks[place].some(chosen)
    strongest = Strongest(here.n_columns, n_kept)
    for there in blocks:
        strongest.offer(correlations(here, there), row=0, column=there.start)
    return strongest.column


def _rank(
    strongest: Strongest, nodes: np.ndarray, column: np.ndarray, done: Done, n_threads: int
) -> None:
    """Let nodes (n,) have the strongest of their correlations with `column` (n, n_others)."""
    size = len(nodes)
    if n_threads:
        size = min(-(-size // n_threads), max(1, ENTRIES_PER_TASK // column.shape[1]))
    starts = range(0, len(nodes), size)
    parts = [(nodes[start : start + size], column[start : start + size]) for start in starts]
    work = partial(_products, _threads_of_a_task(n_threads))
    for (some, others), value in done(work, parts):
        strongest.rank(some, others, value)


def _products(
    n_threads: int, blocks: list[Columns], part: tuple[np.ndarray, np.ndarray]
) -> np.ndarray:
    """Return the correlations (n, n_others) of some columns, each with its own others."""
    nodes, column = part
    n_rows, n_nodes = blocks[0].n_rows, blocks[-1].stop
    rows_at_once = 4 * min(-(-n_rows // 4), max(1, CHUNK_BYTES // (32 * n_nodes)))
    value = np.zeros(column.shape)
    for start in range(0, n_rows, rows_at_once):
        rows = np.zeros((n_nodes, rows_at_once))

        def read(first: int, last: int, rows: np.ndarray = rows, start: int = start) -> None:
            for block in blocks[first:last]:
                some = block.standardised(start, start + rows_at_once)
                rows[block.start : block.stop, : len(some)] = some.T

        for_each_range(len(blocks), 1, 1 if blocks[0].is_lazy else n_threads, read)
        add = partial(add_products, rows, nodes, column, value)
        for_each_range(len(nodes), NODES_AT_ONCE, n_threads, add)
    return without_rounding(value)
