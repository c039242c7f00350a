"""The tables of numbers that the rows are run on."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal, Optional

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
    X_train, X_test : ndarray of shape (n_samples, n_nodes[, n_channels]), float32
        Or (n_samples,), of `GraphSample`.
    y_train, y_test : ndarray of shape (n_samples,) or (n_samples, n_nodes)
    task : "classification" or "regression"
    shape : tuple of int
        Sides of the grid that the columns lie on; () without a grid, or if it is forgotten.
    cells : ndarray of shape (n_nodes,) or None
        The cell of that grid, in raster order, that each column is.
    graph : csr_array of shape (n_nodes, n_nodes) or None
        The relations of the columns, if they are known.
    period : int
        Rows of a day, where rows are moments one after the other; 0 where their order means
        nothing.
    source : Data or None
        Rows of other columns, for filters that are to be moved.
    measure : callable or None
        (prediction, y) -> score; None is the usual one of the task.
    """

    X_train: np.ndarray
    y_train: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    task: Literal["classification", "regression"]
    shape: tuple[int, ...] = ()
    cells: np.ndarray | None = None
    graph: sp.csr_array | None = None
    period: int = 0
    source: Optional["Data"] = None
    measure: Callable[[np.ndarray, np.ndarray], float] | None = None

    def grid(self) -> sp.csr_array:
        """Return the graph of the columns that lie side by side, (n_nodes, n_nodes)."""
        return grid_graph(self.shape)[self.cells][:, self.cells]

    def places(self) -> np.ndarray:
        """Return row and column of the grid of every column of X, (n_nodes, 2)."""
        assert self.cells is not None
        return np.stack(np.unravel_index(self.cells, self.shape), axis=1)

    def score(self, prediction: np.ndarray) -> float:
        """Return how good a prediction for the test rows is."""
        return self._measure(prediction, self.y_test)

    @property
    def more_is_better(self) -> bool:
        """Whether a better prediction has a higher score."""
        return self._measure not in (error, absolute_error)

    @property
    def _measure(self) -> Callable[[np.ndarray, np.ndarray], float]:
        usual = error if self.task == "classification" else squared_correlation
        return self.measure or usual


def error(prediction: np.ndarray, y: np.ndarray) -> float:
    """Return the share of wrong classes, in per cent."""
    return float(100 * np.mean(prediction != y))


def accuracy(prediction: np.ndarray, y: np.ndarray) -> float:
    """Return the share of right classes, in per cent."""
    return 100 - error(prediction, y)


def squared_correlation(prediction: np.ndarray, y: np.ndarray) -> float:
    """Return the squared correlation; 0 for a prediction that does not vary."""
    if np.ptp(prediction) == 0:
        return 0.0
    return float(np.corrcoef(prediction, y)[0, 1] ** 2)


def absolute_error(prediction: np.ndarray, y: np.ndarray) -> float:
    """Return the mean absolute error over all rows and nodes, in the units of y."""
    return float(np.mean(np.abs(prediction - y)))


@cache
def load_data(table: str, *, merck_set: str | None = None, is_smoke: bool = False) -> Data:
    """Return the data of a table; for a smoke run small ones that need no file."""
    if table == "merck":
        return _small_activities() if is_smoke else _activities(merck_set or "METAB")
    grid = _small_digits() if is_smoke else _digits()
    if table == "grid":
        return grid
    if table == "oriented":
        return _shuffled(_varying(grid))
    return without_grid(grid)


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


def without_grid(data: Data) -> Data:
    """Return the pixels that vary, and where they lie is forgotten."""
    return replace(_varying(data), shape=(), cells=None)


def _varying(data: Data) -> Data:
    """Return the pixels that vary over the training rows: 717 of MNIST, as in the paper."""
    return _columns(data, np.flatnonzero(np.ptp(data.X_train, axis=0)))


def _shuffled(data: Data) -> Data:
    """Return the columns in an order drawn once, so that raster order cannot help."""
    return _columns(data, np.random.default_rng(SHUFFLE_SEED).permutation(data.X_train.shape[1]))


def _columns(data: Data, kept: np.ndarray) -> Data:
    assert data.cells is not None
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
