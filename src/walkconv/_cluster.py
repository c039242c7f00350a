"""How work is handed to a dask cluster: what all of it needs is sent once, the rest item by item.

It is sent to one worker, and the others fetch it from each other when their first task needs it: a
broadcast may not end if a worker dies meanwhile (dask/distributed, issue 5704). dask repeats the
tasks of a worker that dies. What was sent is lost with the last worker that has it; then it is sent
again, and only what is not finished is repeated. Workers on this machine map what is large from a
file, and answer in files.
"""

import sys
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from itertools import islice
from typing import Any
from uuid import uuid4

from walkconv._checks import describe
from walkconv._mapped import Mapped, NotHereError, new_folder, pack, remove_folder, take, unpack

TASKS_PER_THREAD = 2
"""So many are with the cluster at a time: one that is worked on, and the next."""
MOST_LOSSES = 3
"""So often in a row, with nothing finished in between, may all workers be lost."""
PAUSE = 0.5
"""Seconds after a loss, in which dask notices who else has died."""
_FINISHED = object()


def check_client(client: Any) -> Any:
    """Return a client of dask that work can be given to."""
    distributed = sys.modules.get("distributed")  # who has a client has imported it
    if distributed is None or not isinstance(client, distributed.Client):
        raise TypeError(f"client must be a dask.distributed.Client; got {describe(client)}.")
    if client.asynchronous:
        raise ValueError("client must not be asynchronous. Make it with asynchronous=False.")
    if client.status != "running":
        raise ValueError(f"client must be connected to a cluster; it is {client.status}.")
    if not client.nthreads():
        raise ValueError(
            "client must have a cluster with workers; there are none. "
            "Start some, and wait for them with client.wait_for_workers(1)."
        )
    return client


def n_threads_of(client: Any) -> int:
    """Return how many threads the workers have together."""
    return max(1, sum(client.nthreads().values()))


class Spread:
    """Something that every worker of a cluster has, sent when it is first needed.

    Parameters
    ----------
    client : distributed.Client
        Of the cluster.
    content : object
        What is sent, with all that it holds; it must be possible to pickle.
    """

    def __init__(self, client: Any, content: Any):
        self.client, self.content = client, content
        self._sent = self._parcel = None
        self._may_map = True

    def done(
        self, work: Callable[[Any, Any], Any], items: Sequence[Any]
    ) -> Iterator[tuple[Any, Any]]:
        """Yield ``(item, work(content, item))`` for all items, as they are finished.

        Work and item are sent with each task.
        """
        left, n_losses = list(items), 0
        while left:
            try:
                for place, result in self._done_while_there(work, left):
                    item, left[place] = left[place], _FINISHED
                    n_losses = 0
                    yield item, result
            except CancelledError:
                n_losses += 1
                if n_losses > MOST_LOSSES:
                    raise RuntimeError(
                        f"All workers that had the data were lost, {n_losses} times in a row. "
                        "They may lack memory: give each more of it, or fewer threads."
                    ) from None
                time.sleep(PAUSE)
            except NotHereError:
                self._may_map, self._parcel, self._sent = False, None, None
            left = [item for item in left if item is not _FINISHED]

    def _done_while_there(self, work: Callable, items: list) -> Iterator[tuple[int, Any]]:
        """Yield place and result of the items while a worker has the content."""
        from dask.utils import funcname
        from distributed import as_completed

        sent = self._send()
        places = iter(range(len(items)))
        place_of = {}

        def submit(place: int, **where: Any) -> Any:
            key = f"{funcname(work)}-{uuid4().hex}"
            task = self.client.submit(_answer, work, sent, items[place], key=key, **where)
            place_of[task] = place
            return task

        # Left to itself, dask gives the first tasks to the worker that has the content, and only
        # after a while some of them to the others.
        workers = [w for w, n in self.client.nthreads().items() for _ in range(n)]
        first = [
            submit(place, workers=worker, allow_other_workers=True)
            for worker, place in zip(workers * TASKS_PER_THREAD, places, strict=False)
        ]
        tasks = as_completed(first, with_results=True)  # cheaper than to ask for each
        try:
            for task, parcel in tasks:
                if task.cancelled():
                    raise CancelledError
                tasks.update([submit(place) for place in islice(places, 1)])
                yield place_of.pop(task), take(parcel)
        finally:
            for task in place_of:  # dask keeps an error with all that it came from until then
                task.release()

    def _send(self) -> Any:
        """Return the content as a future, sent again if no worker has it any more."""
        if self._sent is None or self._sent.cancelled():
            if self._parcel is None:
                self._parcel = self._packed()
            try:
                self._sent = self.client.scatter([self._parcel], hash=False)[0]
            except TimeoutError:
                raise RuntimeError(
                    "The cluster has no workers any more that could take the data. "
                    "Start some, and call again."
                ) from None
            except OSError as error:  # to a worker whose death dask has not noticed yet
                raise CancelledError from error
        return self._sent

    def _packed(self) -> Any:
        """Return what is sent: the content, or where workers on this machine find it."""
        if not (self._may_map and _are_here(self.client)):
            return self.content
        try:
            folder = new_folder()
        except OSError:  # no room even for that
            return self.content
        weakref.finalize(self, remove_folder, folder)
        return pack(self.content, folder)


def _are_here(client: Any) -> bool:
    """Tell whether all workers listen to this machine alone, as those of a LocalCluster do."""
    return all("://127.0.0.1:" in address for address in client.nthreads())


def _answer(work: Callable[[Any, Any], Any], parcel: Any, item: Any) -> Any:
    """Do the work where the parcel has arrived; if that was a file, answer by one beside it."""
    result = work(unpack(parcel), item)
    return pack(result, parcel.path.parent) if isinstance(parcel, Mapped) else result
