"""Large things that processes of one machine hand each other: one writes a file, others map it."""

import mmap
import pickle
import tempfile
from functools import cached_property
from pathlib import Path
from typing import Any

FEWEST_BYTES = 2**20
"""Less than so many are sent as fast as a file is written."""
ALIGNMENT = 64


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
    ends : list of (int, int)
        Where in the file each array begins and ends.
    """

    def __init__(self, path: Path, head: bytes, ends: list[tuple[int, int]]):
        self.path, self.head, self.ends = path, head, ends

    def __reduce__(self) -> tuple:
        return Mapped, (self.path, self.head, self.ends)

    @cached_property
    def content(self) -> Any:
        """The thing. Whoever writes to its arrays has a copy of these pages from then on.

        Arrays that must not be written to would be another type to numba, to be compiled for anew.
        """
        try:
            with self.path.open("rb") as file:
                pages = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY))
        except OSError as error:
            raise NotHereError(str(self.path)) from error
        return pickle.loads(self.head, buffers=[pages[start:end] for start, end in self.ends])


def pack(thing: Any, folder: Path) -> Any:
    """Return something to send in place of a thing: itself if it is small, or a `Mapped`.

    The file is new, and stays. Where there is no room for it the thing itself is sent.

    Examples
    --------
    >>> import numpy as np
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     parcel = pack({"ones": np.ones(200_000)}, Path(folder))
    ...     received = pickle.loads(pickle.dumps(parcel))
    ...     unpack(received)
    {'ones': array([1., 1., 1., ..., 1., 1., 1.], shape=(200000,))}
    """
    import cloudpickle  # comes with dask

    arrays: list[pickle.PickleBuffer] = []
    head = cloudpickle.dumps(thing, protocol=5, buffer_callback=arrays.append)
    views = [array.raw() for array in arrays]
    if sum(view.nbytes for view in views) < FEWEST_BYTES:
        return thing
    ends = []
    try:
        with tempfile.NamedTemporaryFile(dir=folder, delete=False) as file:
            for view in views:
                start = file.seek(file.tell() + -file.tell() % ALIGNMENT)
                ends.append((start, start + file.write(view)))
    except OSError:
        return thing
    return Mapped(Path(file.name), head, ends)


def unpack(parcel: Any) -> Any:
    """Return the thing that was packed."""
    return parcel.content if isinstance(parcel, Mapped) else parcel
