"""Forecasts that need no network: what a network must beat.

Rows are moments, and y is the change from the last channel of X.
"""

from typing import Any

import numpy as np

from experiments.data import Data
from experiments.fitted import Fitted, Run


def fit_last_value(data: Data, settings: dict[str, Any], run: Run) -> Fitted:
    """Predict that nothing changes."""
    return Fitted(lambda X: np.zeros(X.shape[:2]))


def fit_daily(data: Data, settings: dict[str, Any], run: Run) -> Fitted:
    """Predict the mean of the training rows at the same time of day."""
    n_train = len(data.y_train)
    values, moments = data.X_train[:, :, -1] + data.y_train, np.arange(n_train) % data.period
    profile = np.stack([values[moments == m].mean(axis=0) for m in range(data.period)])

    def predict(X: np.ndarray) -> np.ndarray:
        return profile[(n_train + np.arange(len(X))) % data.period] - X[:, :, -1]

    return Fitted(predict)
