"""Arrays and settings become one safetensors file, and come back.

The settings are one JSON string in the metadata of the file, beside a format number, the kind of
the file and a digest of all it holds. Reading runs no code. What the arrays mean is not known here.
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

from walkconv._files import whole_file

FORMAT = 1
KEY = "walkconv"
WRITERS = ("walkconv", "numpy", "scikit-learn", "torch")


class ModelFileError(ValueError):
    """A file is not what it should be: cut short, changed, of another kind or of a newer format."""


def write_file(
    path: str | os.PathLike, kind: str, arrays: Mapping[str, np.ndarray], settings: dict[str, Any]
) -> None:
    """Write arrays and settings to one file, whole or not at all.

    Parameters
    ----------
    path : path
        An existing file is replaced.
    kind : str
        What the file is for; `read_file` asks for it.
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
        Where there is no file.
    ModelFileError
        Where the file is anything but a whole file of that kind in a format known here.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"There is no file {str(path)!r}.")
    try:
        with safe_open(path, framework="np") as file:
            metadata = file.metadata() or {}
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ModelFileError(
            f"{path.name} must be a whole safetensors file; it cannot be read ({error}). "
            "It may be cut short or not be a model at all."
        ) from None
    header = _read_header(path, metadata, kind)
    if _digest(arrays, header["settings"]) != header["digest"]:
        raise ModelFileError(f"{path.name} must be as it was written; its contents have changed.")
    return arrays, json.loads(header["settings"])


def _read_header(path: Path, metadata: Mapping[str, str], kind: str) -> dict[str, Any]:
    if KEY not in metadata:
        raise ModelFileError(f"{path.name} must be written by walkconv; it is another's file.")
    try:
        header = json.loads(metadata[KEY])
        number, came = int(header["format"]), str(header["kind"])
    except (ValueError, KeyError, TypeError):
        raise ModelFileError(f"{path.name} has a header that cannot be read.") from None
    if number > FORMAT:
        raise ModelFileError(
            f"{path.name} has format {number}; this version of walkconv reads up to {FORMAT}. "
            "Update walkconv."
        )
    if not all(isinstance(header.get(name), str) for name in ("digest", "settings")):
        raise ModelFileError(f"{path.name} has a header that cannot be read.")
    if came != kind:
        raise ModelFileError(f"{path.name} must be a {kind}; it is a {came}.")
    return header


def _digest(arrays: Mapping[str, np.ndarray], settings: str) -> str:
    digest = hashlib.sha256(settings.encode())
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"{name} {array.dtype.str} {array.shape} ".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()
