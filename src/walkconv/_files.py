"""Files appear whole or not at all."""

import glob
import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a path to write to, which becomes `path` when the block ends without an error.

    A reader sees the old file or the new one, never half of one, whatever happens in between: what
    was written is on the disk before it is renamed. Folders are made as needed. What is not a
    plain file, such as a pipe or ``/dev/null``, is written directly.
    """
    target = Path(path).resolve()
    if target.exists() and not target.is_file():
        if target.is_dir():
            raise IsADirectoryError(f"{path} must be a file; it is a folder. Name a file in it.")
        yield target
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    # The suffixes stay last: some writers choose the format by them.
    part = target.with_name(f".{target.name}.{uuid.uuid4().hex}.part{''.join(target.suffixes)}")
    try:
        yield part
        _force_to_disk(part)
        os.replace(part, target)
        if hasattr(os, "O_DIRECTORY"):
            _force_to_disk(target.parent)
    finally:
        part.unlink(missing_ok=True)


def check_writable(path: str | os.PathLike[str]) -> None:
    """Refuse a path that `whole_file` could not write, before what takes long to compute."""
    target = Path(path).resolve()
    if target.is_dir():
        raise IsADirectoryError(f"{path} must be a file; it is a folder. Name a file in it.")
    if target.exists() and not target.is_file():
        return
    folder = target.parent
    while not folder.exists():
        folder = folder.parent
    if not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
        raise OSError(f"{path} must lie in a folder that can be written to; {folder} cannot.")


def remove_leftovers(path: str | os.PathLike[str]) -> None:
    """Remove what a process killed while writing `path` has left beside it."""
    target = Path(path).resolve()
    for leftover in target.parent.glob(f".{glob.escape(target.name)}.*.part*"):
        with suppress(FileNotFoundError):
            leftover.unlink()


def _force_to_disk(path: Path) -> None:
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
