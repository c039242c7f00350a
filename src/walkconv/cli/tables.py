"""Tables in files: CSV, Parquet and npz in, CSV and Parquet out, ``-`` for stdin and stdout."""

import gzip
import sys
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from walkconv._checks import listed
from walkconv._files import whole_file
from walkconv.cli.csv_text import read_csv
from walkconv.cli.npz import read_npz_table

SEPARATORS = {".csv": ",", ".csv.gz": ",", ".tsv": "\t", ".tsv.gz": "\t"}
PARQUET = (".parquet", ".pq")
WRITTEN = (*SEPARATORS, *PARQUET)


def read_table(path: str) -> pl.DataFrame:
    """Return the table in a file, its format known by the end of its name; ``-`` is CSV."""
    if path != "-" and not Path(path).is_file():
        raise FileNotFoundError(f"{path} must be a file; there is none of that name.")
    ending = ending_of(path)
    try:
        if ending in PARQUET:
            table = pl.read_parquet(path)
        elif ending == ".npz":
            table = read_npz_table(path)
        elif path == "-" or ending in SEPARATORS:
            source = sys.stdin.buffer.read() if path == "-" else path
            table = read_csv(source, path, separator=SEPARATORS.get(ending, ","))
        else:
            known = ", ".join([*WRITTEN, ".npz"])
            raise ValueError(f"The name of a table must end in {known}; got {path}.")
    except pl.exceptions.PolarsError as error:
        raise ValueError(f"{path} could not be read: {str(error).splitlines()[0]}") from error
    if table.is_empty():
        raise ValueError(f"{path} must have at least one row below its header; it has none.")
    return table


def write_table(table: pl.DataFrame, path: str) -> None:
    """Write a table whole or not at all: Parquet by the end of its name, CSV or TSV otherwise."""
    if path == "-":
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


def ending_of(path: str) -> str:
    """Return the end of a file's name that tells its format, such as ``.csv.gz``."""
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    return "".join(suffixes[-2:] if suffixes[-1:] == [".gz"] else suffixes[-1:])


def pick(table: pl.DataFrame, columns: Sequence[str], path: str) -> pl.DataFrame:
    """Return the named columns of a table, in that order."""
    missing = [column for column in columns if column not in table.columns]
    if missing:
        raise ValueError(
            f"{path} must have the column(s) {listed(missing)}; it has {table.width} column(s): "
            f"{listed(table.columns)}."
        )
    return table.select(list(dict.fromkeys(columns)))


def leave_out(table: pl.DataFrame, columns: Sequence[str], path: str) -> pl.DataFrame:
    """Return a table without the named columns, which must be there."""
    return table.drop(pick(table, columns, path).columns)
