"""Formats of files, known by the end of their names."""

import os
from collections.abc import Sequence
from pathlib import Path

from walkconv import _files

SEPARATORS = {".csv": ",", ".csv.gz": ",", ".tsv": "\t", ".tsv.gz": "\t"}
PARQUET = (".parquet", ".pq")
EDGE_TEXT = (".txt", ".txt.gz", ".edges", ".edges.gz")
MATRIX_MARKET = (".mtx", ".mtx.gz")
TABLE_ENDINGS = (*SEPARATORS, *PARQUET)
"""Ends of names that `write_table` knows."""
NEIGHBORS_ENDINGS = (*TABLE_ENDINGS, ".npz")
"""Ends of names that `write_neighbors` knows."""


def ending_of(path: str | os.PathLike[str]) -> str:
    """Return the end of a file's name that tells its format, such as ``.csv.gz``."""
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    return "".join(suffixes[-2:] if suffixes[-1:] == [".gz"] else suffixes[-1:])


def check_file(path: str) -> None:
    """Refuse a path that is not a file to read."""
    if not Path(path).is_file():
        reason = "it is a folder" if Path(path).is_dir() else "there is no file of that name"
        raise FileNotFoundError(f"{path} must be a file; {reason}.")


def check_writable(path: str | os.PathLike[str], *, endings: Sequence[str] | None = None) -> None:
    """Refuse a path that could not be written. Call it before what takes long to compute.

    Parameters
    ----------
    path : path
        Where a file will be written; ``-`` is standard output. A device or a pipe may have any
        name.
    endings : sequence of str, optional
        The ends that its name may have, such as `TABLE_ENDINGS`. Any end by default.

    Examples
    --------
    >>> from walkconv.io import TABLE_ENDINGS, check_writable
    >>> check_writable("predictions.csv", endings=TABLE_ENDINGS)
    >>> check_writable("predictions.doc", endings=TABLE_ENDINGS)
    Traceback (most recent call last):
    ValueError: The name of an output must end in .csv, .csv.gz, .tsv, .tsv.gz, .parquet, .pq, or \
be - for standard output; got predictions.doc.
    """
    if os.fspath(path) == "-" or _is_device(Path(path)):
        return
    _files.check_writable(path)
    if endings is not None and ending_of(path) not in endings:
        raise ValueError(
            f"The name of an output must end in {', '.join(endings)}, or be - for standard output; "
            f"got {os.fspath(path)}."
        )


def _is_device(path: Path) -> bool:
    return path.exists() and not path.is_file() and not path.is_dir()
