"""Tables from files: CSV, Parquet and npz."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import polars as pl

from walkconv.io.csv_text import read_csv
from walkconv.io.formats import (
    PARQUET,
    SEPARATORS,
    TABLE_ENDINGS,
    check_file,
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
    path = check_table_file(path)
    ending = ending_of(path)
    with naming(path):
        if ending in PARQUET:
            n_rows = pl.scan_parquet(path).select(pl.len()).collect().item()
            check_unpacked(path, 8 * n_rows * len(pl.read_parquet_schema(path)))
            table = pl.read_parquet(path)
        elif ending == ".npz":
            table = read_npz_table(path)
        else:
            source = sys.stdin.buffer.read() if path == "-" else path
            if path.lower().endswith(".gz"):
                with open_unpacked(path) as file:
                    source = file.read()
            table = read_csv(source, path, separator=SEPARATORS.get(ending, ","))
    if table.is_empty():
        raise no_rows(path)
    return table


def check_table_file(path: str | os.PathLike[str]) -> str:
    """Return the path of a table as text, or raise an error if no table can be read there."""
    path = os.fspath(path)
    if path == "-":
        return path
    check_file(path)
    if ending_of(path) not in (*TABLE_ENDINGS, ".npz"):
        known = ", ".join([*TABLE_ENDINGS, ".npz"])
        raise ValueError(f"The name of a table must end in {known}; got {path}.")
    return path


@contextmanager
def naming(path: str) -> Iterator[None]:
    """Turn an error of polars into one that names the file."""
    try:
        yield
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        reason = next(iter(str(error).splitlines()), "it is damaged")
        raise ValueError(f"{path} could not be read: {reason}") from error


def no_rows(path: str) -> ValueError:
    """Return the error for a table without rows."""
    return ValueError(f"{path} must have at least one row below its header; it has no rows.")
