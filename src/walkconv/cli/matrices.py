"""Graphs that stand in a file as a matrix: Matrix Market, and CSR arrays in an npz."""

import zipfile
from pathlib import Path

import numpy as np
import polars as pl
import scipy.sparse as sp

from walkconv.cli.tables import ending_of

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
    """Return the numbers of the nodes as the file has them, and the matrix (n_nodes, n_nodes).

    An npz is one that `scipy.sparse.save_npz` wrote, or has `indptr`, `indices` and, where the
    edges have weights, `data`.
    """
    if not Path(path).is_file():
        raise FileNotFoundError(f"{path} must be a file; there is none of that name.")
    if ending_of(path) != ".npz":
        from scipy.io import mmread

        try:
            matrix, first = sp.csr_array(mmread(path)), 1
        except ValueError as error:
            raise ValueError(f"{path} must be a Matrix Market file: {error}.") from None
    else:
        matrix, first = _read_npz(path), 0
    return pl.Series("node", np.arange(first, first + matrix.shape[0])), matrix


def _names(path: str) -> set[str]:
    """Return the names of the arrays in an npz."""
    if not zipfile.is_zipfile(path):
        raise ValueError(f"{path} must be an npz, as numpy.savez writes it; it is not.")
    with np.load(path, allow_pickle=False) as arrays:
        return set(arrays)


def _read_npz(path: str) -> sp.sparray:
    names = _names(path)
    if "format" in names:
        return sp.csr_array(sp.load_npz(path))
    if not set(CSR) <= names:
        raise ValueError(f"{path} must have the arrays {', '.join(CSR)}; it has {sorted(names)}.")
    with np.load(path, allow_pickle=False) as arrays:
        indptr, indices = arrays["indptr"], arrays["indices"]
        data = arrays["data"] if "data" in arrays else np.ones(len(indices))
    n_nodes = len(indptr) - 1
    try:
        matrix = sp.csr_array((data, indices, indptr), shape=(n_nodes, n_nodes))
        matrix.check_format()
    except ValueError as error:
        raise ValueError(f"The arrays of {path} must be those of a CSR matrix: {error}.") from None
    return matrix
