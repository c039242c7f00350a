"""The tables of numbers that the rows are run on."""

from dataclasses import dataclass, replace
from functools import cache
from typing import Literal

import numpy as np
from sklearn.datasets import load_digits

import walkconv

SMOKE_ROWS = 240


@dataclass(frozen=True, eq=False)
class Data:
    """Rows to train on and rows to test on.

    Attributes
    ----------
    X_train, X_test : ndarray of shape (n_samples, n_nodes), float32
    y_train, y_test : ndarray of shape (n_samples,)
    task : "classification" or "regression"
    shape : tuple of int
        Sides of the grid that the columns lie on; () where there is none.
    """

    X_train: np.ndarray
    y_train: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    task: Literal["classification", "regression"]
    shape: tuple[int, ...] = ()

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
    return grid if table == "grid" else _without_grid(grid)


def _digits() -> Data:
    mnist = walkconv.datasets.load_mnist()
    X_train, X_test = (X.astype(np.float32) / 255 for X in (mnist.X_train, mnist.X_test))
    return Data(X_train, mnist.y_train, X_test, mnist.y_test, "classification", (28, 28))


def _small_digits() -> Data:
    X, y = load_digits(return_X_y=True)
    X = X.astype(np.float32) / 16
    train, test = slice(SMOKE_ROWS), slice(SMOKE_ROWS, 2 * SMOKE_ROWS)
    return Data(X[train], y[train], X[test], y[test], "classification", (8, 8))


def _without_grid(data: Data) -> Data:
    """Return the pixels that vary over the training rows: 717 of MNIST, as in the paper."""
    varies = np.ptp(data.X_train, axis=0) > 0
    return replace(data, X_train=data.X_train[:, varies], X_test=data.X_test[:, varies], shape=())


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
