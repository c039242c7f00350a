"""Columns that act alike on the target, whether or not they vary together."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils import check_random_state

from walkconv import (
    GraphCNNClassifier,
    GraphCNNRegressor,
    heat_kernel_graph,
    select_neighbors,
    supervised_graph,
)
from walkconv.estimators.supervised import (
    TEACHER,
    TEACHING,
    TeachingClassifier,
    TeachingRegressor,
    _graph_of_uses,
)

GROUPS = np.array([0, 1, 0, 1, 1, 0, 1, 0])


@pytest.fixture
def independent(rng):
    """Three hundred rows of eight columns, none of which knows of another."""
    return rng.normal(size=(300, 8))


@pytest.fixture
def grouped(independent):
    """What two groups of columns do together, each in a way of its own."""
    first, second = (independent[:, group == GROUPS].sum(axis=1) for group in (0, 1))
    return np.abs(first) + second


def are_joined_within_groups(graph):
    nearest = select_neighbors(graph, n_neighbors=4).index
    return (GROUPS[nearest] == GROUPS[:, None]).all()


def test_columns_that_act_alike_on_a_number_are_adjacent(independent, grouped):
    graph = supervised_graph(independent, grouped, random_state=0)
    assert are_joined_within_groups(graph)
    assert not are_joined_within_groups(heat_kernel_graph(independent))
    np.testing.assert_array_equal(graph.toarray(), graph.T.toarray())
    assert graph.diagonal().tolist() == [0] * 8
    assert 0 < graph.data.min() <= graph.data.max() <= 1


@pytest.mark.parametrize("labels", [("low", "middle", "high"), (2, 3, 5)])
def test_columns_that_act_alike_on_classes_are_adjacent(independent, grouped, labels):
    classes = np.array(labels)[np.digitize(grouped, np.quantile(grouped, [1 / 3, 2 / 3]))]
    assert are_joined_within_groups(supervised_graph(independent, classes, random_state=0))


def test_the_graph_is_the_heat_kernel_of_the_first_weights(independent, grouped):
    model = TeachingRegressor("FC9", graph=None, max_iter=2, random_state=3, **TEACHING)
    weight = model.fit(independent, grouped).module_.dense[0].weight.detach().double().numpy()
    assert weight.shape == (9, 8)
    settings = {"architecture": "FC9", "max_iter": 2, "random_state": 3}
    for edges in ({}, {"n_edges": 2, "scale_neighbor": 3}):
        found = supervised_graph(independent, grouped, **settings, **edges)
        expected = heat_kernel_graph(weight, **edges)
        np.testing.assert_array_equal(found.toarray(), expected.toarray())


def test_the_weights_of_all_channels_describe_a_column(rng):
    X = rng.normal(size=(60, 5, 2))
    teacher = GraphCNNRegressor("FC4", graph=None, max_iter=1, random_state=0)
    found = _graph_of_uses(teacher, X, X[:, 0, 1])
    weight = teacher.module_.dense[0].weight.detach().double().numpy()  # (4, 5 * 2)
    columns = np.concatenate([weight[:, 0::2], weight[:, 1::2]])  # (2 * 4, 5)
    np.testing.assert_allclose(found.toarray(), heat_kernel_graph(columns).toarray())


def test_the_seed_decides_all(independent, grouped):
    settings = {"architecture": "FC8", "max_iter": 2}
    first, second, other = (
        supervised_graph(independent, grouped, random_state=seed, **settings).toarray()
        for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first, second)
    assert not np.allclose(first, other)


def test_whole_numbers_are_classes_unless_told_otherwise(independent, grouped):
    counts = np.rint(grouped).astype(int)
    settings = {"architecture": "FC8", "max_iter": 2, "random_state": 0}
    auto = supervised_graph(independent, counts, **settings).toarray()
    told = supervised_graph(independent, counts, task="classification", **settings).toarray()
    numbers = supervised_graph(independent, counts, task="regression", **settings).toarray()
    np.testing.assert_array_equal(auto, told)
    assert not np.allclose(auto, numbers)


def test_several_numbers(independent, grouped):
    both = np.stack([grouped, independent[:, 0]], axis=1)
    assert supervised_graph(independent, both, max_iter=1).shape == (8, 8)


FORMS = {
    "float32": lambda X: X.astype(np.float32),
    "pandas": lambda X: pd.DataFrame(X, columns=list("abcdefgh")),
    "polars": lambda X: pl.DataFrame(X, schema=list("abcdefgh")),
    "csr": sp.csr_array,
    "csc matrix": sp.csc_matrix,
    "other units": lambda X: X * 10.0 ** np.arange(8) + 50,
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_table_gives_the_same_graph(rng, form):
    X = rng.poisson(0.7, size=(60, 8)).astype(float)
    y = X @ np.arange(8.0) + rng.normal(size=60)
    settings = {"max_iter": 3, "random_state": 0}
    expected = supervised_graph(X, y, **settings).toarray()
    np.testing.assert_allclose(
        supervised_graph(FORMS[form](X), y, **settings).toarray(), expected, rtol=1e-3, atol=1e-6
    )


@pytest.mark.parametrize("wrap", [np.asarray, sp.csr_array])
def test_missing_values_and_constant_columns(independent, grouped, rng, wrap):
    holes = np.where(rng.random(independent.shape) < 0.1, np.nan, independent)
    holes[:, 2] = np.where(np.isnan(holes[:, 2]), np.nan, 0.1)
    graph = supervised_graph(wrap(holes), grouped, n_edges=7, max_iter=2, random_state=0)
    others = np.delete(np.arange(8), 2)
    assert graph[[2]].nnz == graph[:, [2]].nnz == 0
    assert (graph.toarray()[np.ix_(others, others)] + np.eye(7) > 0).all()
    lonely = supervised_graph(wrap(holes[:, [2, 0]]), grouped, max_iter=1)
    assert lonely.shape == (2, 2)
    assert lonely.nnz == 0


def test_rows_without_weight_do_not_count(independent, grouped):
    weight = np.r_[np.ones(200), np.zeros(100)]
    settings = {"max_iter": 2, "random_state": 0}
    found = supervised_graph(independent, grouped, sample_weight=weight, **settings)
    expected = supervised_graph(independent[:200], grouped[:200], **settings)
    np.testing.assert_array_equal(found.toarray(), expected.toarray())


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"architecture": "C4-FC8"}, ValueError, "made of FC layers.*got 'C4-FC8'"),
        ({"architecture": ""}, ValueError, "made of FC layers.*got ''"),
        ({"task": "ranking"}, ValueError, "task must be one of 'auto', 'classification'"),
        ({"n_edges": 0}, ValueError, "n_edges must be at least 1; got 0"),
        ({"scale_neighbor": 0.5}, TypeError, "scale_neighbor must be an integer; got 0.5"),
        ({"max_iter": 0}, ValueError, "max_iter must be at least 1; got 0"),
        ({"y": np.full(300, np.nan)}, ValueError, "y contains NaN"),
        ({"y": np.ones(300)}, ValueError, "at least two classes; got one class"),
        ({"y": np.ones(7)}, ValueError, "inconsistent numbers of samples"),
        ({"X": np.full((300, 2), np.nan)}, ValueError, "column 0 is missing in all"),
    ],
)
def test_bad_input(independent, grouped, change, error, message):
    given = {"X": independent, "y": grouped} | change
    with pytest.raises(error, match=message):
        supervised_graph(given.pop("X"), given.pop("y"), **given)


@pytest.mark.parametrize("kind", [GraphCNNClassifier, GraphCNNRegressor])
def test_an_estimator_learns_the_same_graph_from_its_training_rows(independent, grouped, kind):
    y = grouped if kind is GraphCNNRegressor else np.where(grouped > 1, "high", "low")
    model = kind("C2", graph="supervised", n_neighbors=4, max_iter=1, random_state=5)
    apart = (independent[200:], y[200:])
    model.fit(independent[:200], y[:200], validation_data=apart)
    seed = check_random_state(5).randint(2**31 - 1)
    expected = supervised_graph(independent[:200], y[:200], random_state=seed)
    np.testing.assert_allclose(model.graph_.toarray(), expected.toarray(), rtol=1e-3, atol=1e-6)
    again = clone(model).fit(independent[:200], y[:200])
    np.testing.assert_array_equal(again.graph_.toarray(), model.graph_.toarray())
    assert model.neighbors_.index.shape == (8, 4)


def test_the_weights_of_classes_reach_the_graph(independent, grouped):
    y = np.where(grouped > 1, "high", "low")
    model = GraphCNNClassifier("C2", graph="supervised", max_iter=1, random_state=5)
    model.set_params(class_weight={"high": 9.0, "low": 1.0}).fit(independent, y)
    teacher = TeachingClassifier(
        TEACHER,
        graph=None,
        class_weight={"high": 9.0, "low": 1.0},
        random_state=check_random_state(5).randint(2**31 - 1),
        **TEACHING,
    )
    expected = _graph_of_uses(teacher, independent, y)
    np.testing.assert_allclose(model.graph_.toarray(), expected.toarray(), rtol=1e-3, atol=1e-6)


def test_one_column_needs_no_teacher(table, values):
    model = GraphCNNRegressor("C2", graph="supervised", max_iter=1).fit(table[:, :1], values)
    assert model.neighbors_.index.tolist() == [[0]]
