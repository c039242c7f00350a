"""Graphs stored as a matrix: Matrix Market, CSR arrays in an npz, or a square table."""

import os
from pathlib import Path

import numpy as np
import polars as pl
import scipy.sparse as sp

from walkconv._checks import check_sparse, listed
from walkconv.io.columns import as_numbers
from walkconv.io.formats import MATRIX_MARKET, check_file, ending_of
from walkconv.io.matrix_market import check_size, parse_matrix_market
from walkconv.io.npz import Npz
from walkconv.io.packed import open_unpacked

CSR = ("indptr", "indices")


def is_matrix_file(path: str) -> bool:
    """Say whether a file holds a matrix: by the end of its name, an npz by the arrays in it."""
    if ending_of(path) in MATRIX_MARKET:
        return True
    if ending_of(path) != ".npz" or not Path(path).is_file():
        return False
    names = set(Npz(path).shapes)
    return "X" not in names and ("format" in names or set(CSR) <= names)


def read_matrix_file(path: str) -> tuple[pl.Series, sp.csr_array]:
    """Return the numbers of the nodes (n_nodes,), and the matrix (n_nodes, n_nodes).

    Matrix Market counts nodes from 1. An npz counts them from 0; `scipy.sparse.save_npz` wrote it,
    or it has `indptr`, `indices` and, if edges have weights, `data`.
    """
    check_file(path)
    if ending_of(path) == ".npz":
        matrix, first = _read_npz(path), 0
    else:
        with open_unpacked(path) as file:
            matrix, first = parse_matrix_market(file.read(), path), 1
    return pl.Series("node", np.arange(first, first + matrix.shape[0])), matrix


def matrix_of_table(
    table: pl.DataFrame, source: str, *, hint: str
) -> tuple[pl.Series, sp.csr_array]:
    """Return the names of the nodes, which are the columns, and the matrix of a square table.

    Its first column may name the rows, in any order. `hint` says what to do if the table is not a
    matrix.
    """
    rows = None
    if table.width == table.height + 1:
        rows = table.to_series(0).cast(pl.String).to_list()
        table = table.drop(table.columns[0])
    names = table.columns
    if len(names) != table.height:
        raise ValueError(
            f"As a matrix {source} must have one row per column; it has {len(names)} column(s) of "
            f"weights and {table.height} row(s). {hint}"
        )
    weight = as_numbers(table, source, remedy=f"Correct these cells. {hint}").to_numpy()
    if rows is not None:
        if set(rows) != set(names):
            raise ValueError(
                f"The rows of {source} must have the names of its columns, {listed(names)}; its "
                f"rows are {listed(rows)}."
            )
        row_of = {name: row for row, name in enumerate(rows)}
        weight = weight[[row_of[name] for name in names]]
    return pl.Series("node", names), sp.csr_array(weight)


def _reason(error: Exception) -> str:
    return str(error).rstrip(".")


def _read_npz(path: str) -> sp.csr_array:
    arrays = Npz(path)
    if "format" in arrays:
        if "shape" not in arrays:
            raise ValueError(f"{path} must have the array shape; it has {sorted(arrays.shapes)}.")
        n_bytes = os.path.getsize(path)
        sides = arrays["shape"]
        if sides.shape != (2,) or sides.dtype.kind not in "iu" or sides.min() < 0:
            raise ValueError(f"{path} must have a shape of two numbers of nodes; it has {sides}.")
        check_size(tuple(sides.tolist()), n_bytes, path)
        try:
            stored = sp.load_npz(path)
        except (MemoryError, RecursionError):
            raise
        except Exception as error:  # scipy believes the arrays until something fails
            raise ValueError(
                f"{path} must be as scipy.sparse.save_npz writes it: {_reason(error)}."
            ) from None
        check_sparse(stored, path)
        return sp.csr_array(stored)
    if not set(CSR) <= set(arrays.shapes):
        raise ValueError(
            f"{path} must have the arrays {', '.join(CSR)}; it has {sorted(arrays.shapes)}."
        )
    indptr, indices = arrays["indptr"], arrays["indices"]
    data = arrays["data"] if "data" in arrays else np.ones(len(indices))
    n_nodes = len(indptr) - 1
    try:
        matrix = sp.csr_array((data, indices, indptr), shape=(n_nodes, n_nodes))
    except (ValueError, TypeError) as error:
        raise ValueError(
            f"The arrays of {path} must be those of a CSR matrix: {_reason(error)}."
        ) from None
    check_sparse(matrix, path)
    return matrix
