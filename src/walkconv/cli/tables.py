"""Tables in files: CSV, Parquet and npz in, CSV and Parquet out, ``-`` for stdin and stdout."""

import gzip
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl

from walkconv._checks import SHOWN, listed
from walkconv._files import whole_file

SEPARATORS = {".csv": ",", ".csv.gz": ",", ".tsv": "\t", ".tsv.gz": "\t"}
PARQUET = (".parquet", ".pq")
WRITTEN = (*SEPARATORS, *PARQUET)
EMPTY_CELLS = ["", "NA", "NaN", "nan", "null"]


def read_table(path: str) -> pl.DataFrame:
    """Return the table in a file, its format known by the end of its name; ``-`` is CSV."""
    if path != "-" and not Path(path).is_file():
        raise FileNotFoundError(f"{path} must be a file; there is none of that name.")
    ending = ending_of(path)
    try:
        if ending in PARQUET:
            table = pl.read_parquet(path)
        elif ending == ".npz":
            table = _read_npz(path)
        elif path == "-" or ending in SEPARATORS:
            table = pl.read_csv(
                sys.stdin.buffer.read() if path == "-" else path,
                separator=SEPARATORS.get(ending, ","),
                null_values=EMPTY_CELLS,
                infer_schema_length=None,
            )
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
            f"{listed(table.columns)}.{_hint_at_separator(table)}"
        )
    return table.select(list(dict.fromkeys(columns)))


def leave_out(table: pl.DataFrame, columns: Sequence[str], path: str) -> pl.DataFrame:
    """Return a table without the named columns, which must be there."""
    return table.drop(pick(table, columns, path).columns)


def as_numbers(table: pl.DataFrame) -> pl.DataFrame:
    """Return the columns as float64 with NaN in empty cells."""
    text = [column.name for column in table if not _is_number(column)]
    if text:
        drops = " ".join(f"--drop {name}" for name in text[:SHOWN])
        raise ValueError(
            f"Columns must hold numbers; these hold something else: {listed(text)}. "
            f"Encode them as numbers or leave them out: {drops}"
        )
    if not table.width:
        raise ValueError("There must be at least one feature column; none is left.")
    return table.select(pl.all().cast(pl.Float64).fill_null(float("nan")))


def _hint_at_separator(table: pl.DataFrame) -> str:
    """Say which separator the name of a single column holds, if it holds one."""
    found = [mark for mark in ";\t," if table.width == 1 and mark in table.columns[0]]
    return f" The separator seems to be {found[0]!r}." if found else ""


def _is_number(column: pl.Series) -> bool:
    # A column of empty cells has no type of its own.
    is_empty = column.null_count() == len(column)
    return is_empty or column.dtype.is_numeric() or column.dtype == pl.Boolean


def _read_npz(path: str) -> pl.DataFrame:
    """Return ``X`` (n_rows, n_columns) and every array (n_rows,) beside it as one table."""
    with np.load(path, allow_pickle=False) as arrays:
        if "X" not in arrays or arrays["X"].ndim != 2:
            shapes = {name: arrays[name].shape for name in arrays}
            raise ValueError(f"{path} must have an array X of two dimensions; it has {shapes}.")
        X = arrays["X"]
        beside = {
            name: arrays[name]
            for name in arrays
            if name not in ("X", "feature_names") and arrays[name].shape == X.shape[:1]
        }
        names = [f"x{i}" for i in range(X.shape[1])]
        if "feature_names" in arrays:
            names = [str(name) for name in arrays["feature_names"]]
    return pl.DataFrame(X, schema=names).with_columns(**beside)
