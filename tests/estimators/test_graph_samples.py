"""Estimators on samples that have a graph each."""

import networkx as nx
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

from walkconv import GraphCNNClassifier, GraphCNNRegressor, GraphSample, load
from walkconv.persistence import ModelFileError

SMALL = {
    "architecture": "C6-G-FC8",
    "n_neighbors": 4,
    "n_steps": 2,
    "max_iter": 15,
    "batch_size": 8,
    "learning_rate": 0.02,
    "dropout": 0.0,
    "n_members": 1,
    "random_state": 0,
}


@pytest.fixture
def graphs(rng):
    """Forty trees and rings of different sizes, their nodes of two kinds."""
    found = []
    for place in range(40):
        size = int(rng.integers(3, 12))
        graph = nx.cycle_graph(size) if place % 2 else nx.random_labeled_tree(size, seed=place)
        found.append(GraphSample(graph, tags=rng.integers(6, 8, size)))
    return found


@pytest.fixture
def shapes():
    return np.array(["tree", "ring"] * 20)


@pytest.fixture
def classifier():
    return GraphCNNClassifier(**SMALL)


def renumbered(sample, rng):
    order = rng.permutation(sample.n_nodes)
    parts = {
        name: None if part is None else part[order]
        for name, part in (("x", sample.x), ("tags", sample.tags))
    }
    return GraphSample(sample.graph[order][:, order], **parts)


def test_trees_are_told_from_rings(classifier, graphs, shapes):
    model = classifier.fit(graphs[:30], shapes[:30])
    assert model.score(graphs[30:], shapes[30:]) == 1.0
    assert model.predict_proba(graphs).shape == (40, 2)
    assert model.graph_ is None
    assert not hasattr(model, "n_features_in_")


@pytest.mark.parametrize("architecture", ["C6-G-FC8", "C6-C4-C4-G"])
def test_the_answer_does_not_depend_on_the_numbers_of_the_nodes(
    classifier, graphs, shapes, architecture, rng
):
    model = classifier.set_params(architecture=architecture).fit(graphs, shapes)
    again = [renumbered(graph, rng) for graph in graphs]
    np.testing.assert_allclose(model.predict_proba(again), model.predict_proba(graphs), atol=1e-6)


def test_a_batch_equals_its_graphs_one_by_one(classifier, graphs, shapes):
    model = classifier.fit(graphs, shapes)
    alone = np.concatenate([model.predict_proba([graph]) for graph in graphs])
    np.testing.assert_allclose(model.predict_proba(graphs), alone, atol=1e-6)


def test_graphs_without_tags_or_edges_and_with_one_node(classifier):
    graphs = [GraphSample(nx.empty_graph(size)) for size in (1, 2, 1, 5)]
    graphs += [GraphSample(nx.complete_graph(size)) for size in (4, 5, 6, 7)]
    y = np.repeat([0, 1], 4)
    model = classifier.fit(graphs, y)
    assert model.score(graphs, y) == 1.0
    assert model.encoding_.uses_degree


def test_numbers_of_nodes_can_be_regressed_on(graphs, rng):
    described = [GraphSample(g.graph, x=rng.normal(size=(g.n_nodes, 2))) for g in graphs]
    y = np.array([10 + g.x[:, 0].mean() for g in described])
    model = GraphCNNRegressor(**SMALL | {"architecture": "C6-G", "max_iter": 60})
    assert model.fit(described, y).score(described, y) > 0.9
    assert GraphCNNRegressor(**SMALL).fit(described, y[:, None] * [1, 2]).predict(
        described
    ).shape == (40, 2)


def test_tags_never_seen_are_no_error(classifier, graphs, shapes):
    model = classifier.fit(graphs, shapes)
    strange = GraphSample(nx.cycle_graph(4), tags=[99, 6, 7, 6])
    assert model.predict([strange]).shape == (1,)


def test_a_model_file_gives_the_same_answers(classifier, graphs, shapes, tmp_path):
    model = classifier.fit(graphs, shapes)
    model.save(tmp_path / "m.safetensors")
    same = load(tmp_path / "m.safetensors")
    np.testing.assert_array_equal(same.predict_proba(graphs), model.predict_proba(graphs))


@pytest.mark.parametrize(
    ("part", "spoiled"),
    [
        ("tags", np.array([7, 6])),
        ("tags", np.array([6.0, 7.0])),
        ("mean", np.array([np.nan])),
        ("deviation", np.array([1.0])),
    ],
    ids=["order", "type", "finite", "length"],
)
def test_a_spoiled_encoding_is_refused(classifier, graphs, shapes, tmp_path, part, spoiled):
    model = classifier.fit(graphs, shapes)
    object.__setattr__(model.encoding_, part, spoiled)
    model.save(tmp_path / "m.safetensors")
    with pytest.raises(ModelFileError, match="is not a whole model"):
        load(tmp_path / "m.safetensors")


def test_a_killed_fit_goes_on_and_other_graphs_are_refused(classifier, graphs, shapes, tmp_path):
    def stop(model):
        if len(model.history_) == 5:
            raise RuntimeError

    path = tmp_path / "c.safetensors"
    with pytest.raises(RuntimeError):
        clone(classifier).fit(graphs, shapes, checkpoint=path, after_epoch=stop)
    with pytest.raises(ValueError, match="belongs to another fit"):
        clone(classifier).fit(graphs[::-1], shapes, checkpoint=path)
    continued = clone(classifier).fit(graphs, shapes, checkpoint=path)
    whole = clone(classifier).fit(graphs, shapes)
    np.testing.assert_array_equal(continued.predict_proba(graphs), whole.predict_proba(graphs))


def test_weights_early_stopping_and_cross_validation(classifier, graphs, shapes):
    weight = np.r_[np.ones(30), np.zeros(10)]
    weighted = clone(classifier).fit(graphs, shapes, sample_weight=weight)
    fewer = clone(classifier).fit(graphs[:30], shapes[:30])
    np.testing.assert_array_equal(weighted.predict_proba(graphs), fewer.predict_proba(graphs))
    stopped = clone(classifier).set_params(early_stopping=True).fit(graphs, shapes)
    assert "validation_score" in stopped.history_[0]
    assert cross_val_score(classifier, graphs, shapes, cv=2).mean() > 0.6


def test_a_model_of_tables_and_one_of_graphs_do_not_mix(classifier, graphs, shapes, rng):
    table = rng.normal(size=(40, 5))
    model = classifier.fit(graphs, shapes)
    with pytest.raises(ValueError, match="X must be a list of graphs, as in fit; got a table"):
        model.predict(table)
    model.fit(table, shapes)
    assert model.n_features_in_ == 5
    with pytest.raises(ValueError, match="X must be a table, as in fit; got a list of graphs"):
        model.predict(graphs)
    model.fit(graphs, shapes)
    assert not hasattr(model, "n_features_in_")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda g: [*g[:39], GraphSample(nx.path_graph(3))],
            "expected tags, but graph 39 has none",
        ),
        (lambda g: [*g[:39], 3], "graph 39 is 3"),
        (lambda g: g[:39], "inconsistent numbers of samples"),
        (lambda g: g[:1], "at least two graphs; got 1"),
    ],
    ids=["other nodes", "no graph", "too few", "one"],
)
def test_bad_graphs_are_refused(classifier, graphs, shapes, change, message):
    with pytest.raises((ValueError, TypeError), match=message):
        classifier.fit(change(graphs), shapes)


def test_an_architecture_without_readout_is_refused(classifier, graphs, shapes):
    with pytest.raises(ValueError, match="put G before the FC layers"):
        classifier.set_params(architecture="C6-FC8").fit(graphs, shapes)


def test_validation_graphs_score_every_epoch_on_any_fit(classifier, graphs, shapes, rng):
    watched = (graphs[30:], shapes[30:])
    model = classifier.fit(graphs[:30], shapes[:30], validation_data=watched)
    assert all("validation_score" in record for record in model.history_)
    model.fit(rng.normal(size=(40, 5)), shapes)
    model.fit(graphs[:30], shapes[:30], validation_data=watched)
    model.transfer(graphs[:30], shapes[:30], validation_data=watched)


def test_validation_samples_must_be_of_the_same_kind(classifier, graphs, shapes, rng):
    table = rng.normal(size=(40, 5))
    with pytest.raises(ValueError, match=r"must hold a list of graphs, .* got a table"):
        classifier.fit(graphs, shapes, validation_data=(table, shapes))
    with pytest.raises(ValueError, match=r"must hold a table, .* got a list of graphs"):
        classifier.fit(table, shapes, validation_data=(graphs, shapes))
    bare = [GraphSample(graph.graph) for graph in graphs]
    with pytest.raises(ValueError, match="expected tags, but graph 0 has none"):
        classifier.fit(graphs, shapes, validation_data=(bare, shapes))
    with pytest.raises(
        ValueError, match=r"validation_data must have 1 channel\(s\), as in fit; got 2"
    ):
        classifier.set_params(architecture="C2").fit(
            table, shapes, validation_data=(np.stack([table, table], axis=2), shapes)
        )


def test_nodes_that_are_all_alike_are_not_blown_up():
    rings = [nx.cycle_graph(size) for size in range(3, 40)]
    sizes = np.array([len(ring) for ring in rings], dtype=float)
    model = GraphCNNRegressor(**SMALL | {"max_iter": 2}).fit(rings, sizes)
    assert abs(model.predict([nx.path_graph(10)])[0]) < 1e3


def test_directed_graphs_without_tags_may_be_numbered_in_any_way(rng):
    graphs = [GraphSample(nx.gn_graph(9, seed=seed)) for seed in range(12)]
    graphs += [GraphSample(nx.gnp_random_graph(9, 0.2, seed=s, directed=True)) for s in range(12)]
    model = GraphCNNRegressor(**SMALL).fit(graphs, rng.normal(size=24))
    again = [renumbered(graph, rng) for graph in graphs]
    np.testing.assert_allclose(model.predict(again), model.predict(graphs), atol=1e-5)


def test_settings_changed_after_fit_do_not_change_the_answers(classifier, graphs, shapes, tmp_path):
    model = classifier.fit(graphs, shapes)
    before = model.predict_proba(graphs)
    model.set_params(n_steps=3, n_neighbors=6)
    np.testing.assert_array_equal(model.predict_proba(graphs), before)
    model.save(tmp_path / "m.safetensors")
    np.testing.assert_array_equal(load(tmp_path / "m.safetensors").predict_proba(graphs), before)
    with pytest.raises(ValueError, match="warm_start needs the C and P layers, graph, n_neighbors"):
        model.set_params(warm_start=True).fit(graphs, shapes)


def test_transfer_keeps_the_meaning_of_the_channels(classifier, graphs, shapes):
    other = [GraphSample(graph.graph, tags=graph.tags + 1) for graph in graphs]
    moved = classifier.fit(graphs, shapes).transfer(other, shapes)
    np.testing.assert_array_equal(moved.encoding_.tags, [6, 7])


def test_standardize_is_heeded(graphs, rng):
    described = [GraphSample(g.graph, x=1000 + rng.normal(size=g.n_nodes)) for g in graphs]
    model = GraphCNNRegressor(**SMALL | {"standardize": False, "max_iter": 1})
    assert model.fit(described, rng.normal(size=40)).encoding_.mean == 0


def test_graph_samples_bring_their_own_graphs(graphs, shapes):
    with pytest.raises(ValueError, match="graph must be left at its default if samples are graphs"):
        GraphCNNClassifier("C2-G", graph=np.eye(5)).fit(graphs, shapes)
