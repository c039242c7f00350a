"""The folders where data may be, and the error that lists where it was searched."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path


class DatasetNotFoundError(FileNotFoundError):
    """No source has the data. The message lists each source, why it failed, and what to do."""

    def __init__(self, dataset: str, attempts: Sequence[tuple[str, str]], remedy: str):
        tried = "\n".join(f"  - {place}: {reason}" for place, reason in attempts)
        super().__init__(f"{dataset} was not found. Tried:\n{tried}\n{remedy}")


def data_folders(data_home: str | os.PathLike[str] | None) -> list[tuple[str, Path]]:
    """Return the folders to look in, each with the name it has for the user."""
    folders = []
    if data_home is not None:
        folders.append(("data_home", Path(data_home).expanduser()))
    if named := os.environ.get("WALKCONV_DATA"):
        folders.append(("$WALKCONV_DATA", Path(named).expanduser()))
    folders.append(("cache", cache_folder()))
    return folders


def cache_folder() -> Path:
    """Return the folder for downloads: $WALKCONV_CACHE, or `walkconv` in the user's cache."""
    if named := os.environ.get("WALKCONV_CACHE"):
        return Path(named).expanduser()
    if sys.platform == "darwin":
        parent = Path.home() / "Library" / "Caches"
    elif sys.platform == "win32":
        parent = Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local"))
    else:
        parent = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return parent / "walkconv"
