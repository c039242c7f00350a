"""How work is handed to threads: compiled loops run without the GIL, side by side."""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any

_ASKED = os.environ.get("OMP_NUM_THREADS", "")
"""As it was when walkconv was imported: dask sets it to 1 for its workers, and leaves it so."""


def available_threads() -> int:
    """Return how many cores this process may use, at most what ``OMP_NUM_THREADS`` said first.

    Launchers of several processes set it, so that these do not use all cores each.
    """
    if hasattr(os, "sched_getaffinity"):
        n_cores = len(os.sched_getaffinity(0))
    else:
        n_cores = os.cpu_count() or 1
    asked = _ASKED.strip()
    return min(n_cores, int(asked)) if asked.isdecimal() and int(asked) > 0 else n_cores


def done_in_threads(
    work: Callable[[Any], Any], items: Sequence[Any], n_threads: int
) -> Iterator[tuple[Any, Any]]:
    """Yield ``(item, work(item))`` for all items, as they are finished."""
    if n_threads == 1 or len(items) == 1:
        for item in items:
            yield item, work(item)
        return
    pool = ThreadPoolExecutor(n_threads)
    try:
        item_of = {pool.submit(work, item): item for item in items}
        for task in as_completed(item_of):
            yield item_of.pop(task), task.result()
    finally:
        pool.shutdown(cancel_futures=True)


def for_each_range(
    n_items: int, size: int, n_threads: int, work: Callable[[int, int], None]
) -> None:
    """Call ``work(start, stop)`` for ranges of `size` items that cover all of them, in threads."""

    def work_on(start: int) -> None:
        work(start, min(start + size, n_items))

    for _ in done_in_threads(work_on, range(0, n_items, size), n_threads):
        pass
