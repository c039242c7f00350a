"""Edge lists: a table with the columns source and target, or plain text as SNAP writes it."""

from collections.abc import Iterator
from io import TextIOWrapper

import numpy as np
import polars as pl
import scipy.sparse as sp

from walkconv._checks import listed
from walkconv.graphs import graph_from_edges
from walkconv.io.columns import as_numbers, drop_row_numbers, is_nameless
from walkconv.io.csv_text import not_utf8
from walkconv.io.formats import check_file
from walkconv.io.packed import open_unpacked

COLUMNS = ["source", "target", "weight"]
PIECE = 2**24
"""Characters that are read at once."""


def read_edge_text(path: str) -> pl.DataFrame:
    """Return a text of edges as a table with the columns source, target and perhaps weight."""
    check_file(path)
    try:
        pieces = list(_read_pieces(path))
    except UnicodeDecodeError:
        raise not_utf8(path) from None
    if not pieces:
        raise ValueError(f"{path} must have at least one edge; it has no edges.")
    table = pl.concat(pieces)
    ends = table.select(COLUMNS[:2])
    numbers = ends.cast(pl.Int64, strict=False)
    # Names are numbers only if all of them are, and are written as numbers are: 01 is not 1.
    if numbers.cast(pl.String).equals(ends):
        table = table.with_columns(numbers)
    if "weight" in table.columns:
        weight = table["weight"].cast(pl.Float64, strict=False)
        table = table if weight.null_count() else table.with_columns(weight)
    return table


def _read_pieces(path: str) -> Iterator[pl.DataFrame]:
    """Yield the edges piece by piece, as text: as Python objects they would fill the memory."""
    n_lines = n_fields = 0
    with open_unpacked(path) as packed, TextIOWrapper(packed, encoding="utf-8") as file:
        while lines := file.readlines(PIECE):
            rows = []
            for number, line in enumerate(lines, start=n_lines + 1):
                fields = line.split()
                if not fields or line.startswith(("#", "%")):
                    continue
                n_fields = n_fields or len(fields)
                if len(fields) != n_fields or n_fields not in (2, 3):
                    raise ValueError(
                        f"Each line of {path} must be `source target` or `source target weight`; "
                        f"line {number} is {line.rstrip()!r}. Begin comments with #."
                    )
                rows.append(fields)
            n_lines += len(lines)
            if rows:
                yield pl.DataFrame(dict(zip(COLUMNS, zip(*rows, strict=True), strict=False)))


def is_edge_list(table: pl.DataFrame) -> bool:
    """Say whether a table has the columns of an edge list, and no other column with a name."""
    others = set(table.columns) - set(COLUMNS)
    return has_ends(table) and all(is_nameless(name) for name in others)


def has_ends(table: pl.DataFrame) -> bool:
    """Say whether a table has the columns source and target."""
    return set(COLUMNS[:2]) <= set(table.columns)


def graph_of_edges(
    table: pl.DataFrame, source: str, *, directed: bool
) -> tuple[pl.Series, sp.csr_array]:
    """Return the names of the nodes in order, and the graph (n_nodes, n_nodes) of a list of edges.

    Without columns named source and target, the first two are the ends of the edges. A third column
    is the weight. A column without a name that counts the rows is dropped, unless it is one of the
    first three.
    """
    if has_ends(table) or table.width > len(COLUMNS):
        table = drop_row_numbers(table, source)
    if table.width not in (2, 3):
        raise ValueError(
            f"{source} must have the columns source, target and, if edges have weights, weight, or "
            f"two or three columns with other names; it has {table.width} column(s): "
            f"{listed(table.columns)}."
        )
    if has_ends(table):
        table = table.select(*COLUMNS[:2], pl.exclude(COLUMNS[:2]))
    ends = table.select(table.columns[:2])
    n_empty = sum(ends.null_count().row(0))
    if n_empty:
        raise ValueError(
            f"Each edge of {source} must have a source and a target; {n_empty} are missing. "
            "Remove these rows."
        )
    if len(set(ends.dtypes)) > 1:
        ends = ends.cast(pl.String)
    first, second = ends.get_columns()
    names = pl.concat([first, second]).unique().sort()
    edge_index = np.stack([names.search_sorted(first), names.search_sorted(second)])
    weight = None
    if table.width == len(COLUMNS):
        numbers = as_numbers(table.select(table.columns[2]), source, remedy="Correct these cells.")
        weight = numbers.to_series().to_numpy()
    graph = graph_from_edges(
        edge_index.astype(np.int64), weight, n_nodes=len(names), directed=directed
    )
    return names.alias("node"), graph
