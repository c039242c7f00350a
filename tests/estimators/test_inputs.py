"""Tables, graphs and weights of every form."""

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from walkconv import as_graph, graph_from_edges

NAMES = list("gfedcba")


@pytest.fixture
def sparse_table(rng):
    return rng.poisson(0.7, size=(60, 7)).astype(float)


def as_memmap(X, folder):
    np.save(folder / "X.npy", X)
    return np.load(folder / "X.npy", mmap_mode="r")


FORMS = {
    "float32": lambda X, _: X.astype(np.float32),
    "int": lambda X, _: X.astype(np.uint8),
    "fortran": lambda X, _: np.asfortranarray(X),
    "list": lambda X, _: X.tolist(),
    "pandas": lambda X, _: pd.DataFrame(X, columns=NAMES),
    "polars": lambda X, _: pl.DataFrame(X, schema=NAMES),
    "csr": lambda X, _: sp.csr_array(X),
    "csc matrix": lambda X, _: sp.csc_matrix(X),
    "coo": lambda X, _: sp.coo_array(X),
    "memmap": as_memmap,
    "one channel": lambda X, _: X[:, :, None],
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_table_gives_the_same_predictions(regressor, sparse_table, form, tmp_path):
    y = sparse_table @ np.arange(7)
    expected = clone(regressor).fit(sparse_table, y).predict(sparse_table)
    X = FORMS[form](sparse_table, tmp_path)
    np.testing.assert_allclose(regressor.fit(X, y).predict(X), expected, rtol=1e-3)


@pytest.mark.parametrize("graph", ["correlation", "knn", "heat_kernel", "supervised"])
def test_every_learner_finds_the_same_graph_in_sparse_rows(regressor, sparse_table, graph):
    y = sparse_table[:, 0]
    regressor.set_params(graph=graph, max_iter=1)
    dense = clone(regressor).fit(sparse_table, y).neighbors_.index
    sparse = clone(regressor).fit(sp.csr_array(sparse_table), y).neighbors_.index
    np.testing.assert_array_equal(dense, sparse)


@pytest.mark.parametrize("graph", ["correlation", "knn", "heat_kernel", "supervised"])
def test_learners_do_not_depend_on_units(regressor, table, values, graph):
    regressor.set_params(graph=graph, max_iter=1)
    moved = table * 10.0 ** np.arange(7) + 50
    np.testing.assert_array_equal(
        clone(regressor).fit(moved, values).neighbors_.index,
        clone(regressor).fit(table, values).neighbors_.index,
    )


def test_channels(regressor, table, values, rng):
    X = np.stack([table, rng.normal(size=table.shape), -table], axis=2)
    model = regressor.fit(X, values)
    assert model.module_.convolutions[0].weight.shape == (3, 3, 3)
    assert model.score(X, values) > 0.6
    with pytest.raises(ValueError, match=r"X must have 3 channel\(s\), as in fit; got 1"):
        model.predict(table)
    with pytest.raises(ValueError, match=r"\(n_samples, n_nodes, n_channels\); got \(60, 7, 3, 1"):
        model.fit(X[..., None], values)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_columns_are_matched_by_name(regressor, table, values, frame):
    X = frame(dict(zip(NAMES, table.T, strict=True)))
    model = regressor.fit(X, values)
    assert model.feature_names_in_.tolist() == NAMES
    np.testing.assert_array_equal(model.predict(X[NAMES[::-1]]), model.predict(X))
    with pytest.raises(ValueError, match="seen at fit time, yet now missing:\n- a"):
        model.predict(X[NAMES[:-1]])
    with pytest.raises(ValueError, match="unseen at fit time"):
        model.predict(frame(dict(zip("gfedcbx", table.T, strict=True))))


def known_graph():
    sources, targets = np.array([0, 1, 2, 3, 4, 5]), np.array([1, 2, 3, 4, 5, 6])
    return graph_from_edges([sources, targets], np.arange(1.0, 7.0))


class RoadMap(nx.Graph):
    """A kind of graph that is not in networkx itself."""


def networkx_by_number():
    graph = nx.Graph()
    graph.add_weighted_edges_from((node, node - 1, node) for node in range(6, 0, -1))
    return graph


KNOWN = {
    "sparse": known_graph,
    "array": lambda: known_graph().toarray(),
    "pandas in another order": lambda: pd.DataFrame(
        known_graph().toarray(), index=NAMES, columns=NAMES
    ).loc[sorted(NAMES), sorted(NAMES)],
    "networkx by name": lambda: nx.relabel_nodes(
        nx.from_scipy_sparse_array(known_graph()), dict(enumerate(NAMES))
    ),
    "networkx by number": networkx_by_number,
    "networkx of a subclass, in another order": lambda: RoadMap(
        list(nx.relabel_nodes(networkx_by_number(), dict(enumerate(NAMES))).edges(data=True))
    ),
}


@pytest.mark.parametrize(
    ("form", "is_named"),
    [
        *((form, True) for form in KNOWN),
        *((form, False) for form in ("sparse", "array", "networkx by number")),
    ],
)
def test_a_known_graph_is_used_as_it_is(regressor, table, values, form, is_named):
    X = pd.DataFrame(table, columns=NAMES) if is_named else table
    model = regressor.set_params(graph=KNOWN[form](), max_iter=1).fit(X, values)
    np.testing.assert_array_equal(model.graph_.toarray(), known_graph().toarray())


def test_edges_may_leave_out_the_last_nodes(regressor, table, values):
    model = regressor.set_params(graph=(np.array([[0, 1], [1, 0]]), None), max_iter=1)
    assert model.fit(table, values).graph_.shape == (7, 7)


def test_a_named_graph_must_have_the_names_of_the_columns(regressor, table, values):
    graph = pd.DataFrame(np.eye(7), index=list("gfedcbx"), columns=list("gfedcbx"))
    with pytest.raises(ValueError, match=r"1 missing \(first: 'a'\) and 1 unexpected"):
        regressor.set_params(graph=graph).fit(pd.DataFrame(table, columns=NAMES), values)


@pytest.mark.parametrize(
    "labels", [range(1, 8), NAMES, "0123456"], ids=["from 1", "text", "digits"]
)
def test_the_nodes_of_networkx_are_not_taken_in_the_order_they_came_in(
    regressor, table, values, labels
):
    graph = nx.path_graph(7)
    graph = nx.relabel_nodes(graph, dict(enumerate(labels)))
    with pytest.raises(
        ValueError, match=r"no names \(strings\) to match .* Give X names, .* to 0..6"
    ):
        regressor.set_params(graph=graph).fit(table, values)


def test_networkx_with_too_few_nodes_is_counted(regressor, table, values):
    with pytest.raises(ValueError, match="must have 7 nodes, one for each name or column; it has"):
        regressor.set_params(graph=nx.path_graph(5)).fit(table, values)


def test_no_graph_is_learned_where_none_is_needed(classifier, table, classes):
    model = classifier.set_params(architecture="FC8", graph=None).fit(table, classes)
    assert model.graph_ is None
    assert model.neighbors_ is None
    assert model.score(table, classes) > 0.9
    linear = clone(classifier).set_params(architecture="").fit(table, classes)
    assert linear.n_parameters_ == 2 * 8


def test_few_columns_have_few_neighbors(regressor, table, values):
    model = regressor.set_params(n_neighbors=50, max_iter=1).fit(table, values)
    assert model.neighbors_.index.shape == (7, 7)
    for graph in ("correlation", "knn", "heat_kernel"):
        alone = clone(regressor).set_params(graph=graph).fit(table[:, :1], values)
        assert alone.neighbors_.index.tolist() == [[0]]


def test_constant_columns_are_no_trouble(regressor, table, values):
    table[:, 1], table[:, 4] = 0.1, 0
    for X in (table, sp.csr_array(table)):
        model = regressor.fit(X, values)
        assert np.isfinite(model.predict(X)).all()
        assert model.neighbors_.index[1].tolist() == [1, -1, -1]


def test_missing_values_are_bridged_by_neighbors(classifier, table, classes, rng):
    holes = table.copy()
    holes[rng.random(holes.shape) < 0.2] = np.nan
    model = clone(classifier).fit(holes, classes)
    assert model.score(holes, classes) > 0.85
    whole = clone(classifier).fit(table, classes)
    assert np.isfinite(whole.predict_proba(holes)).all()
    linear = clone(classifier).set_params(architecture="").fit(holes, classes)
    filled = np.where(np.isnan(holes), np.nanmean(holes, axis=0), holes)
    np.testing.assert_allclose(
        linear.predict_proba(holes), linear.predict_proba(filled), rtol=1e-4, atol=1e-6
    )


def test_missing_values_in_sparse_tables_and_channels(regressor, table, values):
    table[3, 2] = table[8, 5] = np.nan
    dense = clone(regressor).fit(table, values).predict(table)
    sparse = clone(regressor).fit(sp.csr_array(table), values).predict(table)
    np.testing.assert_allclose(dense, sparse, rtol=1e-3)
    channels = np.stack([table, np.zeros_like(table)], axis=2)
    assert np.isfinite(regressor.fit(channels, values).predict(channels)).all()


def test_a_column_that_is_missing_everywhere_is_named(regressor, table, values):
    table[:, 4] = np.nan
    for X, name in (
        (table, "column 4"),
        (sp.csr_array(table), "column 4"),
        (pd.DataFrame(table, columns=NAMES), "column 'c'"),
        (np.stack([table, np.zeros_like(table)], axis=2), "column 4"),
    ):
        with pytest.raises(ValueError, match=rf"{name} is missing in all \(1 such\). Drop it"):
            regressor.fit(X, values)


def test_a_weight_of_zero_removes_the_row_exactly(classifier, regressor, table, classes, values):
    table[:5] *= 1e6
    weight = np.r_[np.zeros(5), np.ones(55)]
    for model, y in ((classifier, classes), (regressor, values)):
        kept = clone(model).fit(table[5:], y[5:]).predict(table)
        np.testing.assert_array_equal(
            clone(model).fit(table, y, sample_weight=weight).predict(table), kept
        )


def test_weights_move_the_prediction(regressor, table, rng):
    y = np.r_[np.zeros(30), np.ones(30)]
    table = rng.permutation(table)
    heavy = np.r_[np.ones(30), np.full(30, 50.0)]
    plain = clone(regressor).fit(table, y).predict(table).mean()
    assert regressor.fit(table, y, sample_weight=heavy).predict(table).mean() > plain + 0.2


def test_class_weight(classifier, table):
    y = np.r_[np.zeros(54, int), np.ones(6, int)]
    shares = []
    for class_weight in (None, "balanced", {0: 1, 1: 50}):
        model = clone(classifier).set_params(class_weight=class_weight, architecture="")
        shares.append(model.fit(table, y).predict_proba(table)[:, 1].mean())
    assert shares[0] < shares[1] < shares[2]


def test_bad_weights(regressor, table, values):
    with pytest.raises(ValueError, match="sample_weight must not be negative; got -1"):
        regressor.fit(table, values, sample_weight=np.r_[-1.0, np.ones(59)])
    with pytest.raises(ValueError, match="At least two rows must have a sample_weight above zero"):
        regressor.fit(table, values, sample_weight=np.eye(60)[3])


def test_the_table_is_not_written_to(classifier, table, classes):
    table[2, 2] = np.nan
    before = table.copy()
    classifier.set_params(early_stopping=True).fit(table, classes).predict(table)
    np.testing.assert_array_equal(table, before)


def test_in_a_pipeline_and_cross_validation(regressor, table, values):
    pipeline = make_pipeline(StandardScaler(), regressor)
    assert cross_val_score(pipeline, table, values, cv=3).mean() > 0.4


@pytest.mark.slow
@pytest.mark.slow
def test_grid_search_in_two_processes(classifier, table, classes):
    grid = {"architecture": ["", "C3"], "graph": ["knn", as_graph(np.eye(7))]}
    search = GridSearchCV(classifier.set_params(max_iter=3), grid, cv=2, n_jobs=2)
    search.fit(table, classes)
    assert search.cv_results_["mean_test_score"].shape == (4,)
    assert search.best_estimator_.predict(table).shape == (60,)


def test_metadata_routing(regressor, table, values):
    weight = np.r_[np.zeros(30), np.ones(30)]
    with sklearn.config_context(enable_metadata_routing=True):
        routed = clone(regressor).set_fit_request(sample_weight=True)
        pipeline = make_pipeline(FunctionTransformer(), routed)
        found = pipeline.fit(table, values, sample_weight=weight).predict(table)
    expected = regressor.fit(table[30:], values[30:]).predict(table)
    np.testing.assert_array_equal(found, expected)


def test_a_mistyped_column_at_prediction_gets_a_suggestion(regressor, table, values):
    names = ["north", "east", "south", "west", "up", "down", "centre"]
    model = regressor.fit(pl.DataFrame(table, schema=names), values)
    wrong = pl.DataFrame(table, schema=["nort", *names[1:]])
    with pytest.raises(ValueError, match=r"'nort' is not one\..*'north'"):
        model.predict(wrong)


def test_estimators_refuse_tables_with_a_name_twice(regressor, table, values):
    twice = pd.DataFrame(table, columns=["a", "a", "b", "c", "d", "e", "f"])
    with pytest.raises(ValueError, match="Column names must be unique: 'a' appears 2 times"):
        regressor.fit(twice, values)


def test_messages_name_no_class_of_ours(regressor, table, values):
    with pytest.raises(ValueError, match="GraphCNN is expecting 7 features"):
        regressor.fit(table, values).predict(table[:, :3])


def test_class_weight_has_one_word(classifier, table, classes):
    with pytest.raises(ValueError, match=r"class_weight must be one of 'balanced'; got 'balance'"):
        classifier.set_params(class_weight="balance").fit(table, classes)


def test_shift_needs_a_convolution_first(classifier, table, classes):
    with pytest.raises(ValueError, match="must begin with a C layer; got 'FC4' with shift=1"):
        classifier.set_params(architecture="FC4", order="auto", shift=1).fit(table, classes)


@pytest.mark.parametrize(
    "missing", [None, float("nan"), pd.NA, pd.NaT], ids=["None", "nan", "NA", "NaT"]
)
def test_a_missing_target_is_named(classifier, regressor, table, missing):
    for model, present in ((classifier, ["a", "b"]), (regressor, [1.0, 2.0])):
        y = np.array(present * 30, dtype=object)
        y[[7, 9]] = missing
        with pytest.raises(ValueError, match=r"y must have no missing .* 2 of 60 .* first at 7"):
            model.fit(table, y)


def test_missing_labels_of_pandas_are_named(classifier, table):
    for dtype, labels in (("string", ["a", "b"]), ("Int64", [0, 1])):
        y = pd.Series(labels * 30, dtype=dtype)
        y[4] = pd.NA
        with pytest.raises(
            ValueError, match=r"y (must have no missing values; 1 of 60|contains NaN)"
        ):
            classifier.fit(table, y)


def test_a_target_whose_spread_overflows_is_refused(regressor, table):
    y = np.where(np.arange(60) == 3, 1e308, -1e308)
    with pytest.raises(ValueError, match=r"y must have a spread .* from -1e\+308 to 1e\+308"):
        regressor.fit(table, y)


def test_values_that_float32_cannot_hold_are_refused(regressor, table, values):
    regressor.set_params(standardize=False, soft_clip=None, max_iter=1)
    with pytest.raises(ValueError, match="X must hold numbers that float32 can hold"):
        regressor.fit(table * 1e39, values)
    model = regressor.fit(table, values)
    with pytest.raises(ValueError, match="X must hold numbers that float32 can hold"):
        model.predict(table * 1e39)


def test_a_table_without_channels_is_refused(regressor, table, values):
    with pytest.raises(ValueError, match=r"at least one channel; it has the shape \(60, 7, 0\)"):
        regressor.fit(np.empty((60, 7, 0)), values)


def test_labels_that_cannot_be_sorted_are_refused(classifier, table):
    y = np.array(["a", 1, 2.5] * 20, dtype=object)
    with pytest.raises(TypeError, match=r"labels of one type.*; got 'float', 'int', 'str'\. Conv"):
        classifier.fit(table, y)


@pytest.mark.parametrize("unit", [1e-300, 1e-200, 1.0, 1e200, 1e300])
def test_a_sparse_table_is_scaled_as_a_dense_one_in_any_unit(classifier, sparse_table, unit):
    classifier.set_params(max_iter=1)
    X, y = sparse_table * unit, sparse_table[:, 0] > 0
    X[3, 2] = np.nan
    dense = clone(classifier).fit(X, y).predict_proba(X)
    parts = sp.csr_array(X)
    doubled = sp.csr_array(
        (np.repeat(parts.data / 2, 2), np.repeat(parts.indices, 2), 2 * parts.indptr), X.shape
    )
    for form in (parts, doubled):
        found = clone(classifier).fit(form, y).predict_proba(X)
        np.testing.assert_allclose(found, dense, atol=1e-6)


def test_columns_whose_spread_overflows_are_refused(regressor, table, values):
    X = np.full_like(table, -1e308)
    X[3] = 1e308
    for form in (X, sp.csr_array(X)):
        with pytest.raises(ValueError, match=r"X must have a spread .* from -1e\+308 to 1e\+308"):
            regressor.fit(form, values)


def test_columns_of_objects_are_numbers_with_missing_values(regressor, table, values):
    frame = pd.DataFrame(table, columns=NAMES)
    known = frame.astype({"a": float})
    known.loc[::2, "a"] = np.nan
    objects = known.astype({"a": object})
    objects.loc[::2, "a"] = pd.NA
    expected = clone(regressor).fit(known, values).predict(known)
    np.testing.assert_array_equal(regressor.fit(objects, values).predict(objects), expected)
    assert np.isfinite(regressor.predict(frame.assign(a=pd.NA))).all()
    with pytest.raises(ValueError, match="X contains infinity or a value too large"):
        regressor.fit(frame.assign(a=[10**400] * 60), values)


ODD_TABLES = {
    "a path": ("rows.csv", TypeError, r"the path of a Parquet file .*; got 'rows\.csv'\. Read"),
    "columns": ({"a": [1.0, 2.0]}, TypeError, r"X must be a table; got a dict\. Make one of it"),
    "records": (np.zeros(60, "f8,f8"), TypeError, "X must be a table; got a structured array"),
    "no columns": (pd.DataFrame(index=range(60)), ValueError, "at least one column; it has none"),
    "a name": (pd.DataFrame({"\udcff": [1.0] * 60}), ValueError, r"text that UTF-8 .* '\\udcff'"),
}


@pytest.mark.parametrize("odd", ODD_TABLES)
def test_what_is_no_table_is_refused(regressor, values, odd):
    X, error, message = ODD_TABLES[odd]
    with pytest.raises(error, match=message):
        regressor.fit(X, values)


def test_odd_weights_are_refused(classifier, regressor, table, classes, values):
    with pytest.raises(TypeError, match=r"sample_weight must hold real numbers; got .* <U8"):
        regressor.fit(table, values, "balanced")
    with pytest.raises(ValueError, match=r"a sum that a float can hold; the largest is 1e\+308"):
        regressor.fit(table, values, np.full(60, 1e308))
    classifier.set_params(class_weight={"high": 1e308, "low": 1e308})
    with pytest.raises(ValueError, match=r"Divide sample_weight or class_weight by a constant"):
        classifier.fit(table, classes)


def test_odd_targets_are_refused(classifier, regressor, table, classes):
    with pytest.raises(TypeError, match="y must hold real numbers; got an array of object"):
        regressor.fit(table, np.array([10**400] * 60, dtype=object))
    with pytest.raises(TypeError, match=r"y must hold labels of one type.*; got 'int'"):
        classifier.fit(table, np.array([0, 1] * 30, dtype=object))
    with pytest.raises(ValueError, match=r"y must hold text that UTF-8 can hold; got '\\udcff'"):
        classifier.fit(table, np.where(classes == "high", "\udcff", "low"))


def test_absurd_numbers_of_members_are_refused(regressor, table, values):
    with pytest.raises(ValueError, match="n_members must be at most 1000; got 1000000000"):
        regressor.set_params(n_members=10**9).fit(table, values)
