"""Give work to a dask cluster: shared data is sent once, then one item for each task.

The data goes to one worker, and the others fetch it from each other when their first task needs it:
a broadcast may hang if a worker dies meanwhile (dask/distributed, issue 5704). dask repeats the
tasks of a dead worker. If the last worker that has the data dies, the data is sent again, and only
unfinished items are repeated. Workers on this machine map large data from a file, and answer with
files (`Mapped`).
"""

import mmap
import os
import pickle
import shutil
import sys
import tempfile
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any
from uuid import uuid4

from walkconv._checks import describe

TASKS_PER_THREAD = 2
"""Tasks at the cluster at a time, for each thread: the current task and the next."""
MOST_LOSSES = 3
"""Times in a row that all workers may be lost, with nothing finished in between."""
PAUSE = 0.5
"""Seconds to wait after a loss, until dask notices which other workers have died."""
FEWEST_BYTES = 2**20
"""Fewer bytes than this are sent directly: writing a file would take as long."""
MEMORY = Path("/dev/shm")
"""Where Linux keeps files in memory: no disk is busy with them."""
ROOM = 2 * 2**30
"""With fewer free bytes in `MEMORY`, the usual folder for temporary files is used."""
ALIGNMENT = 64
"""Arrays begin at multiples of this number of bytes, which is fastest for vector instructions."""
_FINISHED = object()


def check_client(client: Any) -> Any:
    """Return a dask client that is ready to take work."""
    distributed = sys.modules.get("distributed")  # imported by any program that has a client
    if distributed is None or not isinstance(client, distributed.Client):
        raise TypeError(f"client must be a dask.distributed.Client; got {describe(client)}.")
    if client.asynchronous:
        raise ValueError("client must not be asynchronous. Make it with asynchronous=False.")
    if client.status != "running":
        raise ValueError(f"client must be connected to a cluster; it is {client.status}.")
    if not client.nthreads():
        raise ValueError(
            "client must have a cluster with workers; it has none. "
            "Start some, and wait for them with client.wait_for_workers(1)."
        )
    return client


def n_threads_of(client: Any) -> int:
    """Return the number of threads of all workers together."""
    return max(1, sum(client.nthreads().values()))


class Spread:
    """Data that every worker of a cluster has, sent when it is first needed.

    Parameters
    ----------
    client : distributed.Client
        The client of the cluster.
    content : object
        The data to send. It must be possible to pickle.
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
        # Finished items keep their entry until the end of a round: tasks refer to them by number.
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
                # A worker cannot read the file: from now on the data travels to all of them.
                self._may_map, self._parcel, self._sent = False, None, None
            left = [item for item in left if item is not _FINISHED]

    def _done_while_there(self, work: Callable, items: list) -> Iterator[tuple[int, Any]]:
        """Yield index and result of the items while a worker has the content."""
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

        # By default dask gives the first tasks to the worker that has the content, and only later
        # some of them to the others.
        workers = [w for w, n in self.client.nthreads().items() for _ in range(n)]
        first = [
            submit(place, workers=worker, allow_other_workers=True)
            for worker, place in zip(workers * TASKS_PER_THREAD, places, strict=False)
        ]
        tasks = as_completed(first, with_results=True)  # cheaper than one request for each
        try:
            for task, parcel in tasks:
                if task.cancelled():
                    raise CancelledError
                tasks.update([submit(place) for place in islice(places, 1)])
                yield place_of.pop(task), take(parcel)
        finally:
            for task in place_of:  # until then dask keeps an error and all its data
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
                    "The cluster must have workers that can take the data; none is left. "
                    "Start some, and call again."
                ) from None
            except OSError as error:  # dask has not noticed yet that this worker is dead
                raise CancelledError from error
        return self._sent

    def _packed(self) -> Any:
        """Return the content, or the file where workers on this machine find it."""
        if not (self._may_map and _are_here(self.client)):
            return self.content
        try:
            folder = new_folder()
        except OSError:  # no room for a folder
            return self.content
        weakref.finalize(self, remove_folder, folder)
        return pack(self.content, folder)


def _are_here(client: Any) -> bool:
    """Tell whether all workers listen to this machine alone, as those of a LocalCluster do."""
    return all("://127.0.0.1:" in address for address in client.nthreads())


def _answer(work: Callable[[Any, Any], Any], parcel: Any, item: Any) -> Any:
    """Do the work on a worker. If the data is in a file, answer with a file beside it."""
    result = work(unpack(parcel), item)
    return pack(result, parcel.path.parent) if isinstance(parcel, Mapped) else result


class NotHereError(Exception):
    """The file cannot be read: this process runs on another machine, or has no permission."""


class Mapped:
    """An object whose arrays are in a file. Only the name of the file is sent.

    Parameters
    ----------
    path : Path
        The file of the arrays.
    head : bytes
        The object without its arrays, pickled.
    spans : list of (int, int)
        Where in the file each array begins and ends.
    """

    def __init__(self, path: Path, head: bytes, spans: list[tuple[int, int]]):
        self.path, self.head, self.spans = path, head, spans

    def __reduce__(self) -> tuple:
        return Mapped, (self.path, self.head, self.spans)

    @cached_property
    def content(self) -> Any:
        """The object. A process that writes to its arrays gets its own copy of these pages."""
        try:
            with self.path.open("rb") as file:
                return self._unpickled(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY))
        except OSError as error:
            raise NotHereError(str(self.path)) from error

    def _unpickled(self, pages: bytearray | mmap.mmap) -> Any:
        view = memoryview(pages)
        return pickle.loads(self.head, buffers=[view[start:end] for start, end in self.spans])


def pack(thing: Any, folder: Path) -> Any:
    """Return what to send for an object: the object if it is small, otherwise a `Mapped`.

    The file is new and is not removed. If there is no room for it, the object itself is returned.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     parcel = pack({"ones": np.ones(200_000)}, Path(folder))
    ...     received = pickle.loads(pickle.dumps(parcel))
    ...     float(unpack(received)["ones"].sum())
    200000.0
    """
    import cloudpickle  # comes with dask

    arrays: list[pickle.PickleBuffer] = []
    head = cloudpickle.dumps(thing, protocol=5, buffer_callback=arrays.append)
    views = [array.raw() for array in arrays]
    if sum(view.nbytes for view in views) < FEWEST_BYTES:
        return thing
    path, spans = folder / uuid4().hex, []
    try:
        with path.open("xb") as file:
            for view in views:
                start = file.seek(file.tell() + -file.tell() % ALIGNMENT)
                spans.append((start, start + file.write(view)))
    except OSError:
        path.unlink(missing_ok=True)
        return thing
    return Mapped(path, head, spans)


def unpack(parcel: Any) -> Any:
    """Return the object that was packed. Its arrays are mapped from the file."""
    return parcel.content if isinstance(parcel, Mapped) else parcel


def take(parcel: Any) -> Any:
    """Return the object that was packed for this process alone, and delete the file."""
    if not isinstance(parcel, Mapped):
        return parcel
    thing = parcel.content
    with suppress(OSError):  # its pages stay as long as they are mapped
        parcel.path.unlink()
    return thing


def new_folder() -> Path:
    """Return a new folder, in memory if there is room. Remove the folders of dead processes."""
    if not (os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free >= ROOM):
        return Path(tempfile.mkdtemp(prefix="walkconv-"))
    for folder in MEMORY.glob("walkconv-*-*"):
        owner = folder.name.split("-")[1]
        if owner.isdecimal() and not _is_running(int(owner)):
            remove_folder(folder)
    return Path(tempfile.mkdtemp(prefix=f"walkconv-{os.getpid()}-", dir=MEMORY))


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except OSError as error:  # a process of another user cannot be asked, but runs
        return not isinstance(error, ProcessLookupError)
    return True


def remove_folder(folder: Path) -> None:
    """Remove a folder that others may write to. Once it is renamed, no new file appears in it."""
    gone = folder.with_name(folder.name + "-gone")
    with suppress(OSError):
        os.rename(folder, gone)
    for name in (gone, gone, folder):
        shutil.rmtree(name, ignore_errors=True)
