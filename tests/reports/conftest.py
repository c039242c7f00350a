"""Fitted models whose reports the tests look at, one of each kind."""

from dataclasses import dataclass

import numpy as np
import polars as pl
import pytest
from sklearn.datasets import load_digits

import walkconv as wc

HOSTILE = (
    "</script><script>document.title='broken'</script>",
    "<img src=x onerror=\"document.title='broken'\">",
    "\"quoted\" & 'quoted'",
    "{{ 7 * 7 }}",
    "naïve β ‮ 列\u2028",
    "]]>--><!--",
)
"""Names of columns that would break a page that takes them for markup."""


@dataclass
class Case:
    """A fitted model and its test samples."""

    model: wc.GraphCNNClassifier | wc.GraphCNNRegressor
    X: object
    y: np.ndarray


@pytest.fixture(scope="session")
def digits():
    """A classifier whose slots are directions; two columns of its digits are constant."""
    X, y = load_digits(return_X_y=True)
    names = [f"pixel {i // 8} {i % 8}" for i in range(64)]
    table = pl.DataFrame(X[:600].astype(np.float32), schema=names)
    places = np.stack(np.divmod(np.arange(64), 8), axis=1).astype(float)
    model = wc.GraphCNNClassifier(
        "C4-FC16", order=places, max_iter=3, early_stopping=True, random_state=0
    )
    return Case(model.fit(table[:500], y[:500]), table[500:], y[500:600])


@pytest.fixture(scope="session")
def hostile():
    """A regressor, three members, whose columns have hostile names; some values are missing."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 12)).cumsum(axis=1)
    y = X[:, 3] - X[:, 4]
    X[100:105, 2] = np.nan
    names = [*HOSTILE, *(f"plain {i}" for i in range(len(HOSTILE), 12))]
    table = pl.DataFrame(X, schema=names)
    model = wc.GraphCNNRegressor("C4-P4-FC8", n_neighbors=4, max_iter=2, random_state=0)
    return Case(model.fit(table[:90], y[:90]), table[90:], y[90:])


@pytest.fixture(scope="session")
def molecules():
    """A classifier of graphs: rings against paths."""
    samples, y = [], []
    for size in range(4, 24):
        for is_ring in (0, 1):
            ends = [
                list(range(size - 1 + is_ring)),
                [(i + 1) % size for i in range(size - 1 + is_ring)],
            ]
            graph = wc.graph_from_edges(ends, n_nodes=size)
            samples.append(wc.GraphSample(graph, tags=np.arange(size) % 3))
            y.append(is_ring)
    model = wc.GraphCNNClassifier("C4-G-FC8", n_neighbors=3, max_iter=2, random_state=0)
    return Case(model.fit(samples[:30], y[:30]), samples[30:], np.array(y[30:]))


@pytest.fixture(scope="session")
def sensors():
    """A regressor with an output at every node, of a table with two channels and no names."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 9, 2)).cumsum(axis=1)
    y = X[:, :, 0] * 2
    line = wc.grid_graph((9,))
    model = wc.GraphCNNRegressor(
        "C4-N1", graph=line, n_neighbors=3, max_iter=2, n_members=1, random_state=0
    )
    return Case(model.fit(X[:40], y[:40]), X[40:], y[40:])


@pytest.fixture(params=["digits", "hostile", "molecules", "sensors"])
def case(request):
    """Each of them in turn."""
    return request.getfixturevalue(request.param)
