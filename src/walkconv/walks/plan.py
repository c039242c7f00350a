"""What every engine is told, and how its blocks of rows are handed to threads."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from walkconv._threads import for_each_range
from walkconv.walks.ties import TieRule

BLOCKS_PER_THREAD = 8


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
    """

    n_neighbors: int
    n_steps: int
    tie_rule: TieRule
    block_size: int | None
    n_threads: int

    @property
    def tie_fields(self) -> tuple[int, np.uint64, np.ndarray]:
        """The tie rule as compiled code takes it."""
        return self.tie_rule.kind, self.tie_rule.seed, self.tie_rule.places

    def empty_result(self, n_nodes: int) -> tuple[np.ndarray, np.ndarray]:
        """Return index and visits (n_nodes, n_neighbors) to be written."""
        shape = (n_nodes, self.n_neighbors)
        return np.empty(shape, dtype=np.int64), np.empty(shape)

    def for_each_block(
        self, n_rows: int, work: Callable[[int, int], None], *, most_rows: int | None = None
    ) -> None:
        """Call ``work(start, stop)`` for blocks that cover all rows, in threads.

        Without a `block_size` there are a few blocks for each thread, of at most `most_rows`.
        """
        size = self.block_size
        if size is None:
            size = -(-n_rows // (BLOCKS_PER_THREAD * self.n_threads))
            size = min(size, most_rows or size)
        for_each_range(n_rows, size, self.n_threads, work)
