"""The settings of a selection, and how its rows are handed out, kept and counted."""

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from tqdm import tqdm

from walkconv._cluster import Spread, n_threads_of
from walkconv._threads import done_in_threads, for_each_range
from walkconv.walks.block_file import BlockFile
from walkconv.walks.ranking import TieRule

BLOCKS_PER_THREAD = 32
TASKS_PER_THREAD = 8
"""On a cluster: handing out a task and collecting its answer takes about 8 ms."""
FEWEST_ROWS = 256
"""Smaller blocks may cost more to hand out than to do."""
MOST_GROWTH = 8
"""Small blocks grow towards `FEWEST_ROWS` by this factor at most: every thread gets some."""
MOST_ROWS = 2**18
"""Larger blocks take more memory, and more work is lost if a process dies."""


@dataclass(frozen=True)
class Plan:
    """The settings of one selection.

    Attributes
    ----------
    n_neighbors, n_steps : int
        The paper's p and k.
    tie_rule : TieRule
        How ties are broken.
    block_size : int or None
        Rows per block. By default each thread gets some blocks.
    n_threads : int
        Threads; they change the time, not the answer.
    finished : BlockFile or None
        The file of finished rows.
    is_silent : bool
        Whether no progress bar is shown.
    client : distributed.Client or None
        Its workers walk instead of the threads.
    """

    n_neighbors: int
    n_steps: int
    tie_rule: TieRule
    block_size: int | None
    n_threads: int
    finished: BlockFile | None = None
    is_silent: bool = True
    client: Any = None

    def __getstate__(self) -> dict[str, Any]:
        # The workers of a cluster have neither the file nor the client.
        return {**self.__dict__, "finished": None, "client": None}

    def empty(self, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
        """Return index and visits, each (n_rows, n_neighbors), to be written."""
        shape = (n_rows, self.n_neighbors)
        return np.empty(shape, dtype=np.int64), np.empty(shape)

    def fill(
        self,
        rows: np.ndarray,
        work: Callable[[np.ndarray, np.ndarray, np.ndarray], None],
        *,
        most_rows: int = MOST_ROWS,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return index and visits, each (n_nodes, n_neighbors).

        Parameters
        ----------
        rows : ndarray of shape (n_nodes,)
            All nodes, in the order in which they are to be done.
        work : callable
            Called with some of the rows and with their index and visits, which it writes. On a
            cluster it is sent to every worker once, with all that it holds.
        most_rows : int
            Most rows of a block.
        """
        n_nodes = len(rows)
        index, visits = self.empty(n_nodes)
        if self.finished is not None:
            is_done = self.finished.read_into(index, visits)
            rows = rows[~is_done[rows]]  # in the same order, which the engine has chosen
        with self._bar(n_nodes, n_nodes - len(rows)) as bar:
            for block in self._blocks_done(rows, work, most_rows, index, visits):
                if self.finished is not None:
                    place = _as_slice(block)
                    self.finished.append(block, index[place], visits[place])
                if bar is not None:
                    bar.update(len(block))
        return index, visits

    def _bar(self, n_nodes: int, n_done: int) -> AbstractContextManager[tqdm | None]:
        # No bar object without a bar: even a silent one shares a lock with forked processes, and a
        # process that is killed while holding it blocks all the others.
        if self.is_silent:
            return nullcontext()
        return tqdm(total=n_nodes, initial=n_done, unit="node", file=sys.stderr)

    def _blocks_done(
        self,
        rows: np.ndarray,
        work: Callable,
        most_rows: int,
        index: np.ndarray,
        visits: np.ndarray,
    ) -> Iterator[np.ndarray]:
        """Yield blocks of the rows as they are finished, `index` and `visits` written."""

        def write(block: np.ndarray) -> None:
            # A slice is a view, so the work writes into the answer without a copy.
            place = _as_slice(block)
            if isinstance(place, slice):
                work(block, index[place], visits[place])
            else:
                index[place], visits[place] = self._found(work, block)

        if self.client is None:
            size = self._rows_per_block(len(rows), BLOCKS_PER_THREAD * self.n_threads, most_rows)
            for block, _ in done_in_threads(write, _cut(rows, size), self.n_threads):
                yield block
        else:
            n_blocks = TASKS_PER_THREAD * n_threads_of(self.client)
            size = self._rows_per_block(len(rows), n_blocks, most_rows)
            spread = Spread(self.client, partial(self._found, work))
            for block, found in spread.done(_work_on, _cut(rows, size)):
                place = _as_slice(block)
                index[place], visits[place] = found
                yield block

    def _found(self, work: Callable, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return index and visits of some rows, new arrays."""
        found = self.empty(len(rows))
        work(rows, *found)
        return found

    def for_each_block(self, n_rows: int, work: Callable[[int, int], None]) -> None:
        """Call ``work(start, stop)`` for blocks that cover all rows, in threads of this process."""
        size = self._rows_per_block(n_rows, BLOCKS_PER_THREAD * self.n_threads, MOST_ROWS)
        for_each_range(n_rows, size, self.n_threads, work)

    def _rows_per_block(self, n_rows: int, n_blocks: int, most_rows: int) -> int:
        if self.block_size is not None:
            return self.block_size
        size = max(1, -(-n_rows // n_blocks))
        return min(most_rows, max(size, min(FEWEST_ROWS, MOST_GROWTH * size)))


def _cut(rows: np.ndarray, size: int) -> list[np.ndarray]:
    return [rows[start : start + size] for start in range(0, len(rows), size)]


def _as_slice(rows: np.ndarray) -> np.ndarray | slice:
    """Return rows that follow each other as a slice, which is written in a fourth of the time."""
    follow = np.arange(rows[0], rows[0] + len(rows))
    return slice(rows[0], rows[0] + len(rows)) if np.array_equal(rows, follow) else rows


def _work_on(work: Callable[[np.ndarray], Any], rows: np.ndarray) -> Any:
    return work(rows)
