"""Large things that processes of one machine hand each other: one writes a file, others map it."""

import mmap
import os
import pickle
import shutil
import tempfile
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any
from uuid import uuid4

FEWEST_BYTES = 2**20
"""Fewer bytes than this are sent as fast as a file is written."""
MEMORY = Path("/dev/shm")
"""Where Linux has files in memory: writing them there does not keep a disk busy."""
ROOM = 2 * 2**30
"""With fewer free bytes than this there the usual folder for temporary files is taken."""
ALIGNMENT = 64
"""Arrays begin at multiples of so many bytes, as vector instructions like it."""


class NotHereError(Exception):
    """The file cannot be read: this process runs on another machine, or may not."""


class Mapped:
    """A thing whose arrays lie in a file; wherever it is sent, only the name of the file goes.

    Parameters
    ----------
    path : Path
        The file of the arrays.
    head : bytes
        The rest of the thing, pickled.
    spans : list of (int, int)
        Where in the file each array begins and ends.
    """

    def __init__(self, path: Path, head: bytes, spans: list[tuple[int, int]]):
        self.path, self.head, self.spans = path, head, spans

    def __reduce__(self) -> tuple:
        return Mapped, (self.path, self.head, self.spans)

    @cached_property
    def content(self) -> Any:
        """The thing. Whoever writes to its arrays has a copy of these pages from then on.

        Arrays that must not be written to would be another type to numba, to be compiled for anew.
        """
        try:
            with self.path.open("rb") as file:
                return self._unpickled(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY))
        except OSError as error:
            raise NotHereError(str(self.path)) from error

    def _unpickled(self, pages: bytearray | mmap.mmap) -> Any:
        view = memoryview(pages)
        return pickle.loads(self.head, buffers=[view[start:end] for start, end in self.spans])


def pack(thing: Any, folder: Path) -> Any:
    """Return something to send in place of a thing: itself if it is small, or a `Mapped`.

    The file is new, and stays. Where there is no room for it the thing itself is sent.

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
    """Return the thing that was packed; its arrays are those of the file."""
    return parcel.content if isinstance(parcel, Mapped) else parcel


def take(parcel: Any) -> Any:
    """Return the thing that was packed for this process alone, and delete the file."""
    if not isinstance(parcel, Mapped):
        return parcel
    thing = parcel.content
    with suppress(OSError):  # its pages stay for as long as they are mapped
        parcel.path.unlink()
    return thing


def new_folder() -> Path:
    """Return a new folder, in memory where there is room; what dead processes left there goes."""
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
    except OSError as error:  # one of another user may not be asked, but is there
        return not isinstance(error, ProcessLookupError)
    return True


def remove_folder(folder: Path) -> None:
    """Remove a folder that others may be writing to: once it is renamed, no new file gets there."""
    gone = folder.with_name(folder.name + "-gone")
    with suppress(OSError):
        os.rename(folder, gone)
    for name in (gone, gone, folder):
        shutil.rmtree(name, ignore_errors=True)
