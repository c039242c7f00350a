"""Small problems and small networks."""

import numpy as np
import pytest

from walkconv import GraphCNNClassifier, GraphCNNRegressor

SMALL = {
    "architecture": "C3-FC8",
    "n_neighbors": 3,
    "max_iter": 12,
    "batch_size": 16,
    "learning_rate": 0.02,
    "dropout": 0.2,
    "n_members": 1,
    "random_state": 0,
}


@pytest.fixture
def with_attributes():
    """Return a function that makes a model one of a subclass with `ties`, `weighting`, ... set."""

    def make(model, **attributes):
        kind = type(type(model).__name__, (type(model),), attributes)
        return kind(**model.get_params())

    return make


@pytest.fixture
def classifier():
    return GraphCNNClassifier(**SMALL)


@pytest.fixture
def regressor():
    return GraphCNNRegressor(**SMALL)


@pytest.fixture
def table(rng):
    """Sixty rows of seven columns, each near the one before it."""
    return rng.normal(size=(60, 7)).cumsum(axis=1)


@pytest.fixture
def classes(table):
    return np.where(table[:, 3] > 0, "high", "low")


@pytest.fixture
def values(table):
    return 100 + 3 * table[:, 2] - table[:, 5]
