import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

import walkconv
from walkconv import GraphCNNClassifier, GraphCNNRegressor, GraphSample, compare
from walkconv._files import only_user
from walkconv.comparison import contest
from walkconv.comparison.contestants import random_neighbors, twins_of

TINY = {"n_neighbors": 3, "max_iter": 2, "n_members": 1}
QUICK = {"n_splits": 2, "n_repeats": 1, "simple_models": False}


@pytest.fixture
def table():
    return np.random.default_rng(0).normal(size=(60, 7)).cumsum(axis=1)


@pytest.fixture
def runs(monkeypatch):
    """The numbers of the splits on which networks were fitted, the last one last."""
    done = []

    def run(model, X, y, split, _run=contest.run_networks):
        done.append(split.number)
        return _run(model, X, y, split)

    monkeypatch.setattr(contest, "run_networks", run)
    return done


def planted(kind):
    """Return a table in which y sums the steps along a path, and the path or another one."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 30))
    y = np.abs(np.diff(X, axis=1)).sum(axis=1)
    order = np.arange(30)
    y = rng.permutation(y) if kind == "shuffled" else y
    return X, y, walkconv.graph_from_edges(np.stack([order[:-1], order[1:]]), n_nodes=30)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "finding"), [("planted", "helps"), ("shuffled", "no evidence")])
def test_a_planted_graph_helps_and_shuffled_targets_give_no_evidence(kind, finding):
    X, y, graph = planted(kind)
    model = GraphCNNRegressor(
        "C8-G-FC16", graph=graph, n_neighbors=3, max_iter=15, learning_rate=0.01, n_members=1
    )
    assert compare(model, X, y, simple_models=False).finding == finding


def test_twins_differ_in_the_graph_alone(table):
    positions = np.arange(7.0)[:, None]
    model = GraphCNNRegressor("C2-FC4", order=positions, **TINY)
    fitted = model.set_params(random_state=3).fit(table, table[:, 0])
    twins = twins_of(fitted, seed=0)
    assert list(twins) == ["no neighbours", "random neighbours", "ranks"]
    own = fitted.get_params()
    for twin in twins.values():
        changed = {name for name, value in twin.get_params().items() if value is not own[name]}
        assert changed <= {"graph", "order", "n_neighbors", "n_steps", "shift"}
    twin = twins["no neighbours"].fit(table, table[:, 0])
    assert twin.neighbors_.index.tolist() == [[node] for node in range(7)]
    twin = twins["random neighbours"].fit(table, table[:, 0])
    assert twin.neighbors_.index.shape == (7, 3)
    assert (twin.neighbors_.index[:, 0] == np.arange(7)).all()
    assert twin.orientation_.order == "visits"
    twin = twins["ranks"].fit(table, table[:, 0])
    ranks = GraphCNNRegressor("C2-FC4", **TINY).fit(table, table[:, 0])
    np.testing.assert_array_equal(twin.neighbors_.index, ranks.neighbors_.index)


def test_random_neighbors_are_others_and_as_many():
    graph = random_neighbors(9, 4, seed=0)
    assert graph.sum(axis=1).tolist() == [3] * 9
    assert graph.diagonal().max() == 0
    assert (graph != random_neighbors(9, 4, seed=1)).nnz
    assert random_neighbors(3, 9, seed=0).nnz == 6  # all there are


def test_classes_are_strings_and_simple_models_take_part(table):
    pytest.importorskip("lightgbm")
    frame = pd.DataFrame(table, columns=list("abcdefg"))
    frame.iloc[::9, 2] = np.nan
    y = np.where(table[:, 3] > 0, "high", "low")
    found = compare(GraphCNNClassifier("C2-FC4", **TINY), frame, y, n_splits=3, n_repeats=1)
    assert found.table["contestant"].to_list() == [
        "model",
        "no neighbours",
        "random neighbours",
        "logistic regression",
        "LightGBM",
    ]
    assert found.scores.height == 15
    by_name = dict(found.table.select("contestant", "error").iter_rows())
    assert by_name["logistic regression"] < 15  # one column decides
    assert (found.scores["error"] <= 100).all()


def test_errors_are_parts_of_the_variance(table):
    Y = np.column_stack([table[:, 0], 1000 * table[:, 1]])
    found = compare(GraphCNNRegressor("C2-FC4", **TINY), table, Y, n_splits=2, n_repeats=1)
    by_name = dict(found.table.select("contestant", "error").iter_rows())
    assert by_name["ridge regression"] < 1  # y is linear in X
    assert 20 < by_name["model"] < 200


def test_a_sparse_table_and_one_with_channels_can_be_compared(table):
    y = table[:, 0]
    model = GraphCNNRegressor("C2-FC4", **TINY)
    assert compare(model, sp.csr_array(table), y, n_splits=2, n_repeats=1).finding
    channels = np.stack([table, -table], axis=2)
    assert compare(model, channels, y, n_splits=2, n_repeats=1).finding


def test_graphs_are_compared_with_themselves_without_neighbours():
    graphs = [GraphSample(walkconv.grid_graph((n,)), tags=np.arange(n) % 3) for n in range(3, 15)]
    y = np.arange(12) % 2
    found = compare(GraphCNNClassifier("C2-G-FC4", **TINY), graphs, y, **QUICK)
    assert found.table["contestant"].to_list() == ["model", "no neighbours"]


def test_a_report_shows_the_verdict(table):
    model = GraphCNNRegressor("C2-FC4", **TINY)
    found = compare(model, table, table[:, 0], **QUICK)
    summary = model.fit(table, table[:, 0]).summarize(comparison=found)
    assert summary["comparison"]["verdict"] == found.verdict
    assert summary["comparison"]["rows"][1]["contestant"] == "no neighbours"


def test_a_model_without_a_graph_has_no_twins(table):
    found = compare(GraphCNNRegressor("FC4", max_iter=2, n_members=1), table, table[:, 0], **QUICK)
    assert found.finding == "no graph"
    assert found.table["contestant"].to_list() == ["model"]


@pytest.mark.slow
def test_the_same_call_gives_the_same_result_also_in_two_processes(table):
    model = GraphCNNRegressor("C2-FC4", **TINY)
    one, two = (compare(model, table, table[:, 0], n_jobs=n, **QUICK) for n in (1, 2))
    assert one.scores.drop("seconds").equals(two.scores.drop("seconds"))
    assert not hasattr(model, "module_")  # the model of the caller stays as it is


def test_a_comparison_continues_where_it_was_killed(table, tmp_path, runs):
    model, y = GraphCNNRegressor("C2-FC4", **TINY), table[:, 0]
    settings = {"n_splits": 3, "n_repeats": 1, "simple_models": False}
    whole = compare(model, table, y, checkpoint=tmp_path / "c", **settings)
    assert runs == [0, 1, 2]
    content = json.loads((tmp_path / "c").read_text())
    del content["tasks"]["networks 1"]
    (tmp_path / "c").write_text(json.dumps(content))
    again = compare(model, table, y, checkpoint=tmp_path / "c", **settings)
    assert runs == [0, 1, 2, 1]
    assert again.verdict == whole.verdict


def test_a_checkpoint_of_another_comparison_is_refused(table, tmp_path):
    model, y = GraphCNNRegressor("C2-FC4", **TINY), table[:, 0]
    compare(model, table, y, checkpoint=tmp_path / "c", **QUICK)
    with pytest.raises(ValueError, match="belongs to another comparison"):
        compare(model, table, -y, checkpoint=tmp_path / "c", **QUICK)
    with pytest.raises(ValueError, match="belongs to another comparison"):
        compare(model, table, y, checkpoint=tmp_path / "c", **QUICK | {"n_splits": 3})
    model.set_params(graph=walkconv.grid_graph((7,)))
    with pytest.raises(ValueError, match="belongs to another comparison"):
        compare(model, table, y, checkpoint=tmp_path / "c", **QUICK)


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"[]",
        b'{"format": "walkconv comparison 1"}',
        b"[" * 100_000,
        b'{"format": "walkconv comparison 1", "identity": "", "tasks": {"networks 0": [{}]}}',
        b'{"format": "walkconv comparison 1", "identity": "", "tasks": [1]}',
        b'{"format": "walkconv comparison 1", "identity": "", "tasks": {"networks 0": []}}',
        b'{"format": "walkconv comparison 1", "identity": "", "tasks": {"networks 1": [{'
        b'"contestant": "model", "split": 0, "error": 1, "seconds": 1, "uses_graph": true}]}}',
    ],
)
def test_a_damaged_checkpoint_is_refused(damage, table, tmp_path):
    (tmp_path / "c").write_bytes(damage)
    model = GraphCNNRegressor("C2-FC4", **TINY)
    with pytest.raises(ValueError, match="must be the checkpoint of a comparison"):
        compare(model, table, table[:, 0], checkpoint=tmp_path / "c", **QUICK)


def test_a_second_comparison_on_one_checkpoint_is_refused(table, tmp_path):
    model = GraphCNNRegressor("C2-FC4", **TINY)
    with (
        only_user(tmp_path / "c"),
        pytest.raises(BlockingIOError, match="must have one user at a time"),
    ):
        compare(model, table, table[:, 0], checkpoint=tmp_path / "c", **QUICK)
    compare(model, table, table[:, 0], checkpoint=tmp_path / "c", **QUICK)
    assert [path.name for path in tmp_path.iterdir()] == ["c"]


def test_wrong_arguments_are_named(table):
    with pytest.raises(TypeError, match="model must be a GraphCNNClassifier"):
        compare("C2", table, table[:, 0])
    with pytest.raises(ValueError, match="class rare has 1 rows"):
        compare(GraphCNNClassifier(**TINY), table, ["rare", *["a", "b"] * 29, "a"])
    with pytest.raises(ValueError, match="Lower n_splits"):
        compare(GraphCNNRegressor(**TINY), table[:7], table[:7, 0])
    with pytest.raises(ValueError, match="n_splits must be at least 2"):
        compare(GraphCNNRegressor(**TINY), table, table[:, 0], n_splits=1)


def test_a_table_that_is_not_in_memory_is_refused():
    X = pl.DataFrame({"a": [1.0] * 20, "b": [2.0] * 20}).lazy()
    with pytest.raises(TypeError, match="compare needs a table in memory"):
        compare(GraphCNNRegressor("C2"), X, np.arange(20.0))
