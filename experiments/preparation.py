"""What is done to the columns before a method sees them; learned from the training rows alone."""

from collections.abc import Callable

import numpy as np


def by_maximum(X_train: np.ndarray, X_test: np.ndarray, y_train: np.ndarray) -> tuple:
    """Divide every column by its largest training value.

    NOTE[PAPER]: the original code divides the test rows by their own maxima.
    """
    largest = X_train.max(axis=0)
    largest[largest == 0] = 1
    return X_train / largest, X_test / largest


def log1p(X_train: np.ndarray, X_test: np.ndarray, y_train: np.ndarray) -> tuple:
    """Take log(1 + count), so that 20 and 30 of a kind are less apart than 0 and 1."""
    return np.log1p(X_train), np.log1p(X_test)


def standardize(X_train: np.ndarray, X_test: np.ndarray, y_train: np.ndarray) -> tuple:
    """Centre every column and divide it by its deviation."""
    mean, deviation = X_train.mean(axis=0), X_train.std(axis=0)
    deviation[deviation == 0] = 1
    return (X_train - mean) / deviation, (X_test - mean) / deviation


def relevance(X_train: np.ndarray, X_test: np.ndarray, y_train: np.ndarray) -> tuple:
    """Multiply every column by its absolute correlation with y, the mean of which becomes 1."""
    centred = X_train - X_train.mean(axis=0)
    norms = np.linalg.norm(centred, axis=0)
    norms[norms == 0] = 1
    y = y_train - y_train.mean()
    correlation = np.abs(y @ centred) / (norms * np.linalg.norm(y))
    weight = (correlation / correlation.mean()).astype(X_train.dtype)
    return X_train * weight, X_test * weight


STEPS: dict[str, Callable[[np.ndarray, np.ndarray, np.ndarray], tuple]] = {
    "by_maximum": by_maximum,
    "log1p": log1p,
    "standardize": standardize,
    "relevance": relevance,
}
