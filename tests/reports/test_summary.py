import json

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import accuracy_score, r2_score

import walkconv as wc


def score_of(summary, name):
    return next(score for score in summary["scores"]["scores"] if score["name"] == name)


def test_the_summary_is_plain_json_for_every_kind_of_sample(case):
    summary = case.model.summarize(case.X, case.y)
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary


def test_the_accuracy_and_its_interval_are_those_of_the_test_rows(digits):
    summary = digits.model.summarize(digits.X, digits.y)
    accuracy = score_of(summary, "Accuracy")
    expected = accuracy_score(digits.y, digits.model.predict(digits.X))
    assert accuracy["value"] == pytest.approx(expected, abs=1e-4)
    assert accuracy["low"] < expected < accuracy["high"]
    counts = np.array(summary["scores"]["confusion"]["counts"])
    assert counts.sum() == len(digits.y)
    assert np.trace(counts) == round(expected * len(digits.y))


def test_r2_is_that_of_the_test_rows(hostile):
    summary = hostile.model.summarize(hostile.X, hostile.y)
    expected = r2_score(hostile.y, hostile.model.predict(hostile.X))
    assert score_of(summary, "R²")["value"] == pytest.approx(expected, abs=1e-3)


def test_the_worst_rows_have_the_largest_errors(hostile):
    summary = hostile.model.summarize(hostile.X, hostile.y)
    error = np.abs(hostile.model.predict(hostile.X) - hostile.y)
    assert [each["row"] for each in summary["errors"]] == np.argsort(-error)[:8].tolist()


def test_every_wrong_row_in_the_errors_is_wrong(digits):
    summary = digits.model.summarize(digits.X, digits.y)
    predicted = digits.model.predict(digits.X)
    assert summary["errors"]
    for each in summary["errors"]:
        assert each["actual"] == str(digits.y[each["row"]])
        assert each["predicted"] == str(predicted[each["row"]]) != each["actual"]


def test_the_map_lists_the_neighbours_of_the_model(hostile):
    drawn = hostile.model.summarize()["map"]
    index = np.array(drawn["neighbors"]["index"]).reshape(12, -1)
    assert (index == hostile.model.neighbors_.index).all()
    weight = np.array(drawn["neighbors"]["weight"]).reshape(12, -1)
    assert (np.sign(weight) == hostile.model.neighbors_.sign).all()
    assert drawn["groups"] == hostile.model.levels_[0].groups.tolist()


def test_the_map_shows_the_positions_of_the_model_where_it_has_some(digits):
    drawn = digits.model.summarize()["map"]
    x, y = np.array(drawn["x"]), np.array(drawn["y"])
    inside = digits.X.select(name for name in digits.X.columns if name[-1] not in "07").columns
    numbers = [digits.X.columns.index(name) for name in inside]
    steps = digits.model.positions_[numbers]
    # Straight lines through both: a larger position is always a larger place.
    assert np.corrcoef(steps[:, 0], x[numbers])[0, 1] > 0.999
    assert np.corrcoef(steps[:, 1], y[numbers])[0, 1] > 0.999


def test_a_constant_column_stands_below_the_others(digits):
    drawn = digits.model.summarize()["map"]
    index = digits.model.neighbors_.index
    is_lone = ~((index >= 0) & (index != np.arange(64)[:, None])).any(axis=1)
    if is_lone.any():  # positions that were given may reach all columns
        y = np.array(drawn["y"])
        assert y[is_lone].min() > y[~is_lone].max()


def test_outputs_at_nodes_colour_the_map(sensors):
    summary = sensors.model.summarize(sensors.X, sensors.y)
    first = summary["map"]["values"][0]
    assert first["label"] == "R² of the prediction at the node"
    r2 = r2_score(sensors.y, sensors.model.predict(sensors.X), multioutput="raw_values")
    np.testing.assert_allclose(first["values"], r2, rtol=0.01)


def test_missing_values_are_counted_by_column(hostile):
    missing = hostile.model.summarize(hostile.X, hostile.y)["data"]["missing"]
    assert missing["n"] == 5
    assert missing["columns"] == [{"name": hostile.X.columns[2], "n": 5}]


def test_without_test_rows_there_is_a_summary_without_scores(hostile):
    summary = hostile.model.summarize()
    assert summary["scores"] is None
    assert summary["map"] is not None


def test_x_without_y_is_refused(hostile):
    with pytest.raises(ValueError, match="X and y must be given together; got X without y"):
        hostile.model.summarize(hostile.X)


def test_a_label_that_the_model_does_not_know_is_refused(digits):
    with pytest.raises(ValueError, match="y must hold the classes of the training rows"):
        digits.model.summarize(digits.X, digits.y + 1)


def test_the_digest_is_that_of_the_saved_file_also_after_loading(hostile, tmp_path):
    from hashlib import sha256

    file = tmp_path / "model.safetensors"
    hostile.model.save(file)
    expected = sha256(file.read_bytes()).hexdigest()
    assert hostile.model.summarize()["digest"] == expected
    assert wc.load(file).summarize()["digest"] == expected


def test_a_loaded_model_has_the_map_of_the_fitted_one(hostile, tmp_path):
    hostile.model.save(tmp_path / "model.safetensors")
    loaded = wc.load(tmp_path / "model.safetensors")
    assert loaded.summarize()["map"] == hostile.model.summarize()["map"]


def test_settings_that_differ_from_the_defaults_are_marked(digits):
    changed = [s["name"] for s in digits.model.summarize()["settings"] if not s["is_default"]]
    assert set(changed) == {"architecture", "order", "max_iter", "early_stopping", "random_state"}


def test_a_linear_model_has_no_map_and_no_filters():
    X = np.random.default_rng(0).normal(size=(40, 5))
    model = wc.GraphCNNRegressor("", max_iter=1, n_members=1).fit(X, X[:, 0])
    summary = model.summarize(X, X[:, 0])
    assert summary["map"] is None
    assert summary["filters"] is None
    assert "no hidden layer" in wc.render_report(summary)


def test_importance_colours_the_map_and_ranks_the_columns(hostile):
    summary = hostile.model.summarize(hostile.X, hostile.y)
    ranking = hostile.model.importance(hostile.X, max_samples=128)
    assert [row["column"] for row in summary["importance"]] == ranking["column"].to_list()
    shown = summary["map"]["values"][0]
    assert shown["label"] == "Importance"
    given = dict(ranking.select("column", "importance").iter_rows())
    expected = [given[name] for name in hostile.X.columns]
    np.testing.assert_allclose(shown["values"], expected, rtol=0.01)


def test_the_reasons_of_an_error_are_the_largest_attributions_of_its_row(hostile):
    error = hostile.model.summarize(hostile.X, hostile.y)["errors"][0]
    row = hostile.X[error["row"]]
    shares = hostile.model.explain(hostile.X[[e["row"] for e in [error]]]).row(0, named=True)
    strongest = max(shares, key=lambda name: abs(shares[name]))
    assert error["reasons"][0]["name"] == strongest
    assert error["reasons"][0]["share"] == pytest.approx(shares[strongest], rel=0.05)
    assert error["reasons"][0]["value"] == pytest.approx(row[strongest][0], rel=1e-3)


def test_graphs_are_drawn_worst_first_with_the_share_of_each_node(molecules):
    summary = molecules.model.summarize(molecules.X, molecules.y)
    gallery = summary["gallery"]
    worst = [error["row"] for error in summary["errors"]]
    assert [graph["row"] for graph in gallery][: len(worst)] == worst
    for graph in gallery:
        sample = molecules.X[graph["row"]]
        assert len(graph["x"]) == len(graph["shares"]) == sample.n_nodes
        assert len(graph["edges"]) == sample.graph.nnz // 2


def test_the_reasons_of_an_error_show_the_values_of_the_columns_that_were_given():
    rng = np.random.default_rng(0)
    colour = rng.choice(["red", "blue", "green"], 60)
    table = {"size": rng.normal(size=60), "colour": colour, "weight": rng.normal(size=60)}
    X, y = pl.DataFrame(table), (colour == "red") + table["size"]
    model = wc.GraphCNNRegressor("", max_iter=3, n_members=1, random_state=0).fit(X, y)
    summary = model.summarize(X.select("weight", "colour", "size"), y)  # in another order
    for error in summary["errors"]:
        given = {reason["name"]: reason["value"] for reason in error["reasons"]}
        assert given["colour"] == colour[error["row"]]
        for name in ("size", "weight"):
            assert given[name] == pytest.approx(table[name][error["row"]], rel=1e-3)
    assert ">red</td>" in wc.render_report(summary)
