"""Tables in text: read, with clear errors for another encoding or separator."""

import csv
import io
import mmap
import re
from collections import Counter
from collections.abc import Mapping
from contextlib import closing
from functools import partial
from typing import BinaryIO

import polars as pl

from walkconv._checks import listed

EMPTY_CELLS = ["", "NA", "NaN", "nan", "null"]
DOUBLED = re.compile(r"._duplicated_\d+$")
"""What polars makes of a name that a column before has too."""
BLANK_LINE = re.compile(rb"\n\r?\n")
ENDINGS = {",": ".csv", "\t": ".tsv"}
MOST_COLUMNS = 2**20
"""Columns that a table of text may have: each costs a kilobyte or two, however short its name."""
MOST_ROW_BYTES = 2**26
"""Bytes of a row, at most, where a table is read in parts."""
HEADER_BYTES = 2**20
"""Bytes of a header that are looked at together."""
NEWLINE, QUOTE = b"\n", b'"'


def read_csv(
    source: str | bytes,
    path: str,
    *,
    separator: str,
    types: Mapping[str, pl.DataType] | None = None,
) -> pl.DataFrame:
    """Return a table in text.

    Parameters
    ----------
    source : str or bytes
        A file, or its content.
    path : str
        What an error calls it.
    separator : str
        The character between columns.
    types : mapping of str to polars DataType, optional
        Types of columns; the cells decide about the others.
    """
    with closing(io.BytesIO(source) if isinstance(source, bytes) else open(source, "rb")) as file:
        read_header(file, path, separator)
    read = partial(
        pl.read_csv,
        source,
        separator=separator,
        null_values=EMPTY_CELLS,
        infer_schema_length=None,
        schema_overrides=types,
    )
    try:
        table = read()
    except pl.exceptions.PolarsError as error:
        if "invalid utf-8" in str(error):
            raise not_utf8(path) from None
        _check_header(read(n_rows=0, truncate_ragged_lines=True), path, separator)
        raise
    _check_header(table, path, separator)
    if any(DOUBLED.search(name) for name in table.columns):
        whole = {"has_header": False, "infer_schema": False, "schema_overrides": None}
        names = read(n_rows=1, **whole).row(0)
        twice = [name for name, times in Counter(names).items() if name and times > 1]
        if twice:
            raise ValueError(
                f"{path} must have a name of its own for each column; found twice: {listed(twice)}."
            )
    return _without_blank_lines(table, source, path, separator)


def read_header(file: BinaryIO, path: str, separator: str) -> bytes:
    """Return the header of a table and one blank line before it; refuse a very long header."""
    blank, header = b"", list[bytes]()
    n_bytes = n_separators = n_quotes = 0
    while piece := file.readline(HEADER_BYTES):
        if not header and not piece.strip(b"\r\n"):
            blank = piece
            continue
        header.append(piece)
        n_bytes += len(piece)
        n_separators += piece.count(separator.encode())
        n_quotes += piece.count(QUOTE)
        if n_separators >= MOST_COLUMNS or n_bytes > MOST_ROW_BYTES:
            if b"\r" in b"".join(header).replace(b"\r\n", b""):
                raise _ends_with_returns(path)
            raise ValueError(
                f"{path} must have a header of at most {MOST_COLUMNS:,} columns and "
                f"{MOST_ROW_BYTES // 2**20} MiB; it has a longer one. Is a quote or an end of line "
                "missing?"
            )
        if piece.endswith(NEWLINE) and n_quotes % 2 == 0:
            break
    return blank + b"".join(header)


def _ends_with_returns(path: str) -> ValueError:
    return ValueError(
        f"{path} must end its lines with a line feed; they end with a carriage return alone. "
        "Save it again with the ends of lines of Unix or Windows."
    )


def _without_blank_lines(
    table: pl.DataFrame, source: str | bytes, path: str, separator: str
) -> pl.DataFrame:
    """Drop the rows that polars makes of lines without a character; rows of empty cells stay.

    In a table of one column such a line is an empty cell.
    """
    if table.width == 1 or table.is_empty() or not min(table.null_count().row(0)):
        return table
    if not table.select(pl.all_horizontal(pl.all().is_null()).any()).item():
        return table
    if not _has_blank_line(source):
        return table
    content = io.BytesIO(source) if isinstance(source, bytes) else io.FileIO(source)
    with io.TextIOWrapper(io.BufferedReader(content), encoding="utf-8-sig", newline="") as text:
        try:
            is_row = [bool(row) for row in csv.reader(text, delimiter=separator)]
        except csv.Error:
            is_row = []
    if is_row and all(is_row):
        return table
    first = is_row.index(True) + 1 if True in is_row else 0
    if len(is_row) - first != table.height:
        raise ValueError(
            f"{path} must not have empty rows beside odd quotes or cells of more than "
            f"{csv.field_size_limit():,} characters; it has both. Remove the empty rows."
        )
    return table.filter(pl.Series(is_row[first:]))


def _has_blank_line(source: str | bytes) -> bool:
    """Look for two ends of lines in a row, which may also be in a cell; it is fast."""
    if isinstance(source, bytes):
        return BLANK_LINE.search(source) is not None
    with open(source, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
        return BLANK_LINE.search(text) is not None


def not_utf8(path: str) -> ValueError:
    """Return the error for a text in another encoding."""
    return ValueError(f"{path} must be text in UTF-8; it has another encoding. Save it as UTF-8.")


def _check_header(table: pl.DataFrame, path: str, separator: str) -> None:
    """Refuse names that could not be decoded, and one column that should be several."""
    if any("\N{REPLACEMENT CHARACTER}" in name for name in table.columns):
        raise not_utf8(path)
    if any("\r" in name for name in table.columns):
        raise _ends_with_returns(path)
    if table.width > 1:
        return
    name, cells = table.columns[0], table.to_series().drop_nulls().head(1).cast(pl.String)
    for mark in ";\t,":
        if mark != separator and mark in name and all(mark in cell for cell in cells):
            save = "Save it as CSV with commas between columns and decimal points in numbers."
            rename = f"Rename it so that it ends in {ENDINGS.get(mark)}."
            raise ValueError(
                f"{path} must have {separator!r} between its columns; it seems to have {mark!r}. "
                f"{rename if mark in ENDINGS and path != '-' else save}"
            )
