"""Arrays in an npz: those of a table, or what else a command looks for."""

import zipfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import polars as pl
from numpy.lib.npyio import NpzFile

from walkconv._checks import listed


@contextmanager
def open_npz(path: str) -> Iterator[NpzFile]:
    """Yield the arrays in a file, by name; a file that is no npz is refused."""
    if not zipfile.is_zipfile(path):
        raise ValueError(f"{path} must be an npz, as numpy.savez writes it; it is not.")
    with np.load(path, allow_pickle=False) as arrays:
        yield arrays


def read_npz_table(path: str) -> pl.DataFrame:
    """Return ``X`` (n_rows, n_columns) and every array (n_rows,) beside it as one table."""
    with open_npz(path) as arrays:
        X = _read(arrays, "X", path) if "X" in arrays else None
        if X is None or X.ndim != 2:
            shapes = {name: _read(arrays, name, path).shape for name in arrays}
            raise ValueError(f"{path} must have an array X of two dimensions; it has {shapes}.")
        names = [f"x{i}" for i in range(X.shape[1])]
        if "feature_names" in arrays:
            names = [str(name) for name in _read(arrays, "feature_names", path).ravel()]
        others = [name for name in arrays if name not in ("X", "feature_names")]
        beside = {
            name: array
            for name in others
            if (array := _read(arrays, name, path)).shape == X.shape[:1]
        }
    _check_names(names, list(beside), X.shape[1], path)
    return pl.DataFrame(X, schema=names).with_columns(**beside)


def _read(arrays: NpzFile, name: str, path: str) -> np.ndarray:
    try:
        return np.asarray(arrays[name])
    except ValueError:
        raise ValueError(
            f"{path} must hold numbers and text; its array {name} holds Python objects. "
            "Save it with .astype(str) or .astype(float)."
        ) from None


def _check_names(names: list[str], beside: list[str], n_columns: int, path: str) -> None:
    if len(names) != n_columns:
        raise ValueError(
            f"{path} must have a name in feature_names for each of the {n_columns} columns of X; "
            f"it has {len(names)}."
        )
    twice = [name for name, times in Counter([*names, *beside]).items() if times > 1]
    if twice:
        raise ValueError(
            f"{path} must have a name of its own for each column and array; there twice: "
            f"{listed(twice)}."
        )
