"""How work is handed to threads: compiled loops run without the GIL, side by side."""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from functools import cache
from threading import Lock
from typing import Any

from threadpoolctl import ThreadpoolController


def available_threads() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


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


class OneThread:
    """A context in which numpy's matrix products use one thread.

    Their number changes how a product is rounded; where the work is in threads already, products
    need no more. The limit is one of the process, so the last to leave lifts it.
    """

    def __init__(self) -> None:
        self._lock, self._n_inside, self._limit = Lock(), 0, None

    def __enter__(self) -> None:
        with self._lock:
            if self._n_inside == 0:
                self._limit = _libraries().limit(limits=1, user_api="blas")
            self._n_inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._n_inside -= 1
            if self._n_inside == 0 and self._limit is not None:
                self._limit.restore_original_limits()


@cache
def _libraries() -> ThreadpoolController:
    return ThreadpoolController()


products_in_one_thread = OneThread()
