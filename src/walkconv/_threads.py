"""How work is handed to threads: compiled loops run without the GIL, side by side."""

import atexit
import os
from _thread import LockType, allocate_lock, start_new_thread
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from queue import SimpleQueue
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
    """Yield ``(item, work(item))`` for all items, as they are finished.

    The calling thread is one of them: it works whenever nothing finished waits for it, so what
    others finish meanwhile is yielded after its own item. Nor does it wait for the others to
    begin, as `threading.Thread.start` does: on an idle core that may take some milliseconds, as
    long as the whole selection on a small graph, and who comes too late finds nothing to do.
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

    helping = [work_on_next]
    at_work: list[LockType] = []
    try:
        for _ in range(min(n_threads, len(items)) - 1):
            _start_helper(helping, at_work)
        for _ in items:
            if finished.empty():
                work_on_next()
            item, result, error = finished.get()
            if error is not None:
                raise error
            yield item, result
    finally:
        error = None  # else it would hold this frame, and the frame it
        helping.clear()
        waiting.clear()
        for lock in at_work:
            lock.acquire()


_EXPECTED: set[LockType] = set()
"""A lock for each helper that has not ended, perhaps not even begun."""


def _start_helper(helping: list[Callable[[], bool]], at_work: list[LockType]) -> None:
    lock = allocate_lock()
    lock.acquire()
    _EXPECTED.add(lock)
    try:
        start_new_thread(_help, (lock, helping, at_work))
    except RuntimeError:
        _EXPECTED.discard(lock)
        raise


def _help(lock: LockType, helping: list[Callable[[], bool]], at_work: list[LockType]) -> None:
    """Work with the others, with a lock among those of `at_work` until the end."""
    at_work.append(lock)
    _work_on_all(helping)
    _EXPECTED.discard(lock)
    lock.release()


@atexit.register
def _await_the_late() -> None:
    for lock in list(_EXPECTED):  # no thread may begin when the interpreter is half gone
        lock.acquire(timeout=1)


def _work_on_all(helping: list[Callable[[], bool]]) -> None:
    for work_on_next in helping:  # gone, with all that it holds, when this returns
        while work_on_next():
            pass


def for_each_range(
    n_items: int, size: int, n_threads: int, work: Callable[[int, int], None]
) -> None:
    """Call ``work(start, stop)`` for ranges of `size` items that cover all of them, in threads."""

    def work_on(start: int) -> None:
        work(start, min(start + size, n_items))

    for _ in done_in_threads(work_on, range(0, n_items, size), n_threads):
        pass
