"""Edge lists: a table whose columns are source and target, or plain text as SNAP writes it."""

import gzip
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import polars as pl
import scipy.sparse as sp

import walkconv
from walkconv._checks import listed
from walkconv.cli.csv_text import not_utf8
from walkconv.cli.features import as_numbers, is_nameless, named_columns
from walkconv.cli.tables import ending_of, read_table

COLUMNS = ["source", "target", "weight"]
TEXT_ENDINGS = (".txt", ".txt.gz", ".edges", ".edges.gz")
PIECE = 2**24
"""Characters that are read at once."""


def read_edges_or_table(path: str) -> pl.DataFrame:
    """Return a table, or a text of edges as a table with the columns source, target, weight."""
    if ending_of(path) not in TEXT_ENDINGS or not Path(path).is_file():
        return read_table(path)
    try:
        pieces = list(_read_pieces(path))
    except UnicodeDecodeError:
        raise not_utf8(path) from None
    if not pieces:
        raise ValueError(f"{path} must have at least one edge; it has none.")
    table = pl.concat(pieces)
    ends = table.select(COLUMNS[:2])
    numbers = ends.cast(pl.Int64, strict=False)
    # Names are numbers only if all are, and written as numbers are: 01 is not 1.
    if numbers.cast(pl.String).equals(ends):
        table = table.with_columns(numbers)
    if "weight" in table.columns:
        weight = table["weight"].cast(pl.Float64, strict=False)
        table = table if weight.null_count() else table.with_columns(weight)
    return table


def _read_pieces(path: str) -> Iterator[pl.DataFrame]:
    """Yield the edges piece by piece, as text: as Python's own objects they would fill memory."""
    n_lines = n_fields = 0
    opener = gzip.open if path.lower().endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8") as file:
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
    """Say whether a table has the columns of an edge list, and no other with a name."""
    others = set(table.columns) - set(COLUMNS)
    return has_ends(table) and all(is_nameless(name) for name in others)


def has_ends(table: pl.DataFrame) -> bool:
    """Say whether a table that holds a graph is a list of edges, by the names of its columns."""
    return set(COLUMNS[:2]) <= set(table.columns)


def graph_of_edges(
    table: pl.DataFrame, path: str, say: Callable[[str], None], *, directed: bool = False
) -> tuple[pl.Series, sp.csr_array]:
    """Return the names of the nodes in order, and the graph (n_nodes, n_nodes) of a list of edges.

    Where no columns are named source and target, the first two are the ends; a third is the weight.
    Numbers of rows without a name are left out where they cannot be one of these, and `say` takes a
    note of it.
    """
    if has_ends(table) or table.width > len(COLUMNS):
        table = named_columns(table, path, say)
    if table.width not in (2, 3):
        raise ValueError(
            f"{path} must have the columns source, target and, if edges have one, weight, or "
            f"these three under other names; it has {table.width} column(s): "
            f"{listed(table.columns)}."
        )
    if has_ends(table):
        table = table.select(*COLUMNS[:2], pl.exclude(COLUMNS[:2]))
    ends = table.select(table.columns[:2])
    if sum(ends.null_count().row(0)):
        raise ValueError(f"Each edge of {path} must have a source and a target; some have none.")
    if len(set(ends.dtypes)) > 1:
        ends = ends.cast(pl.String)
    source, target = ends.get_columns()
    names = pl.concat([source, target]).unique().sort()
    edge_index = np.stack([names.search_sorted(source), names.search_sorted(target)])
    weight = None
    if table.width == 3:
        numbers = as_numbers(table.select(table.columns[2]), path, remedy="Mend these cells")
        weight = numbers.to_series().to_numpy()
    graph = walkconv.graph_from_edges(
        edge_index.astype(np.int64), weight, n_nodes=len(names), directed=directed
    )
    return names, graph
