"""Estimators with pooling and with rules for ties."""

import re

import numpy as np
import pytest
import torch
from sklearn.base import clone
from torch import nn

from walkconv import GraphCNNClassifier, coarsen, grid_graph, select_neighbors


@pytest.fixture
def images(rng):
    """Sixty images of 6 x 4 pixels; bright on the left or on the right."""
    y = rng.integers(0, 2, size=60)
    X = rng.normal(size=(60, 6, 4))
    X[y == 0, :, :2] += 1
    X[y == 1, :, 2:] += 1
    return X.reshape(60, 24), y


@pytest.fixture
def on_grid(classifier):
    return classifier.set_params(graph=grid_graph((6, 4)), n_neighbors=9)


@pytest.mark.parametrize("architecture", ["C3-P4-C4-P4-FC8", "C3-P2x2-C4", "P3", "C3-P50-FC4"])
@pytest.mark.parametrize("pooling", ["max", "mean"])
def test_pooled_networks_learn(on_grid, images, architecture, pooling):
    architecture = re.sub(r"(P[0-9x]+)", rf"\1{pooling}", architecture)
    model = on_grid.set_params(architecture=architecture, max_iter=20)
    X, y = images
    assert model.fit(X, y).score(X, y) > 0.8


def test_levels_are_made_of_the_learned_graph(regressor, table, values):
    model = regressor.set_params(architecture="C3-P2-C2-P2", n_neighbors=5).fit(table, values)
    first, second, third = model.levels_
    coarse = coarsen(model.graph_, group_size=2)
    np.testing.assert_array_equal(first.groups, coarse.groups)
    assert first.neighbors is model.neighbors_
    expected = select_neighbors(coarse.graph, n_neighbors=4)
    np.testing.assert_array_equal(second.neighbors.index, expected.index)
    assert (first.n_nodes, second.n_nodes) == (7, 4)
    assert model.module_.dense[0].in_features == 2 * third.n_nodes


def test_a_model_without_graph_has_no_levels(regressor, table, values):
    model = regressor.set_params(architecture="FC4", graph=None).fit(table, values)
    assert model.levels_ == []
    assert model.neighbors_ is None


def test_ties_reach_the_neighbors(on_grid, images, with_attributes):
    X, y = images
    on_grid.set_params(max_iter=1)
    places = np.stack(np.divmod(np.arange(24), 4), axis=1)
    by_name = with_attributes(on_grid, ties="position").fit(X, y).neighbors_.index
    expected = select_neighbors(grid_graph((6, 4)), n_neighbors=9, ties=places).index
    np.testing.assert_array_equal(by_name, expected)
    by_array = with_attributes(on_grid, ties=places).fit(X, y).neighbors_.index
    np.testing.assert_array_equal(by_array, expected)
    one, again, other = (
        with_attributes(on_grid.set_params(random_state=seed), ties="random")
        .fit(X, y)
        .neighbors_.index
        for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(one, again)
    assert (one != other).any()


def test_missing_values_with_pooling(on_grid, images, rng):
    X, y = images
    X = np.where(rng.random(X.shape) < 0.1, np.nan, X)
    for architecture in ("C3-P4-FC8", "P4-C3"):
        model = clone(on_grid).set_params(architecture=architecture).fit(X, y)
        assert np.isfinite(model.predict_proba(X)).all()


def test_warm_start_keeps_the_levels(on_grid, images):
    X, y = images
    model = on_grid.set_params(architecture="C3-P4-C4", warm_start=True, max_iter=2).fit(X, y)
    levels = model.levels_
    assert model.fit(X, y).levels_ is levels


def test_a_subclass_trains_another_network(images):
    class Plain(GraphCNNClassifier):
        def make_network(self, plan):
            assert plan.levels[0].graph.shape == (24, 24)
            assert [level.n_nodes for level in plan.levels] == [24, 6]
            return nn.Sequential(nn.Flatten(), nn.Linear(24 * plan.n_channels, plan.n_outputs))

    X, y = images
    model = Plain("C3-P4", graph=grid_graph((6, 4)), max_iter=20, learning_rate=0.05)
    model.set_params(random_state=0, batch_size=16).fit(X, y)
    assert isinstance(model.module_, nn.Sequential)
    assert model.score(X, y) > 0.8
    assert model.n_parameters_ == 50
    assert model.module_(torch.zeros(3, 24, 1)).shape == (3, 2)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"architecture": "C3-P4sum"}, "Pooling takes the max or the mean"),
        ({"architecture": "C3-P2x2x2"}, "P2x2x2 needs a grid of 3 axes"),
        ({"architecture": "C3-P2x2", "graph": "correlation"}, "P2x2 needs a grid of 2 axes"),
        ({"architecture": "P4", "graph": None}, "needs a graph"),
    ],
)
def test_bad_settings(on_grid, images, settings, message):
    with pytest.raises(ValueError, match=message):
        on_grid.set_params(**settings).fit(*images)


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"ties": "first"}, "ties must be one of 'index', 'random', 'position'"),
        ({"ties": np.zeros((3, 2))}, "n_nodes = 24"),
        ({"weighting": "visits"}, "weighting must be one of 'rank'"),
        ({"conv_dropped": "filters"}, "conv_dropped must be one of 'nodes', 'values'"),
        ({"normalization": "layer"}, "normalization must be one of 'batch'"),
    ],
)
def test_bad_class_attributes(on_grid, images, with_attributes, attributes, message):
    with pytest.raises(ValueError, match=message):
        with_attributes(on_grid, **attributes).fit(*images)


def test_ties_by_position_need_a_grid(on_grid, images, with_attributes):
    model = with_attributes(on_grid.set_params(graph="correlation"), ties="position")
    with pytest.raises(ValueError, match="ties='position' needs a graph that is"):
        model.fit(*images)
