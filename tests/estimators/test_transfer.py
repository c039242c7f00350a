"""Filters that move to other columns."""

import re

import networkx as nx
import numpy as np
import pytest
import torch
from sklearn.base import clone

from walkconv import GraphCNNRegressor, GraphSample, graph_from_edges, load


def filters(model):
    return {
        name: tensor.clone()
        for name, tensor in model.module_.named_parameters()
        if not name.startswith("dense")
    }


@pytest.fixture
def trained(classifier, table, classes):
    return classifier.set_params(architecture="C3-P2-C2-FC4").fit(table, classes)


def test_frozen_filters_stay_as_they_are_and_the_head_learns(trained, rng):
    X = rng.normal(size=(60, 11)).cumsum(axis=1)
    y = np.digitize(X[:, 5], [-1, 1])
    before = trained.module_.state_dict()
    kept = {name: tensor.clone() for name, tensor in before.items()}
    moved = trained.transfer(X, y)
    torch.testing.assert_close(filters(moved), filters(trained), rtol=0, atol=0)
    assert moved.score(X, y) > 0.6
    assert moved.predict_proba(X).shape == (60, 3)
    assert moved.n_features_in_ == 11
    torch.testing.assert_close(trained.module_.state_dict(), kept, rtol=0, atol=0)


def test_tuned_filters_begin_where_they_were_and_change(trained, table, classes):
    trained.set_params(learning_rate=1e-9)
    moved = trained.transfer(table[:, :5], classes, filters="tuned")
    torch.testing.assert_close(filters(moved), filters(trained), rtol=0, atol=1e-6)
    trained.set_params(learning_rate=0.02)
    moved = trained.transfer(table[:, :5], classes, filters="tuned")
    assert all(
        (a != b).any()
        for a, b in zip(filters(moved).values(), filters(trained).values(), strict=True)
    )


def test_a_graph_may_be_given_and_is_otherwise_learned_again(trained, table, classes):
    path = graph_from_edges([range(4), range(1, 5)])
    assert (trained.transfer(table[:, :5], classes, graph=path).graph_ != path).nnz == 0
    assert trained.transfer(table[:, :5], classes).graph_.shape == (5, 5)


def test_every_member_moves_and_a_loaded_model_too(regressor, table, values, tmp_path):
    model = regressor.set_params(n_members=2).fit(table, values)
    model.save(tmp_path / "m.safetensors")
    moved = model.transfer(table[:, :6], values)
    again = load(tmp_path / "m.safetensors").transfer(table[:, :6], values)
    assert len(moved.modules_) == 2
    np.testing.assert_array_equal(moved.predict(table[:, :6]), again.predict(table[:, :6]))


def test_filters_move_between_collections_of_graphs(rng):
    rings = [GraphSample(nx.cycle_graph(int(n)), tags=[1] * n) for n in rng.integers(3, 9, 30)]
    stars = [GraphSample(nx.star_graph(int(n)), tags=[2] * (n + 1)) for n in rng.integers(3, 9, 30)]
    sizes = np.array([graph.n_nodes for graph in rings], dtype=float)
    model = GraphCNNRegressor("C4-G-FC4", n_neighbors=3, max_iter=3, random_state=0)
    moved = model.fit(rings, sizes).transfer(stars, sizes)
    torch.testing.assert_close(filters(moved), filters(model), rtol=0, atol=0)


def test_what_does_not_fit_is_refused(trained, classifier, table, classes):
    with pytest.raises(ValueError, match=r"filters must be one of 'frozen', 'tuned'; got 'kept'"):
        trained.transfer(table, classes, filters="kept")
    with pytest.raises(ValueError, match=r"The filters take 1 channel\(s\); .* new table has 2"):
        trained.transfer(np.stack([table, table], axis=2), classes)
    dense = clone(classifier).set_params(architecture="FC4").fit(table, classes)
    with pytest.raises(ValueError, match="There are no filters to move"):
        dense.transfer(table[:, :5], classes)


@pytest.mark.parametrize(("source", "target"), [(6, 3), (3, 6)])
@pytest.mark.parametrize("architecture", ["C4", "C4-P2-C2-FC4"])
def test_filters_with_other_neighbors_say_how_many_to_use(
    regressor, table, values, source, target, architecture
):
    regressor.set_params(architecture=architecture, n_neighbors=9, max_iter=1)
    model = clone(regressor).fit(table[:, :source], values)
    with pytest.raises(
        ValueError, match=f"have {source} neighbours; .* new table has {target}"
    ) as refused:
        model.transfer(table[:, :target], values)
    wanted = int(re.search(r"Fit the source with n_neighbors=(\d+)\.", str(refused.value))[1])
    model = regressor.set_params(n_neighbors=wanted).fit(table[:, :source], values)
    assert model.transfer(table[:, :target], values).n_features_in_ == target


def test_a_table_and_graphs_do_not_share_filters(trained, rng):
    rings = [GraphSample(nx.cycle_graph(int(n))) for n in rng.integers(3, 9, 20)]
    with pytest.raises(ValueError, match="those learned on graphs to graphs"):
        trained.transfer(rings, np.arange(20) % 2)
