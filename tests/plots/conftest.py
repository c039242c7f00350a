"""Matplotlib without a window, and a model to draw."""

import numpy as np
import polars as pl
import pytest

import walkconv as wc


@pytest.fixture(autouse=True)
def no_window():
    """Draw into memory, and close every figure after the test."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    yield
    plt.close("all")


@pytest.fixture(scope="module")
def model():
    """A regressor with two members, ranks and a hostile name."""
    X = np.random.default_rng(0).normal(size=(80, 10)).cumsum(axis=1)
    table = pl.DataFrame(X, schema=["$\\frac{", *(f"c{i}" for i in range(1, 10))])
    return wc.GraphCNNRegressor(
        "C5-FC4", n_neighbors=4, max_iter=3, n_members=2, early_stopping=True, random_state=0
    ).fit(table, X[:, 3])


@pytest.fixture(scope="module")
def oriented():
    """A classifier whose filters are pictures of a 6 x 6 plane."""
    X = np.random.default_rng(0).normal(size=(60, 36))
    places = np.stack(np.divmod(np.arange(36), 6), axis=1).astype(float)
    model = wc.GraphCNNClassifier("C3", order=places, n_neighbors=9, max_iter=1, random_state=0)
    return model.fit(X, X[:, 7] > 0)
