"""Graphs that stand in a file as a matrix: Matrix Market, CSR arrays in an npz, a square table."""

from pathlib import Path

import numpy as np
import polars as pl
import scipy.sparse as sp

from walkconv._checks import listed
from walkconv.cli.features import as_numbers
from walkconv.cli.npz import open_npz
from walkconv.cli.tables import WRITTEN, ending_of, read_table

CSR = ("indptr", "indices")


def is_matrix(path: str) -> bool:
    """Say whether a file holds a matrix: by the end of its name, an npz by the arrays in it."""
    if ending_of(path) in (".mtx", ".mtx.gz"):
        return True
    if ending_of(path) != ".npz" or not Path(path).is_file():
        return False
    names = _names(path)
    return "X" not in names and ("format" in names or set(CSR) <= names)


def read_matrix(path: str) -> tuple[pl.Series, sp.sparray]:
    """Return the numbers or names of the nodes (n_nodes,), and the matrix (n_nodes, n_nodes).

    An npz is one that `scipy.sparse.save_npz` wrote, or has `indptr`, `indices` and, where the
    edges have weights, `data`. A table is read by `matrix_of`.
    """
    if path == "-" or ending_of(path) in WRITTEN:
        return matrix_of(read_table(path), path, hint="If it is a list of edges, use --kind edges")
    if not Path(path).is_file():
        raise FileNotFoundError(f"{path} must be a file; there is none of that name.")
    if ending_of(path) != ".npz":
        from scipy.io import mmread

        try:
            matrix, first = sp.csr_array(mmread(path)), 1
        except ValueError as error:
            raise ValueError(f"{path} must be a Matrix Market file: {_reason(error)}.") from None
    else:
        matrix, first = _read_npz(path), 0
    return pl.Series("node", np.arange(first, first + matrix.shape[0])), matrix


def matrix_of(table: pl.DataFrame, path: str, *, hint: str) -> tuple[pl.Series, sp.csr_array]:
    """Return the names of the nodes, which are the columns, and the matrix of a square table.

    Its first column may name the rows, in any order. `hint` says what to do with a table that
    is none.
    """
    rows = None
    if table.width == table.height + 1:
        rows = table.to_series(0).cast(pl.String).to_list()
        table = table.drop(table.columns[0])
    names = table.columns
    if len(names) != table.height:
        raise ValueError(
            f"As a matrix {path} must have a row for each column; it has {len(names)} column(s) of "
            f"weights and {table.height} row(s). {hint}."
        )
    weight = as_numbers(table, path, remedy=f"Mend these cells. {hint}").to_numpy()
    if rows is not None:
        if set(rows) != set(names):
            raise ValueError(
                f"The rows of {path} must have the names of its columns, {listed(names)}; its rows "
                f"are {listed(rows)}."
            )
        place = {name: row for row, name in enumerate(rows)}
        weight = weight[[place[name] for name in names]]
    return pl.Series("node", names), sp.csr_array(weight)


def _reason(error: ValueError) -> str:
    return str(error).rstrip(".")


def _names(path: str) -> set[str]:
    """Return the names of the arrays in an npz."""
    with open_npz(path) as arrays:
        return set(arrays)


def _read_npz(path: str) -> sp.sparray:
    names = _names(path)
    if "format" in names:
        return sp.csr_array(sp.load_npz(path))
    if not set(CSR) <= names:
        raise ValueError(f"{path} must have the arrays {', '.join(CSR)}; it has {sorted(names)}.")
    with open_npz(path) as arrays:
        indptr, indices = arrays["indptr"], arrays["indices"]
        data = arrays["data"] if "data" in arrays else np.ones(len(indices))
    n_nodes = len(indptr) - 1
    try:
        matrix = sp.csr_array((data, indices, indptr), shape=(n_nodes, n_nodes))
        matrix.check_format()
    except ValueError as error:
        raise ValueError(
            f"The arrays of {path} must be those of a CSR matrix: {_reason(error)}."
        ) from None
    return matrix
