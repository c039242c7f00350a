"""Predictions at every node."""

import numpy as np
import pytest

from walkconv import GraphCNNClassifier, GraphCNNRegressor, graph_from_edges, load

RING = graph_from_edges([range(7), [*range(1, 7), 0]])
SETTINGS = {"n_neighbors": 3, "dropout": 0.0, "n_members": 1, "random_state": 0, "soft_clip": None}


def test_the_mean_of_the_neighbours_is_learned_at_every_node(rng, tmp_path):
    X = rng.normal(size=(400, 7))
    y = (np.roll(X, 1, axis=1) + np.roll(X, -1, axis=1)) / 2
    model = GraphCNNRegressor("C8-N1", graph=RING, max_iter=30, learning_rate=0.01, **SETTINGS).fit(
        X, y
    )
    assert model.predict(X).shape == (400, 7)
    assert model.score(X, y) > 0.9
    assert model.n_parameters_ == 3 * 8 + 8 + 8 + 1
    model.save(tmp_path / "m.safetensors")
    np.testing.assert_array_equal(load(tmp_path / "m.safetensors").predict(X), model.predict(X))


def test_several_values_at_every_node_stand_node_by_node(rng):
    X = rng.normal(size=(300, 7))
    y = np.stack([X, -X], axis=2).reshape(300, 14)
    model = GraphCNNRegressor("N2", max_iter=60, learning_rate=0.05, **SETTINGS).fit(X, y)
    assert model.score(X, y) > 0.99
    assert model.n_parameters_ == 1 * 2 + 2


def test_there_must_be_a_target_for_every_node(rng):
    X = rng.normal(size=(40, 7))
    with pytest.raises(ValueError, match=r"N1 has .* 7 nodes: y must have 7 columns"):
        GraphCNNRegressor("N1").fit(X, X[:, :5])
    with pytest.raises(ValueError, match=r"N layers predict numbers .* use GraphCNNRegressor"):
        GraphCNNClassifier("N1").fit(X, X[:, 0] > 0)
