"""Tables in files: CSV, Parquet and npz in, CSV and Parquet out."""

import gzip
import os
import sys

import polars as pl

from walkconv._files import whole_file
from walkconv.io.csv_text import read_csv
from walkconv.io.formats import (
    PARQUET,
    SEPARATORS,
    TABLE_ENDINGS,
    check_file,
    check_writable,
    ending_of,
)
from walkconv.io.npz import read_npz_table
from walkconv.io.packed import check_unpacked, open_unpacked


def read_table(path: str | os.PathLike[str]) -> pl.DataFrame:
    r"""Return the table in a file.

    Parameters
    ----------
    path : path
        A file that ends in ``.csv``, ``.csv.gz``, ``.tsv``, ``.tsv.gz``, ``.parquet``, ``.pq`` or
        ``.npz``, or ``-`` for CSV from standard input. Text must be UTF-8; empty cells, NA, NaN and
        null are missing values. An npz must have an array ``X`` (n_rows, n_columns). It may have
        ``feature_names`` (n_columns,), and every other array (n_rows,) is a column too.

    Returns
    -------
    polars DataFrame of shape (n_rows, n_columns)

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from walkconv.io import read_table
    >>> path = Path(tempfile.mkdtemp()) / "table.csv"
    >>> _ = path.write_text("height,colour\n1.5,red\nNA,blue\n")
    >>> read_table(path).to_dict(as_series=False)
    {'height': [1.5, None], 'colour': ['red', 'blue']}
    """
    path = os.fspath(path)
    if path != "-":
        check_file(path)
    ending = ending_of(path)
    try:
        if ending in PARQUET:
            n_rows = pl.scan_parquet(path).select(pl.len()).collect().item()
            check_unpacked(path, 8 * n_rows * len(pl.read_parquet_schema(path)))
            table = pl.read_parquet(path)
        elif ending == ".npz":
            table = read_npz_table(path)
        elif path == "-" or ending in SEPARATORS:
            source = sys.stdin.buffer.read() if path == "-" else path
            if path.lower().endswith(".gz"):
                with open_unpacked(path) as file:
                    source = file.read()
            table = read_csv(source, path, separator=SEPARATORS.get(ending, ","))
        else:
            known = ", ".join([*TABLE_ENDINGS, ".npz"])
            raise ValueError(f"The name of a table must end in {known}; got {path}.")
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        reason = next(iter(str(error).splitlines()), "it is damaged")
        raise ValueError(f"{path} could not be read: {reason}") from error
    if table.is_empty():
        raise ValueError(f"{path} must have at least one row below its header; it has no rows.")
    return table


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
    path = os.fspath(path)
    check_writable(path, endings=TABLE_ENDINGS)
    if path == "-":
        if sys.stdout is None or sys.stdout.closed:
            raise OSError("Standard output must be open; it is closed. Name a file as output.")
        sys.stdout.write(table.write_csv())
        return
    ending = ending_of(path)
    separator = SEPARATORS.get(ending, ",")
    with whole_file(path) as part:
        if ending in PARQUET:
            table.write_parquet(part)
        elif ending.endswith(".gz"):
            part.write_bytes(gzip.compress(table.write_csv(separator=separator).encode()))
        else:
            table.write_csv(part, separator=separator)
