"""Forecasts that need no network: what a network must beat."""

from typing import Any

import numpy as np

from experiments.data import Data
from experiments.fitted import Fitted, Run


def fit_last_value(data: Data, settings: dict[str, Any], run: Run) -> Fitted:
    """Predict that nothing changes: the last channel of X, as it is."""
    return Fitted(lambda X: X[:, :, -1])


def fit_daily(data: Data, settings: dict[str, Any], run: Run) -> Fitted:
    """Predict the mean of the training rows at the same time of day."""
    n_train = len(data.y_train)
    moments = np.arange(n_train) % data.period
    profile = np.stack([data.y_train[moments == m].mean(axis=0) for m in range(data.period)])

    def predict(X: np.ndarray) -> np.ndarray:
        return profile[(n_train + np.arange(len(X))) % data.period]

    return Fitted(predict)
