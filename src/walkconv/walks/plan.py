"""What every engine is told, and how its rows are handed to threads, kept and counted."""

import sys
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from tqdm import tqdm

from walkconv._threads import for_each_range
from walkconv.walks.block_file import BlockFile
from walkconv.walks.ties import TieRule

BLOCKS_PER_THREAD = 32
FEWEST_ROWS = 64
"""Smaller blocks cost more to hand out than to do."""


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
        Rows per block; by default some blocks for each thread.
    n_threads : int
        Threads; they change the time, not the answer.
    finished : BlockFile or None
        Where finished rows are kept.
    is_silent : bool
        Whether no bar is shown.
    """

    n_neighbors: int
    n_steps: int
    tie_rule: TieRule
    block_size: int | None
    n_threads: int
    finished: BlockFile | None = None
    is_silent: bool = True

    @property
    def tie_fields(self) -> tuple[int, np.uint64, np.ndarray]:
        """The tie rule as compiled code takes it."""
        return self.tie_rule.kind, self.tie_rule.seed, self.tie_rule.places

    def fill(
        self,
        rows: np.ndarray,
        work: Callable[[np.ndarray, np.ndarray, np.ndarray], None],
        *,
        most_rows: int | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return index and visits, each (n_nodes, n_neighbors).

        Parameters
        ----------
        rows : ndarray of shape (n_nodes,)
            All nodes, in the order in which they are to be done.
        work : callable
            Called with some of the rows, index and visits, to write these rows of the two.
        most_rows : int, optional
            Rows per block at most.
        """
        shape = (len(rows), self.n_neighbors)
        index, visits = np.empty(shape, dtype=np.int64), np.empty(shape)
        if self.finished is not None:
            is_done = self.finished.read_into(index, visits)
            rows = rows[~is_done[rows]]
        n_done = shape[0] - len(rows)
        with tqdm(
            total=shape[0], initial=n_done, disable=self.is_silent, unit="node", file=sys.stderr
        ) as bar:

            def work_on(start: int, stop: int) -> None:
                block = rows[start:stop]
                work(block, index, visits)
                if self.finished is not None:
                    self.finished.append(block, index[block], visits[block])
                with bar.get_lock():
                    bar.update(len(block))

            self.for_each_block(len(rows), work_on, most_rows=most_rows)
        return index, visits

    def for_each_block(
        self, n_rows: int, work: Callable[[int, int], None], *, most_rows: int | None = None
    ) -> None:
        """Call ``work(start, stop)`` for blocks that cover all rows, in threads.

        Without a `block_size` there are a few blocks for each thread, of at most `most_rows`.
        """
        size = self.block_size
        if size is None:
            size = max(FEWEST_ROWS, -(-n_rows // (BLOCKS_PER_THREAD * self.n_threads)))
            size = min(size, most_rows or size)
        for_each_range(n_rows, size, self.n_threads, work)
