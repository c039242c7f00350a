"""Run work in threads: compiled loops run in parallel because they release the GIL."""

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from queue import SimpleQueue
from threading import Thread
from typing import Any

_ASKED = os.environ.get("OMP_NUM_THREADS", "")
"""Its value when walkconv was imported: dask later sets it to 1 in its workers."""


def available_threads() -> int:
    """Return the number of cores this process may use, at most ``OMP_NUM_THREADS`` at import.

    Launchers of several processes set this variable so that each process does not use all cores.
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
    """Yield ``(item, work(item))`` for all items, as they are finished.

    The calling thread works too, whenever no finished result waits for it.
    """
    waiting, finished = deque(items), SimpleQueue()

    def work_on_next() -> bool:
        try:
            item = waiting.popleft()
        except IndexError:
            return False
        try:
            result = work(item)
        except BaseException as error:
            waiting.clear()
            finished.put((item, None, error))
        else:
            finished.put((item, result, None))
        return True

    def work_on_all() -> None:
        while work_on_next():
            pass

    helpers: list[Thread] = []
    try:
        for _ in range(min(n_threads, len(items)) - 1):
            helper = Thread(target=work_on_all)
            helper.start()
            helpers.append(helper)
        for _ in items:
            if finished.empty():
                work_on_next()
            item, result, error = finished.get()
            if error is not None:
                raise error
            yield item, result
    finally:
        error = None  # otherwise the error and this frame would keep each other alive
        waiting.clear()
        for helper in helpers:
            helper.join()


def for_each_range(
    n_items: int, size: int, n_threads: int, work: Callable[[int, int], None]
) -> None:
    """Call ``work(start, stop)`` for ranges of `size` items that cover all of them, in threads."""

    def work_on(start: int) -> None:
        work(start, min(start + size, n_items))

    for _ in done_in_threads(work_on, range(0, n_items, size), n_threads):
        pass
