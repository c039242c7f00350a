"""Arrays in an npz file."""

import math
import zipfile
from collections import Counter

import numpy as np
import polars as pl
from numpy.lib import format as npy

from walkconv._checks import listed
from walkconv.io.packed import check_unpacked

TYPES = {"b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"}
"""What polars reads, beside text."""
HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


class Npz:
    """The arrays in a file, each read when it is asked for.

    What the file says of their sizes is checked first: numpy would believe it.

    Parameters
    ----------
    path : str

    Attributes
    ----------
    shapes : dict of str to tuple of int
        The shape of each array.
    """

    def __init__(self, path: str):
        self.path = path
        if not zipfile.is_zipfile(path):
            raise ValueError(
                f"{path} must be an npz file, as numpy.savez writes it; it is not one."
            )
        self.shapes: dict[str, tuple[int, ...]] = {}
        try:
            with zipfile.ZipFile(path) as file:
                members = file.infolist()
                check_unpacked(path, sum(member.file_size for member in members))
                for member in members:
                    self.shapes[member.filename.removesuffix(".npy")] = _shape(file, member)
        except _DamagedArrayError as error:
            raise ValueError(f"{path} must hold whole arrays; {error}.") from None
        except (zipfile.BadZipFile, OSError, EOFError, NotImplementedError) as error:
            raise ValueError(f"{path} must be a whole npz file; it is damaged ({error}).") from None

    def __contains__(self, name: str) -> bool:
        return name in self.shapes

    def __getitem__(self, name: str) -> np.ndarray:
        try:
            with np.load(self.path, allow_pickle=False) as arrays:
                return np.asarray(arrays[name])
        except ValueError as error:
            if "allow_pickle" not in str(error):
                raise self._damaged(name) from None
            raise ValueError(
                f"{self.path} must hold numbers and text; its array {name} holds Python objects. "
                "Save it with .astype(str) or .astype(float)."
            ) from None
        except MemoryError:
            raise
        except Exception:  # zipfile, zlib and numpy each have errors of their own
            raise self._damaged(name) from None

    def _damaged(self, name: str) -> ValueError:
        return ValueError(f"{self.path} must hold whole arrays; {name} is damaged.")


class _DamagedArrayError(Exception):
    """The header of an array and its bytes do not agree."""


def _shape(file: zipfile.ZipFile, member: zipfile.ZipInfo) -> tuple[int, ...]:
    """Return the shape of an array in a zip, whose bytes must be as many as it says."""
    try:
        with file.open(member) as array:
            shape, _, dtype = HEADERS[npy.read_magic(array)](array)
            n_bytes = member.file_size - array.tell()
    except Exception:  # numpy parses the header as Python, which can fail in any way
        raise _DamagedArrayError(f"{member.filename} has no header that can be read") from None
    is_possible = all(n >= 0 for n in shape) and math.prod(shape) * dtype.itemsize == n_bytes
    if not (is_possible or dtype.hasobject):
        raise _DamagedArrayError(
            f"{member.filename} says that it has shape {shape} of {dtype}, but has {n_bytes} bytes"
        )
    return shape


def read_npz_table(path: str) -> pl.DataFrame:
    """Return ``X`` (n_rows, n_columns) and every array (n_rows,) beside it as one table."""
    arrays = Npz(path)
    if len(arrays.shapes.get("X", ())) != 2:
        raise ValueError(f"{path} must have an array X of two dimensions; it has {arrays.shapes}.")
    if 0 in arrays.shapes["X"]:  # such an array has no bytes, and may say that it has any side
        raise ValueError(
            f"{path} must have an array X of at least one row and one column; it has the shape "
            f"{arrays.shapes['X']}."
        )
    X = arrays["X"]
    names = [f"x{i}" for i in range(X.shape[1])]
    if "feature_names" in arrays:
        names = [str(name) for name in arrays["feature_names"].ravel()]
    beside = {
        name: arrays[name]
        for name, shape in arrays.shapes.items()
        if name not in ("X", "feature_names") and shape == X.shape[:1]
    }
    _check_names(names, list(beside), X.shape[1], path)
    for name, array in {"X": X, **beside}.items():
        if array.dtype.str[1:] not in TYPES and array.dtype.kind not in "SU":
            raise ValueError(
                f"{path} must hold numbers and text; its array {name} holds {array.dtype}. Save it "
                "with .astype(float) or .astype(str)."
            )
    return pl.DataFrame(X, schema=names).with_columns(**beside)


def _check_names(names: list[str], beside: list[str], n_columns: int, path: str) -> None:
    if len(names) != n_columns:
        raise ValueError(
            f"{path} must have a name in feature_names for each of the {n_columns} columns of X; "
            f"it has {len(names)}."
        )
    twice = [name for name, times in Counter([*names, *beside]).items() if times > 1]
    if twice:
        raise ValueError(
            f"{path} must have different names for all columns and arrays; found twice: "
            f"{listed(twice)}."
        )
