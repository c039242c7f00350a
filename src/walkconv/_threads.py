"""How work is handed to threads: compiled loops run without the GIL, side by side."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor


def available_threads() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def for_each_range(
    n_items: int, size: int, n_threads: int, work: Callable[[int, int], None]
) -> None:
    """Call ``work(start, stop)`` for ranges of `size` items that cover all of them, in threads."""
    starts = range(0, n_items, size)
    if n_threads == 1 or len(starts) == 1:
        for start in starts:
            work(start, min(start + size, n_items))
        return
    with ThreadPoolExecutor(n_threads) as pool:
        for _ in pool.map(lambda start: work(start, min(start + size, n_items)), starts):
            pass
