"""What a table or a graph in a file means, read in the simplest way there is.

Each function compares it with what the library read, and says what differs, or returns None.
"""

import csv
import gzip
import io
import math
import re

import numpy as np
import polars as pl

MOST_COMPARED = 10_000
EMPTY = {"", "NA", "NaN", "nan", "null"}


def differing_cell(table, path):
    """Compare a table with the cells of its file, unless it is long or has quotes inside cells."""
    if path.suffix == ".npz":
        return _differing_array(table, path)
    if path.suffix == ".parquet":
        return None
    content = path.read_bytes()
    content = gzip.decompress(content) if path.suffix == ".gz" else content
    separator = "\t" if path.suffix == ".tsv" else ","
    text = content.decode("utf-8-sig", "replace")
    if len(text) > MOST_COMPARED or not _is_well_formed(text, separator):
        return None
    rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True))
    while rows and not rows[0]:
        rows.pop(0)
    if table.width > 1:
        rows = [row for row in rows if row]
    rows = [row or [""] for row in rows]
    if len(rows) != table.height + 1:
        return f"{table.height} rows; there are {len(rows) - 1}"
    for place, column in enumerate(table):
        for number, (row, value) in enumerate(zip(rows[1:], column, strict=True)):
            cell = row[place] if place < len(row) else ""
            if not _is_same(cell, value, column.dtype):
                return f"{value!r} in row {number} of {column.name!r}; the file has {cell!r}"
    return None


def differing_parts(parts, whole):
    """Compare the parts of a table with the whole; a column may have a type in each part."""
    if any(part.columns != whole.columns for part in parts):
        return f"the columns {[part.columns for part in parts]}; they are {whole.columns}"
    found = [row for part in parts for row in part.rows()]
    if len(found) != whole.height:
        return f"{len(found)} rows; there are {whole.height}"
    for number, (row, wanted) in enumerate(zip(found, whole.rows(), strict=True)):
        if not all(_is_same_value(a, b) for a, b in zip(row, wanted, strict=True)):
            return f"{row} in row {number}; the whole table has {wanted}"
    return None


def differing_edge(held, path):
    """Compare a graph with the edges of a text, or with the entries of Matrix Market."""
    if held.graph.shape[0] > 1000:
        return None
    if path.suffix == ".txt":
        found, wanted = _edges_of_text(held, path)
    elif path.suffix == ".mtx":
        found, wanted = held.graph.toarray(), _matrix_market(path, held.graph.shape)
    else:
        return None
    return None if np.allclose(found, wanted, equal_nan=True) else f"{found}; it is {wanted}"


def _is_well_formed(text, separator):
    """Tell whether each cell is quoted as a whole or has no quote: readers differ on others."""
    cell = f'(?:"(?:[^"]|"")*"|[^"{separator}\n\r]*)'
    line = f"{cell}(?:{separator}{cell})*"
    return re.fullmatch(f"{line}(?:\r?\n{line})*", text) is not None


def _differing_array(table, path):
    with np.load(path) as arrays:
        X = arrays["X"]
    found = table.select(table.columns[: X.shape[1]])
    if table.height != len(X):
        return f"{table.height} rows; there are {len(X)}"
    for place, column in enumerate(found):
        values = column.to_numpy()
        if not all(_is_equal(a, b) for a, b in zip(values, X[:, place], strict=True)):
            return f"{values} in {column.name!r}; the file has {X[:, place]}"
    return None


def _is_same_value(found, wanted):
    if isinstance(found, str) != isinstance(wanted, str) and None not in (found, wanted):
        text, value = (found, wanted) if isinstance(found, str) else (wanted, found)
        try:
            return text == str(value).lower() or float(text) == value
        except (TypeError, ValueError):
            return not isinstance(value, int | float)  # a date
    if isinstance(found, float) and isinstance(wanted, int | float):
        return math.isclose(found, wanted, rel_tol=1e-15) or (found != found and wanted != wanted)
    return found == wanted


def _is_equal(found, wanted):
    if isinstance(wanted, bytes):
        wanted = wanted if isinstance(found, bytes) else wanted.decode()
    is_nan = isinstance(wanted, float | np.floating) and math.isnan(wanted)
    return math.isnan(found) if is_nan else found == wanted


def _is_same(cell, value, kind):
    if value is None:
        return cell in EMPTY
    if kind == pl.String:
        return value == cell
    if kind == pl.Boolean:
        return str(value).lower() == cell.strip().lower()
    if not kind.is_numeric():
        return True
    try:
        wanted = float(cell) if kind.is_float() else int(cell)
    except ValueError:
        return False
    if kind.is_float() and math.isfinite(wanted):
        return math.isclose(value, wanted, rel_tol=1e-15, abs_tol=0)
    return value == wanted or (value != value and wanted != wanted)


def _edges_of_text(held, path):
    place = {name: number for number, name in enumerate(held.names.cast(pl.String))}
    wanted = np.zeros(held.graph.shape)
    for line in path.read_text(encoding="utf-8").split("\n"):
        if line.startswith(("#", "%")) or not line.split():
            continue
        source, target, *weight = line.split()
        i, j, value = place[source], place[target], float(weight[0]) if weight else 1.0
        wanted[i, j] += value
        if i != j:
            wanted[j, i] += value
    return held.graph.toarray(), wanted


def _matrix_market(path, shape):
    lines = path.read_text(encoding="ascii", errors="replace").split("\n")
    words = lines[0].lower().split()
    rest = [line.split("%")[0].split() for line in lines[1:]]
    _, *entries = [line for line in rest if line]
    wanted = np.zeros(shape)
    sign = {"general": 0, "symmetric": 1, "skew-symmetric": -1}[words[4]]
    if words[2] == "array":
        values = iter(float(line[0]) for line in entries)
        for j in range(shape[1]):
            for i in range(shape[0]) if not sign else range(j + (sign < 0), shape[0]):
                wanted[i, j] = next(values)
                if sign and i != j:
                    wanted[j, i] = sign * wanted[i, j]
        return wanted
    for line in entries:
        i, j = int(float(line[0])) - 1, int(float(line[1])) - 1
        value = float(line[2]) if words[3] != "pattern" else 1.0
        wanted[i, j] += value
        if sign and i != j:
            wanted[j, i] += sign * value
    return wanted
