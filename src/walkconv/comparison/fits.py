"""One split: fit a contestant on its training rows, and measure the error on its test rows."""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.utils import _safe_indexing

from walkconv.comparison.contestants import fit_simple, simple_models, twins_of, uses_graph
from walkconv.comparison.verdict import MODEL
from walkconv.estimators.base import GraphCNN
from walkconv.estimators.table_samples import TableSamples
from walkconv.tables.lazy_rows import LazyRows


@dataclass(frozen=True)
class Split:
    """Rows to train on and rows to test on.

    Attributes
    ----------
    number : int
    train, test : ndarray of int64
    seed : int
        The same for all contestants.
    """

    number: int
    train: np.ndarray
    test: np.ndarray
    seed: int


@dataclass(frozen=True)
class Result:
    """One contestant on one split.

    Attributes
    ----------
    contestant : str
    split : int
    error : float
        In per cent: of wrong classes, or of the variance of y.
    seconds : float
    uses_graph : bool
        Whether a layer uses a graph.
    """

    contestant: str
    split: int
    error: float
    seconds: float
    uses_graph: bool


def run_networks(model: GraphCNN, X: Any, y: np.ndarray, split: Split) -> list[Result]:
    """Return the results of a model and of its twins; a model that uses no graph has none."""
    fitted, first = _measure_network(model, MODEL, X, y, split)
    twins = twins_of(fitted, split.seed)
    others = [_measure_network(twin, name, X, y, split)[1] for name, twin in twins.items()]
    return [first, *others]


def run_simple_models(model: GraphCNN, X: Any, y: np.ndarray, split: Split) -> list[Result]:
    """Return the results of models without a graph on the numbers that the network would see."""
    train = TableSamples.read(_safe_indexing(X, split.train))
    test = train.read_like(_safe_indexing(X, split.test))
    numbers, others = (_as_numbers(samples) for samples in (train, test))
    is_classification = is_classifier(model)
    targets = y if is_classification else y.reshape(len(y), -1)
    makers = simple_models(is_classification=is_classification, seed=split.seed)
    found = []
    for name, make in makers.items():
        started = time.perf_counter()
        fitted = fit_simple(make(), numbers, targets[split.train])
        predicted = fitted.predict(others).reshape(y[split.test].shape)
        error = _error(predicted, y, split, is_classification=is_classification)
        seconds = time.perf_counter() - started
        found.append(Result(name, split.number, error, seconds, uses_graph=False))
    return found


def _measure_network(
    model: GraphCNN, name: str, X: Any, y: np.ndarray, split: Split
) -> tuple[GraphCNN, Result]:
    started = time.perf_counter()
    fitted = clone(model).set_params(random_state=split.seed, verbose=0, warm_start=False)
    fitted.fit(_safe_indexing(X, split.train), y[split.train], calibrate=False)
    predicted = fitted.predict(_safe_indexing(X, split.test))
    error = _error(predicted, y, split, is_classification=is_classifier(model))
    seconds = time.perf_counter() - started
    return fitted, Result(name, split.number, error, seconds, uses_graph(fitted))


def _error(predicted: np.ndarray, y: np.ndarray, split: Split, *, is_classification: bool) -> float:
    """Return the error on the test rows, in per cent."""
    truth = y[split.test]
    if is_classification:
        return 100 * float(np.mean(predicted != truth))
    squares = np.square(predicted.astype(np.float64) - truth).mean(axis=0)
    variance = y.astype(np.float64).var(axis=0)
    return 100 * float(np.mean(squares / np.where(variance == 0, 1.0, variance)))


def _as_numbers(samples: TableSamples) -> np.ndarray:
    """Return rows (n_samples, n_numbers), the channels of a column beside each other."""
    if isinstance(samples.X, LazyRows):
        raise TypeError("compare needs a table in memory. Pass some rows that fit into memory.")
    values = samples.X if isinstance(samples.X, np.ndarray) else samples.X.toarray()
    return values.reshape(len(values), -1)
