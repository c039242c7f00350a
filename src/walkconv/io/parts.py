"""Tables of any length, read some rows at a time.

The memory that this takes does not grow with the number of rows. Text is cut into blocks that end
with a row, and each block is read as a table with the header of the file.
"""

import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import BinaryIO

import polars as pl

from walkconv.io.csv_text import MOST_ROW_BYTES, NEWLINE, QUOTE, read_csv, read_header
from walkconv.io.formats import PARQUET, SEPARATORS, ending_of
from walkconv.io.packed import open_unpacked
from walkconv.io.tables import check_table_file, naming, no_rows, read_table

PART_BYTES = 2**24
"""Bytes of a part: of text, or of its values as float64."""
LARGE_BYTES = 2**31
"""A Parquet file with more numbers than this, as float64, is not read whole for a fit."""
BLANK_CELL = {
    ",": re.compile(rb'(?:^|[,\n"])[ \t]+(?:$|[,\r\n"])'),
    "\t": re.compile(rb'(?:^|[\t\n"]) +(?:$|[\t\r\n"])'),
}
"""A cell of spaces, or what may be one: polars reads nothing there if it expects a number."""


def read_table_parts(
    path: str | os.PathLike[str], *, numbers: Sequence[str] = (), n_bytes: int = PART_BYTES
) -> Iterator[pl.DataFrame]:
    r"""Yield the rows of a table in a file, in order, some at a time.

    Parameters
    ----------
    path : path
        As in `read_table`. An npz is read whole.
    numbers : sequence of str, optional
        Columns of text files that hold numbers, which are read faster then. The types that all
        other columns have in the first part they keep, as long as the cells fit.
    n_bytes : int, default 2**24
        Size of a part.

    Yields
    ------
    polars DataFrame of shape (n_rows, n_columns)
        At least one row.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from walkconv.io import read_table_parts
    >>> path = Path(tempfile.mkdtemp()) / "table.csv"
    >>> _ = path.write_text("height,colour\n1.5,red\n2.5,blue\n3.5,red\n")
    >>> [part.height for part in read_table_parts(path, n_bytes=16)]
    [1, 2]
    """
    path = check_table_file(path)
    ending = ending_of(path)
    if ending in PARQUET:
        return _parquet_parts(path, n_bytes)
    if ending == ".npz":
        return _slices(read_table(path), n_bytes)
    return _text_parts(path, SEPARATORS.get(ending, ","), numbers, n_bytes)


def scan_large_table(path: str | os.PathLike[str]) -> pl.LazyFrame | None:
    """Return the table in a Parquet file that is too large to be read whole, else None.

    Parameters
    ----------
    path : path
        As in `read_table`. `GraphCNNClassifier.fit` takes what is returned, and reads it in blocks.

    Returns
    -------
    polars LazyFrame or None
        None if all cells need less than 2 GiB as float64, or the file has another format.

    Examples
    --------
    >>> import tempfile
    >>> import polars as pl
    >>> from walkconv.io import scan_large_table
    >>> path = tempfile.mkdtemp() + "/table.parquet"
    >>> pl.DataFrame({"x": [1, 2]}).write_parquet(path)
    >>> print(scan_large_table(path))
    None
    """
    path = check_table_file(path)
    if ending_of(path) not in PARQUET:
        return None
    with naming(path):
        frame = pl.scan_parquet(path)
        n_rows = frame.select(pl.len()).collect().item()
        n_bytes = 8 * n_rows * len(frame.collect_schema())
    return frame if n_bytes > LARGE_BYTES else None


def _parquet_parts(path: str, n_bytes: int) -> Iterator[pl.DataFrame]:
    with naming(path):
        n_rows = pl.scan_parquet(path).select(pl.len()).collect().item()
        n_columns = len(pl.read_parquet_schema(path))
    if not n_rows:
        raise no_rows(path)
    rows_at_once = max(1, n_bytes // (8 * max(1, n_columns)))
    for start in range(0, n_rows, rows_at_once):
        with naming(path):
            part = pl.scan_parquet(path).slice(start, rows_at_once).collect()
        yield part


def _slices(table: pl.DataFrame, n_bytes: int) -> Iterator[pl.DataFrame]:
    yield from table.iter_slices(max(1, n_bytes // (8 * max(1, table.width))))


def _text_parts(
    path: str, separator: str, numbers: Sequence[str], n_bytes: int
) -> Iterator[pl.DataFrame]:
    types: dict[str, pl.DataType] = dict.fromkeys(numbers, pl.Float64())
    n_before = 0
    for header, rows in _blocks(path, separator, n_bytes):
        try:
            with naming(path):
                part = _read_block(header, rows, path, separator, types)
        except ValueError as error:
            if n_before:
                error.add_note(f"(This is in the rows after row {n_before}.)")
            raise
        if not part.is_empty():
            types = {name: types.get(name, kind) for name, kind in part.schema.items()}
            n_before += part.height
            yield part
    if not n_before:
        raise no_rows(path)


def _read_block(
    header: bytes, rows: bytes, path: str, separator: str, types: dict[str, pl.DataType]
) -> pl.DataFrame:
    """Return a block as a table; a column with other cells than expected has the type of these."""
    text = header + rows
    try:
        part = read_csv(text, path, separator=separator, types=types)
    except pl.exceptions.PolarsError:
        part = None
    if part is None or (_lacks_numbers(part, types) and BLANK_CELL[separator].search(rows)):
        fitting = {name: kind for name, kind in types.items() if kind == pl.String}
        part = read_csv(text, path, separator=separator, types=fitting)
    return part


def _lacks_numbers(part: pl.DataFrame, types: dict[str, pl.DataType]) -> bool:
    """Say whether a cell is empty in a column that was expected to hold numbers."""
    expected = [name for name, kind in types.items() if kind.is_numeric() and name in part.columns]
    return any(part[name].null_count() for name in expected)


def _blocks(path: str, separator: str, n_bytes: int) -> Iterator[tuple[bytes, bytes]]:
    """Yield the header and some rows, as text, until all rows are read."""
    if path == "-":
        yield from _rows_in_blocks(sys.stdin.buffer, path, separator, n_bytes)
        return
    with closing(open_unpacked(path)) as file:
        yield from _rows_in_blocks(file, path, separator, n_bytes)


def _rows_in_blocks(
    file: BinaryIO, path: str, separator: str, n_bytes: int
) -> Iterator[tuple[bytes, bytes]]:
    header = read_header(file, path, separator)
    rest, is_first = b"", True
    while block := file.read(n_bytes):
        block = rest + block
        end = _end_of_rows(block)
        rest = block[end:]
        if end:
            yield header, block[:end]
            is_first = False
        if len(rest) > MOST_ROW_BYTES + n_bytes:
            raise ValueError(
                f"{path} must have rows of at most {MOST_ROW_BYTES // 2**20} MiB; it has a longer "
                "one. Is a quote missing?"
            )
    if rest or is_first:
        yield header, rest


def _end_of_rows(block: bytes) -> int:
    """Return where the last whole row ends; a line that ends inside quotes goes on."""
    n_quotes, stop = block.count(QUOTE), len(block)
    while stop > 0:
        if n_quotes % 2:  # inside quotes: go on before the last one
            stop, n_quotes = block.rfind(QUOTE, 0, stop), n_quotes - 1
            continue
        end = block.rfind(NEWLINE, 0, stop) + 1
        n_quotes -= block.count(QUOTE, end, stop)
        if n_quotes % 2 == 0:
            return end
        stop = end - 1
    return 0
