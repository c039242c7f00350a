import warnings

import numpy as np
import polars as pl
import pytest
from sklearn.inspection import permutation_importance

import walkconv
from walkconv import GraphCNNClassifier, GraphCNNRegressor, GraphSample
from walkconv.inspection import attribute

QUICK = {"n_neighbors": 3, "max_iter": 5, "random_state": 0, "n_members": 2}


def mean_row(model):
    return model.scaling_.mean.T


@pytest.fixture(scope="module")
def planted():
    """Four hundred rows of thirty columns, of which 3, 10 and 20 matter, and a fitted model."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 30))
    y = 4 * X[:, 3] + 4 * np.abs(X[:, 10]) - X[:, 20] + 0.5 * rng.normal(size=600)
    settings = {"dropout": 0.1, "learning_rate": 5e-3, "random_state": 0, "max_iter": 30}
    model = GraphCNNRegressor("C4-FC32", n_neighbors=3, **settings).fit(X[:400], y[:400])
    return model, X[400:], y[400:]


def test_rows_sum_to_the_prediction_minus_that_of_the_mean_row(table, values):
    frame = pl.DataFrame(table, schema=list("abcdefg"))
    model = GraphCNNRegressor("C3-P2-C2-FC4", **QUICK).fit(frame, values)
    shares = model.explain(frame)
    assert shares.columns == list("abcdefg")
    expected = model.predict(pl.DataFrame(mean_row(model), schema=frame.columns))
    difference = model.predict(frame) - expected
    error = shares.sum_horizontal().to_numpy() - difference
    assert 0 < np.abs(error).max() <= 0.01 * np.abs(difference).max()


def test_rows_of_a_classifier_sum_to_the_probability_of_the_predicted_class(table, classes):
    model = GraphCNNClassifier("C3-FC8", **QUICK).fit(table, classes)
    chance, base = model.predict_proba(table), model.predict_proba(mean_row(model))[0]
    best = chance.argmax(axis=1)
    found = model.explain(table).sum_horizontal().to_numpy()
    np.testing.assert_allclose(found, chance.max(axis=1) - base[best], atol=0.01)
    found = model.explain(table, target="low").sum_horizontal().to_numpy()
    np.testing.assert_allclose(found, chance[:, 1] - base[1], atol=0.01)


def test_a_row_that_is_its_baseline_has_no_attributions(table, values):
    model = GraphCNNRegressor("C3-FC8", **QUICK).fit(table, values)
    assert (model.explain(mean_row(model)).to_numpy() == 0).all()
    assert (model.explain(table[:1], baseline=table[:1]).to_numpy() == 0).all()


def test_baseline_rows_change_what_is_expected(table, values):
    model = GraphCNNRegressor("C3-FC8", **QUICK).fit(table, values)
    found = model.explain(table[:9], baseline=table[20:24]).sum_horizontal().to_numpy()
    difference = model.predict(table[:9]) - model.predict(table[20:24]).mean()
    np.testing.assert_allclose(found, difference, atol=0.01 * np.abs(difference).max())


def test_a_linear_model_gives_each_column_its_term(table, values):
    model = GraphCNNRegressor("", soft_clip=None, **QUICK).fit(table, values)
    weight = np.mean([m.dense[0].weight.detach().numpy()[0] for m in model.modules_], axis=0)
    scaled = (table - mean_row(model)) / model.scaling_.deviation.T
    terms = scaled * weight * model.target_scaling_.deviation[0, 0]
    np.testing.assert_allclose(model.explain(table).to_numpy(), terms, rtol=1e-3, atol=1e-4)


def test_of_several_outputs_one_is_explained(table, values):
    Y = np.column_stack([values, -2 * table[:, 0]])
    model = GraphCNNRegressor("C3-FC8", **QUICK).fit(table, Y)
    for target in (0, 1):
        difference = (model.predict(table) - model.predict(mean_row(model)))[:, target]
        found = model.explain(table, target=target).sum_horizontal().to_numpy()
        np.testing.assert_allclose(found, difference, atol=0.011 * np.abs(difference).max())
    assert model.explain(table).equals(model.explain(table, target=0))
    assert model.importance(table, Y).height == 7


def test_channels_of_a_column_are_summed_and_missing_values_have_a_share(rng):
    X = rng.normal(size=(40, 5, 2))
    y = X[:, 1, 0] + X[:, 3, 1]
    X[::3, 2, 1] = np.nan
    model = GraphCNNRegressor("C3-FC8", **QUICK).fit(X, y)
    found = model.explain(X)
    assert found.shape == (40, 5)
    difference = model.predict(X) - model.predict(mean_row(model).T[None])
    error = found.sum_horizontal().to_numpy() - difference
    assert np.abs(error).max() <= 0.01 * np.abs(difference).max()


def test_nodes_of_graphs_have_attributions_in_the_order_of_the_graph():
    """The node whose type decides the class has the largest share, wherever it is numbered."""
    rng = np.random.default_rng(0)
    graphs, places = [], []
    for number in range(60):
        tags, place = np.zeros(7, dtype=int), int(rng.integers(7))
        tags[place] = 1 + number % 2
        graphs.append(GraphSample(walkconv.grid_graph((7,)), tags=tags))
        places.append(place)
    y = np.arange(60) % 2
    model = GraphCNNClassifier("C8-Gsum", max_iter=30, learning_rate=0.02, random_state=0)
    model.fit(graphs, y)
    table = model.explain(graphs)
    assert table.columns == ["sample", "node", "attribution"]
    share = table["attribution"].to_numpy().reshape(60, 7)
    assert np.mean(np.abs(share).argmax(axis=1) == places) > 0.9
    ranking = model.importance(graphs, y)
    assert set(ranking["column"].to_list()) == {"tag 0", "tag 1", "tag 2"}
    with pytest.raises(ValueError, match="by='column'"):
        model.importance(graphs, by="neighborhood")
    with pytest.raises(ValueError, match="baseline must be left out"):
        model.explain(graphs, baseline=graphs[:2])


def test_importance_names_what_was_planted_first(planted):
    model, X, y = planted
    ranking = model.importance(X, y)
    assert ranking.columns == ["column", "importance", "spread", "gain"]
    assert ranking["column"].to_list()[:3] == ["3", "10", "20"]
    assert ranking["importance"].is_sorted(descending=True)
    assert (ranking["spread"].head(3) > 0).all()


def test_importance_is_the_mean_absolute_attribution(planted):
    model, X, _ = planted
    wanted = np.abs(model.explain(X).to_numpy()).mean(axis=0)
    ranking = model.importance(X).with_columns(pl.col("column").cast(int)).sort("column")
    np.testing.assert_allclose(ranking["importance"], wanted, rtol=1e-6)


def test_gains_sum_to_the_loss_that_the_columns_remove(planted):
    model, X, y = planted

    def loss(X, y):
        encoded = model._fitted.target.encode(y)
        return np.mean([np.square(each - encoded) for each in model._outputs(X)])

    wanted = loss(np.repeat(mean_row(model), len(y), axis=0), y) - loss(X, y)
    assert model.importance(X, y)["gain"].sum() == pytest.approx(wanted, rel=0.02)


def test_the_ranking_agrees_with_permutation_importance(planted):
    model, X, y = planted
    permuted = permutation_importance(model, X, y, n_repeats=3, random_state=0).importances_mean
    wanted = np.argsort(-permuted)[:3]
    found = [int(name) for name in model.importance(X, y)["column"]]
    assert found[:3] == wanted.tolist()


def test_deleting_important_columns_first_costs_more_than_a_random_order(planted):
    model, X, y = planted
    rng = np.random.default_rng(1)

    def mean_score_while_deleting(order):
        Z, scores = X.copy(), []
        for column in order:
            Z[:, column] = mean_row(model)[0, column]
            scores.append(model.score(Z, y))
        return np.mean(scores)

    ours = mean_score_while_deleting([int(name) for name in model.importance(X)["column"]])
    at_random = [mean_score_while_deleting(rng.permutation(30)) for _ in range(5)]
    assert ours < min(at_random) - 0.1


def test_a_neighborhood_sums_what_its_columns_share(rng):
    """The signal lies in three copies of one column: each has a third of the importance."""
    signal = rng.normal(size=400)
    X = rng.normal(size=(400, 12))
    X[:, :3] = signal[:, None] + 0.1 * rng.normal(size=(400, 3))
    model = GraphCNNRegressor("C4-FC16", dropout=0.1, **QUICK | {"max_iter": 20}).fit(X, signal)
    alone = dict(model.importance(X).select("column", "importance").iter_rows())
    ranking = model.importance(X, by="neighborhood")
    assert set(ranking["column"].to_list()[:3]) == {"0", "1", "2"}
    together = ranking["importance"][0]
    assert together == pytest.approx(alone["0"] + alone["1"] + alone["2"], rel=0.1)


def test_a_neighborhood_follows_edges_along_their_direction(table, values):
    graph = walkconv.graph_from_edges([(0, 1), (0, 2)], n_nodes=7, directed=True)
    model = GraphCNNRegressor("C3-FC8", graph=graph, **QUICK).fit(table, values)
    column, around = (
        dict(model.importance(table, by=by).select("column", "importance").iter_rows())
        for by in ("column", "neighborhood")
    )
    assert around["1"] == pytest.approx(column["1"])
    shares = model.explain(table).to_numpy()[:, :3].sum(axis=1)
    assert around["0"] == pytest.approx(np.abs(shares).mean())


def test_spread_is_null_for_one_member_and_rows_are_sampled_by_seed(table, values):
    model = GraphCNNRegressor("C3-FC8", **QUICK | {"n_members": 1}).fit(table, values)
    assert model.importance(table)["spread"].is_null().all()
    one, two = (model.importance(table, max_samples=20, random_state=s) for s in (1, 2))
    assert one.equals(model.importance(table, max_samples=20, random_state=1))
    assert not one.equals(two)


def test_a_loaded_model_explains_the_same(table, classes, tmp_path):
    model = GraphCNNClassifier("C3-FC8", **QUICK).fit(table, classes)
    model.save(tmp_path / "m")
    loaded = walkconv.load(tmp_path / "m")
    assert loaded.explain(table[:5]).equals(model.explain(table[:5]))


def test_values_far_out_are_explained_too(table, values):
    """Scaled values are clipped softly: a path of raw values would waste its points there."""
    model = GraphCNNRegressor("C3-FC8", **QUICK).fit(table, values)
    X = table[:4].copy()
    X[0, 3] = 1e12
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = model.explain(X).sum_horizontal().to_numpy()
    difference = model.predict(X) - model.predict(mean_row(model))
    np.testing.assert_allclose(found, difference, atol=0.01 * np.abs(difference).max())


def test_wrong_arguments_are_named(table, classes, values):
    classifier = GraphCNNClassifier("FC4", **QUICK).fit(table, classes)
    with pytest.raises(ValueError, match=r"target must be one of the classes .*'medium'"):
        classifier.explain(table, target="medium")
    with pytest.raises(ValueError, match=r"by='neighborhood' needs .* C layer"):
        classifier.importance(table, by="neighborhood")
    with pytest.raises(ValueError, match="Did you mean 'column'"):
        classifier.importance(table, by="colum")
    regressor = GraphCNNRegressor("FC4", **QUICK).fit(table, values)
    with pytest.raises(ValueError, match="target must be at most 0; got 1"):
        regressor.explain(table, target=1)
    with pytest.raises(ValueError, match="n_steps must be at least 1"):
        regressor.explain(table, n_steps=0)
    with pytest.raises(ValueError, match=r"expecting 7 features"):
        regressor.explain(table[:, :3])


def test_attributions_are_the_mean_over_the_members(table, values):
    model = GraphCNNRegressor("C3-FC8", **QUICK).fit(table, values)
    found = attribute(
        model.modules_,
        model._batches(table),
        [7] * 60,
        lambda outputs, rows: outputs[:, 0] * model.target_scaling_.deviation[0, 0],
    )
    shares = np.stack(found.shares)[..., 0]
    assert np.abs(shares[:, 0] - shares[:, 1]).max() > 0.1
    np.testing.assert_allclose(model.explain(table).to_numpy(), shares.mean(axis=1), rtol=1e-5)


def test_the_nodes_of_a_column_of_text_are_explained_as_one_column(rng):
    colour = rng.choice(["red", "green", "blue"], size=240)
    X = pl.DataFrame({"a": rng.normal(size=240), "colour": colour, "b": rng.normal(size=240)})
    y = (colour == "red") * 4.0 + X["b"].to_numpy()
    model = GraphCNNRegressor("C4-FC16", n_neighbors=2, max_iter=60, n_members=1, random_state=0)
    model.fit(X, y)
    shares = model.explain(X[:20])
    assert shares.columns == ["a", "colour", "b"]
    expected = np.mean(model.predict(X[:20]) - shares.sum_horizontal().to_numpy())
    np.testing.assert_allclose(shares.sum_horizontal() + expected, model.predict(X[:20]), atol=0.05)
    ranking = model.importance(X)
    assert ranking["column"].to_list() == ["colour", "b", "a"]
    around = model.importance(X, by="neighborhood")
    assert sorted(around["column"]) == ["a", "b", "colour"]
    summary = model.summarize(X, y)
    by_node = next(each for each in summary["map"]["values"] if each["label"] == "Importance")
    assert len(set(by_node["values"][1:4])) == 1
