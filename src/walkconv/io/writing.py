"""Tables to files: CSV and Parquet, whole or in parts."""

import gzip
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path

import polars as pl

from walkconv._files import whole_file
from walkconv.io.formats import PARQUET, SEPARATORS, TABLE_ENDINGS, check_writable, ending_of


def write_table(table: pl.DataFrame, path: str | os.PathLike[str]) -> None:
    """Write a table to a file. The file appears whole or not at all.

    Parameters
    ----------
    table : polars DataFrame
    path : path
        A file that ends in ``.csv``, ``.csv.gz``, ``.tsv``, ``.tsv.gz``, ``.parquet`` or ``.pq``,
        or ``-`` for CSV on standard output. A device or a pipe gets CSV if its name has no such
        end.

    Examples
    --------
    >>> import polars as pl
    >>> from walkconv.io import write_table
    >>> write_table(pl.DataFrame({"x": [1, 2], "y": ["a", "b"]}), "-")
    x,y
    1,a
    2,b
    """
    write_table_parts([table], path)


def write_table_parts(parts: Iterable[pl.DataFrame], path: str | os.PathLike[str]) -> None:
    """Write the parts of a table to one file. The file appears whole or not at all.

    Parameters
    ----------
    parts : iterable of polars DataFrame
        At least one, all with the same columns.
    path : path
        As in `write_table`. Standard output gets each part as soon as it is there. A Parquet file
        takes its space twice until it is finished.

    Examples
    --------
    >>> import polars as pl
    >>> from walkconv.io import write_table_parts
    >>> write_table_parts((pl.DataFrame({"x": [i, i]}) for i in range(2)), "-")
    x
    0
    0
    1
    1
    """
    path = os.fspath(path)
    check_writable(path, endings=TABLE_ENDINGS)
    if path == "-":
        if sys.stdout is None or sys.stdout.closed:
            raise OSError("Standard output must be open; it is closed. Name a file as output.")
        for text in _texts(parts, ","):
            sys.stdout.write(text)
        return
    ending = ending_of(path)
    with whole_file(path) as file:
        if ending in PARQUET:
            _write_parquet(parts, file)
            return
        is_packed = ending.endswith(".gz")
        with gzip.open(file, "wb") if is_packed else open(file, "wb") as stream:
            for text in _texts(parts, SEPARATORS.get(ending, ",")):
                stream.write(text.encode())


def _texts(parts: Iterable[pl.DataFrame], separator: str) -> Iterator[str]:
    for number, part in enumerate(parts):
        yield part.write_csv(include_header=number == 0, separator=separator)


def _write_parquet(parts: Iterable[pl.DataFrame], file: Path) -> None:
    """Write parts as one Parquet file; polars can only join such parts if they are files too."""
    remaining = iter(parts)
    first = next(remaining)
    second = next(remaining, None)
    if second is None:
        with _naming_faults(file):
            first.write_parquet(file)
        return
    with tempfile.TemporaryDirectory(dir=file.parent, prefix=".walkconv-") as folder:
        names = []
        for number, part in enumerate(chain([first, second], remaining)):
            _check_types(part, first)
            names.append(f"{folder}/{number:09}.parquet")
            with _naming_faults(file):
                part.write_parquet(names[-1], compression="uncompressed")
        with _naming_faults(file):
            pl.scan_parquet(names).sink_parquet(file)


@contextmanager
def _naming_faults(file: Path) -> Iterator[None]:
    """Turn an error of polars, such as that of a full disk, into one of the system."""
    try:
        yield
    except pl.exceptions.PolarsError as error:
        reason = next(iter(str(error).splitlines()), "the disk failed")
        raise OSError(f"A file in {file.parent} could not be written: {reason}") from error


def _check_types(part: pl.DataFrame, first: pl.DataFrame) -> None:
    for name, kind in part.schema.items():
        if kind != first.schema[name]:
            raise ValueError(
                f"A column of a Parquet file must hold one type; {name!r} holds "
                f"{first.schema[name]} in the first rows and {kind} later. Write CSV, or leave out "
                "the column."
            )
