"""Write arrays and settings to one safetensors file, and read them back.

The settings are one JSON string in the metadata of the file, beside a format number, the kind of
the file and a digest of its contents. Reading runs no code. This module does not know what the
arrays mean.
"""

import hashlib
import json
import os
import sys
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from walkconv._checks import as_path, check_integer
from walkconv._files import whole_file

FORMAT = 1
KEY = "walkconv"
MOST_ARRAYS = 2**16
MOST_VALUES = 2**20
"""Arrays, and values of the settings, that a small file may hold: each costs far more memory than
its bytes. A large file may hold one more value for every `BYTES_PER_VALUE` bytes."""
BYTES_PER_VALUE = 64
WRITERS = ("walkconv", "numpy", "scikit-learn", "torch")


class ModelFileError(ValueError):
    """A file is not valid: incomplete, changed, of another kind or of a newer format."""


def write_file(
    path: str | os.PathLike, kind: str, arrays: Mapping[str, np.ndarray], settings: dict[str, Any]
) -> None:
    """Write arrays and settings to one file, whole or not at all.

    Parameters
    ----------
    path : path
        An existing file is replaced.
    kind : str
        What the file is for. `read_file` checks it.
    arrays : mapping of str to ndarray
        Numbers and booleans.
    settings : dict
        Anything JSON can hold.

    Examples
    --------
    >>> import tempfile, numpy as np
    >>> from walkconv.persistence import read_file, write_file
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_file(f"{folder}/a.safetensors", "note", {"x": np.arange(3)}, {"name": "three"})
    ...     read_file(f"{folder}/a.safetensors", "note")
    ({'x': array([0, 1, 2])}, {'name': 'three'})
    """
    arrays = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    text = json.dumps(settings)
    header = {
        "format": FORMAT,
        "kind": kind,
        "versions": {"python": sys.version.split()[0], **{name: version(name) for name in WRITERS}},
        "digest": _digest(arrays, text),
        "settings": text,
    }
    with whole_file(path) as part:
        part.write_bytes(save(dict(arrays), {KEY: json.dumps(header)}))


def read_file(path: str | os.PathLike, kind: str) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Return the arrays and the settings of a file that `write_file` wrote.

    Raises
    ------
    FileNotFoundError
        If the file does not exist.
    ModelFileError
        If it is no regular file, or not a complete file of that kind in a known format.
    """
    path = as_path(path)
    if not path.exists():
        raise FileNotFoundError(f"There is no file {str(path)!r}.")
    if not path.is_file():
        kind = "a folder" if path.is_dir() else "a pipe or a device"
        raise ModelFileError(
            f"{path} must be a regular file; it is {kind}. Copy what it holds to a file first."
        )
    try:
        with safe_open(path, framework="np") as file:
            metadata = file.metadata() or {}
            names = file.keys()
            if len(names) > MOST_ARRAYS:
                raise ValueError(f"it has {len(names)} arrays; the most are {MOST_ARRAYS}")
            arrays = {name: file.get_tensor(name) for name in names}
    except (SafetensorError, OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise ModelFileError(
            f"{path.name} must be a whole safetensors file; it cannot be read ({error}). "
            "It may be cut short or not be a model at all."
        ) from None
    header = _read_header(path, metadata, kind)
    try:
        digest = _digest(arrays, header["settings"])
        if digest != header["digest"]:
            raise ModelFileError(
                f"{path.name} must be as it was written; its contents have changed."
            )
        settings = _parse(header["settings"], path.stat().st_size)
    except UnicodeEncodeError:
        raise ModelFileError(f"{path.name} has settings that are not text.") from None
    except _JSON_ERRORS as error:
        raise ModelFileError(f"{path.name} has settings that cannot be read: {error}") from None
    if not isinstance(settings, dict):
        raise ModelFileError(f"{path.name} has settings that are no record.")
    return arrays, settings


class _TooManyValuesError(Exception):
    """JSON would need far more memory than the file has bytes."""


_JSON_ERRORS = (json.JSONDecodeError, RecursionError, _TooManyValuesError)


def _parse(text: str, n_bytes: int) -> Any:
    """Return what a text of JSON in a file of `n_bytes` holds."""
    n_values = sum(map(text.count, ",[{"))
    if n_values > MOST_VALUES + n_bytes // BYTES_PER_VALUE:
        raise _TooManyValuesError(f"they have {n_values} values, too many for the file.")
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        raise
    except ValueError as error:  # a number of thousands of digits
        raise json.JSONDecodeError(str(error), "", 0) from None


def _read_header(path: Path, metadata: Mapping[str, str], kind: str) -> dict[str, Any]:
    if KEY not in metadata:
        raise ModelFileError(f"{path.name} must be written by walkconv; it was not.")
    try:
        header = _parse(metadata[KEY], path.stat().st_size)
        number, found = check_integer(header["format"], "format", minimum=1), str(header["kind"])
    except (*_JSON_ERRORS, ValueError, KeyError, TypeError):
        raise ModelFileError(f"{path.name} has a header that cannot be read.") from None
    if number > FORMAT:
        raise ModelFileError(
            f"{path.name} has format {number}; this version of walkconv reads up to {FORMAT}. "
            "Update walkconv."
        )
    if not all(isinstance(header.get(name), str) for name in ("digest", "settings")):
        raise ModelFileError(f"{path.name} has a header that cannot be read.")
    if found != kind:
        raise ModelFileError(f"{path.name} must be a {kind}; it is a {found[:60]}.")
    return header


def _digest(arrays: Mapping[str, np.ndarray], settings: str) -> str:
    digest = hashlib.sha256(settings.encode())
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"{name} {array.dtype.str} {array.shape} ".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()
