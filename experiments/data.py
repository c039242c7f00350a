"""The tables of numbers that the rows are run on."""

from dataclasses import dataclass, replace
from functools import cache
from typing import Literal

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_digits

import walkconv
from walkconv import grid_graph

SMOKE_ROWS = 240
SHUFFLE_SEED = 0


@dataclass(frozen=True, eq=False)
class Data:
    """Rows to train on and rows to test on.

    Attributes
    ----------
    X_train, X_test : ndarray of shape (n_samples, n_nodes), float32
    y_train, y_test : ndarray of shape (n_samples,)
    task : "classification" or "regression"
    shape : tuple of int
        Sides of the grid that the columns lie on; () where there is none, or it is forgotten.
    cells : ndarray of shape (n_nodes,) or None
        The cell of that grid, in raster order, that each column is.
    """

    X_train: np.ndarray
    y_train: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    task: Literal["classification", "regression"]
    shape: tuple[int, ...] = ()
    cells: np.ndarray | None = None

    def grid(self) -> sp.csr_array:
        """Return the graph of the columns that lie side by side, (n_nodes, n_nodes)."""
        return grid_graph(self.shape)[self.cells][:, self.cells]

    def places(self) -> np.ndarray:
        """Return row and column of the grid of every column of X, (n_nodes, 2)."""
        return np.stack(np.unravel_index(self.cells, self.shape), axis=1)

    def score(self, prediction: np.ndarray) -> float:
        """Return the test error in per cent, or the squared correlation with the activity."""
        if self.task == "classification":
            return float(100 * np.mean(prediction != self.y_test))
        if np.ptp(prediction) == 0:
            return 0.0
        return float(np.corrcoef(prediction, self.y_test)[0, 1] ** 2)


@cache
def load_data(table: str, *, merck_set: str = "METAB", is_smoke: bool = False) -> Data:
    """Return the data of a table; for a smoke run small ones that need no file."""
    if table == "merck":
        return _small_activities() if is_smoke else _activities(merck_set)
    grid = _small_digits() if is_smoke else _digits()
    if table == "grid":
        return grid
    if table == "oriented":
        return _shuffled(_varying(grid))
    return replace(_varying(grid), shape=(), cells=None)


def _digits() -> Data:
    mnist = walkconv.datasets.load_mnist()
    X_train, X_test = (X.astype(np.float32) / 255 for X in (mnist.X_train, mnist.X_test))
    return Data(
        X_train, mnist.y_train, X_test, mnist.y_test, "classification", (28, 28), np.arange(784)
    )


def _small_digits() -> Data:
    X, y = load_digits(return_X_y=True)
    X = X.astype(np.float32) / 16
    train, test = slice(SMOKE_ROWS), slice(SMOKE_ROWS, 2 * SMOKE_ROWS)
    return Data(X[train], y[train], X[test], y[test], "classification", (8, 8), np.arange(64))


def _varying(data: Data) -> Data:
    """Return the pixels that vary over the training rows: 717 of MNIST, as in the paper."""
    return _columns(data, np.flatnonzero(np.ptp(data.X_train, axis=0)))


def _shuffled(data: Data) -> Data:
    """Return the columns in an order drawn once, so that raster order cannot help."""
    return _columns(data, np.random.default_rng(SHUFFLE_SEED).permutation(data.X_train.shape[1]))


def _columns(data: Data, kept: np.ndarray) -> Data:
    X_train, X_test = data.X_train[:, kept], data.X_test[:, kept]
    return replace(data, X_train=X_train, X_test=X_test, cells=data.cells[kept])


def _activities(name: str) -> Data:
    merck = walkconv.datasets.load_merck(name)
    return Data(merck.X_train, merck.y_train, merck.X_test, merck.y_test, "regression")


def _small_activities() -> Data:
    """Return counts of 40 descriptors that come in groups, and an activity they cause."""
    rng = np.random.default_rng(0)
    groups = rng.gamma(1.0, size=(2 * SMOKE_ROWS, 10))
    X = rng.poisson(np.repeat(groups, 4, axis=1)).astype(np.float32)
    y = groups[:, 0] - groups[:, 1] * groups[:, 2] + 0.1 * rng.normal(size=len(X))
    return Data(X[:SMOKE_ROWS], y[:SMOKE_ROWS], X[SMOKE_ROWS:], y[SMOKE_ROWS:], "regression")
