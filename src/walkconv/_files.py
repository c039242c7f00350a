"""Files appear whole or not at all."""

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a path to write to, which becomes `path` when the block ends without an error.

    A reader sees the old file or the new one, never half of one. Folders are made as needed.
    What is not a plain file, such as a pipe or ``/dev/null``, is written directly.
    """
    target = Path(path).resolve()
    if target.exists() and not target.is_file():
        if target.is_dir():
            raise IsADirectoryError(f"{path} must be a file; it is a folder. Name a file in it.")
        yield target
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    # The suffixes stay last: some writers choose the format by them.
    part = target.with_name(f".{uuid.uuid4().hex}.part{''.join(target.suffixes)}")
    try:
        yield part
        os.replace(part, target)
    finally:
        part.unlink(missing_ok=True)
