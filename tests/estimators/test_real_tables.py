"""Tables with text, categories and dates, from fit to the file and back."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from sklearn.model_selection import cross_val_score

import walkconv
from walkconv import GraphCNNClassifier, GraphCNNRegressor, ModelFileError, persistence

N_ROWS = 120
COLOURS = np.array(["red", "green", "blue"])


@pytest.fixture
def houses(rng):
    """A table whose target depends on a category, a truth and the season."""
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 1000, N_ROWS), unit="D")
    X = pd.DataFrame(
        {
            "size": rng.normal(size=N_ROWS),
            "colour": rng.choice(COLOURS, N_ROWS),
            "sold": days,
            "new": rng.random(N_ROWS) < 0.5,
        }
    )
    X.loc[::10, "colour"] = None
    return X


@pytest.fixture
def prices(houses):
    season = np.sin(2 * np.pi * houses["sold"].dt.day_of_year / 365)
    price = 2.0 * (houses["colour"] == "red") + houses["new"] + season + 0.2 * houses["size"]
    return price.to_numpy()


@pytest.fixture
def model():
    settings = {
        "n_neighbors": 4,
        "max_iter": 20,
        "learning_rate": 0.02,
        "dropout": 0.1,
        "batch_size": 32,
    }
    return GraphCNNRegressor("C4-FC16", **settings, n_members=1, random_state=0)


NODES = ["size", "colour=blue", "colour=green", "colour=red", "colour=(missing)"]
NODES += ["sold", "sold:year_sin", "sold:year_cos", "sold:week_sin", "sold:week_cos", "new"]


def test_a_model_learns_from_categories_truths_and_dates(model, houses, prices):
    model.fit(houses[:90], prices[:90])
    assert model.score(houses[90:], prices[90:]) > 0.6
    only_size = model.fit(houses[["size"]][:90], prices[:90])
    assert only_size.score(houses[["size"]][90:], prices[90:]) < 0.2


def test_names_of_columns_and_of_nodes(model, houses, prices):
    model.set_params(max_iter=1).fit(houses, prices)
    assert model.n_features_in_ == 4
    assert model.feature_names_in_.tolist() == list(houses.columns)
    assert model.node_names_.tolist() == NODES
    columns = model.table_encoding_.column_of_node
    assert columns.tolist() == [0] + [1] * 4 + [2] * 5 + [3]
    assert set(model.neighbors_table()["neighbor"]) <= set(NODES)
    assert len(model.scaling_.mean) == len(model.graph_.indptr) - 1 == len(NODES)
    plain = model.fit(houses[["size", "new"]], prices)
    assert plain.table_encoding_ is None
    assert plain.node_names_.tolist() == ["size", "new"]


def test_pandas_and_polars_in_any_order_predict_the_same(model, houses, prices):
    model.set_params(max_iter=2).fit(houses, prices)
    expected = model.predict(houses)
    cells = houses.astype({"colour": object}).where(houses.notna(), None)
    polars = pl.DataFrame({name: cells[name].tolist() for name in cells.columns[::-1]})
    np.testing.assert_array_equal(model.predict(polars), expected)
    again = model.fit(polars.select(houses.columns), prices)
    np.testing.assert_array_equal(again.predict(houses), expected)


def test_a_loaded_model_predicts_the_same(model, houses, prices, tmp_path):
    model.set_params(max_iter=2).fit(houses, prices).save(tmp_path / "m")
    same = walkconv.load(tmp_path / "m")
    new = houses.assign(colour=["pink", None, "red"] * 40, size=np.nan)
    np.testing.assert_array_equal(same.predict(new), model.predict(new))
    assert same.table_encoding_.to_plain() == model.table_encoding_.to_plain()
    assert same.feature_names_in_.tolist() == list(houses.columns)


def test_a_file_with_other_categories_than_nodes_is_refused(model, houses, prices, tmp_path):
    model.set_params(max_iter=1).fit(houses, prices).save(tmp_path / "m")
    arrays, content = persistence.read_file(tmp_path / "m", "model")
    content["samples"]["encoding"]["columns"][1]["levels"].append("pink")
    persistence.write_file(tmp_path / "m", "model", arrays, content)
    with pytest.raises(ModelFileError, match="nodes must be those of the encoded columns"):
        walkconv.load(tmp_path / "m")


def test_validation_rows_may_hold_other_categories(model, houses, prices):
    others = houses[80:].assign(colour="pink")
    model.set_params(max_iter=2).fit(
        houses[:80], prices[:80], validation_data=(others, prices[80:])
    )
    assert "colour=pink" not in model.node_names_
    assert "validation_score" in model.history_[-1]


def test_rows_that_are_held_out_are_encoded_too(houses, prices):
    labels = np.where(prices > 1, "dear", "cheap")
    model = GraphCNNClassifier("FC8", early_stopping=2, max_iter=3, random_state=0)
    assert set(model.fit(houses, labels).predict(houses)) <= {"dear", "cheap"}


def test_models_can_be_cross_validated(model, houses, prices):
    scores = cross_val_score(model.set_params(max_iter=2), houses, prices, cv=2)
    assert np.isfinite(scores).all()


def test_a_warm_start_keeps_the_categories(model, houses, prices):
    model.set_params(max_iter=1, warm_start=True).fit(houses, prices)
    is_red = (houses["colour"] == "red").to_numpy()
    model.fit(houses[is_red], prices[is_red])
    assert model.node_names_.tolist() == NODES


def test_a_given_graph_is_one_of_the_columns(model, houses, prices):
    line = np.diag([5.0, 2.0, 1.0], k=1)
    graph = pd.DataFrame(line + line.T, index=houses.columns, columns=houses.columns)
    model.set_params(graph=graph.iloc[::-1, ::-1], max_iter=1).fit(houses, prices)
    found = model.graph_.toarray()
    nodes = dict(zip(NODES, found, strict=True))
    assert nodes["size"].tolist() == [0] + [5] * 4 + [0] * 6
    assert nodes["colour=red"].tolist() == [5, 5, 5, 0, 5] + [2] * 5 + [0]
    assert nodes["new"].tolist() == [0] * 5 + [1] * 5 + [0]
    by_place = model.set_params(graph=graph.to_numpy()).fit(houses, prices)
    np.testing.assert_array_equal(by_place.graph_.toarray(), found)
    of_nodes = model.set_params(graph=found).fit(houses, prices)
    np.testing.assert_array_equal(of_nodes.graph_.toarray(), found)


def test_an_identifier_is_reported_and_need_not_come_again(model, houses, prices):
    named = houses.assign(owner=[f"owner {i}" for i in range(N_ROWS)])
    with pytest.warns(UserWarning, match="not used .*'owner'"):
        model.set_params(max_iter=1).fit(named, prices)
    assert model.n_features_in_ == 5
    assert model.node_names_.tolist() == NODES
    np.testing.assert_array_equal(model.predict(named), model.predict(houses))


def test_an_infinite_number_beside_text_is_refused(model, houses, prices):
    with pytest.raises(ValueError, match="infinity"):
        model.fit(houses.assign(size=np.inf), prices)


def test_an_export_is_refused_with_a_way_that_works(model, houses, prices, tmp_path):
    model.set_params(max_iter=2).fit(houses, prices)
    with pytest.raises(TypeError, match="models of tables of numbers can be exported"):
        model.to_torch()
    encoding = walkconv.tables.learn_table_encoding(houses)
    numbers = encoding.apply(houses)
    expected = model.predict(houses)
    plain = model.fit(numbers, prices)
    np.testing.assert_array_equal(plain.predict(numbers), expected)
    found = plain.to_torch()(torch.tensor(numbers, dtype=torch.float32))
    np.testing.assert_allclose(found, expected, rtol=1e-3)
