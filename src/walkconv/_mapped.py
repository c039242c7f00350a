"""Something large that the processes of one machine share: written once, mapped by each of them."""

import mmap
import os
import pickle
import tempfile
import weakref
from functools import cached_property
from typing import Any

ALIGNMENT = 64


class NotHereError(Exception):
    """The file cannot be read: this process runs on another machine, or may not."""


class Mapped:
    """A thing whose arrays lie in a file; wherever it is sent, only the name of the file goes.

    Parameters
    ----------
    path : str
        The file of the arrays.
    head : bytes
        The rest of the thing, pickled.
    ends : list of (int, int)
        Where in the file each array begins and ends.

    Examples
    --------
    >>> import numpy as np
    >>> shared = write_mapped({"ones": np.ones(3)})
    >>> received = pickle.loads(pickle.dumps(shared))
    >>> received.content
    {'ones': array([1., 1., 1.])}
    """

    def __init__(self, path: str, head: bytes, ends: list[tuple[int, int]]):
        self.path, self.head, self.ends = path, head, ends

    def __reduce__(self) -> tuple:
        return Mapped, (self.path, self.head, self.ends)

    @cached_property
    def content(self) -> Any:
        """The thing. Whoever writes to its arrays has a copy of these pages from then on.

        Arrays that must not be written to would be another type to numba, to be compiled for anew.
        """
        try:
            with open(self.path, "rb") as file:
                pages = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY))
        except OSError as error:
            raise NotHereError(self.path) from error
        return pickle.loads(self.head, buffers=[pages[start:end] for start, end in self.ends])


def write_mapped(content: Any, *, fewest_bytes: int = 1) -> Mapped | None:
    """Write the arrays of a thing to a file that is there for as long as what is returned.

    Returns None where they have fewer bytes. Where there is no room for them, an OSError is raised.
    """
    import cloudpickle  # comes with dask

    arrays: list[pickle.PickleBuffer] = []
    head = cloudpickle.dumps(content, protocol=5, buffer_callback=arrays.append)
    views = [array.raw() for array in arrays]
    if sum(view.nbytes for view in views) < fewest_bytes:
        return None
    with tempfile.NamedTemporaryFile(prefix="walkconv-", delete=False) as file:
        mapped = Mapped(file.name, head, [])
        weakref.finalize(mapped, os.unlink, file.name)
        for view in views:
            start = file.seek(file.tell() + -file.tell() % ALIGNMENT)
            mapped.ends.append((start, start + file.write(view)))
    return mapped
