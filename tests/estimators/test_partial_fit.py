"""Learning from a stream, a part at a time."""

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

import walkconv
from walkconv import GraphCNNClassifier, GraphCNNRegressor

SETTINGS = {"architecture": "C4-FC16", "learning_rate": 0.01, "random_state": 0, "n_neighbors": 3}
SETTINGS |= {"dropout": 0.1, "n_members": 1, "batch_size": 16}


@pytest.fixture(scope="module")
def stream():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(800, 6)).cumsum(axis=1)
    return X, 10 + 3 * X[:, 2], np.where(X[:, 2] > 0, "high", "low")


def parts(n_rows=600, size=100):
    return [slice(start, start + size) for start in range(0, n_rows, size)]


def test_a_regressor_learns_more_with_every_part(stream):
    X, y, _ = stream
    model = GraphCNNRegressor(**SETTINGS)
    scores = [model.partial_fit(X[p], y[p]).score(X[600:], y[600:]) for p in parts()]
    assert scores[-1] > 0.9
    assert scores[-1] > scores[0] + 0.2
    assert len(model.history_) == 6


def test_a_classifier_knows_classes_that_come_later(stream):
    X, _, labels = stream
    model = GraphCNNClassifier(**SETTINGS)
    only_high = np.flatnonzero(labels[:200] == "high")
    model.partial_fit(X[only_high], labels[only_high], classes=["low", "high"])
    assert model.classes_.tolist() == ["high", "low"]
    for part in parts():
        model.partial_fit(X[part], labels[part])
    assert model.score(X[600:], labels[600:]) > 0.85


def test_the_first_part_decides_scaling_and_graph(stream):
    X, y, _ = stream
    model = GraphCNNRegressor(**SETTINGS).partial_fit(X[:100], y[:100])
    graph, scaling = model.graph_, model.scaling_
    model.partial_fit(5 * X[100:200], y[100:200])
    assert model.graph_ is graph
    assert model.scaling_ is scaling
    np.testing.assert_allclose(scaling.mean[:, 0], StandardScaler().fit(X[:100]).mean_)


def test_parts_repeat_but_are_not_shuffled_alike(stream):
    X, y, _ = stream

    def fit():
        model = GraphCNNRegressor(**SETTINGS)
        for _ in range(2):
            model.partial_fit(X[:100], y[:100])
        return model

    np.testing.assert_array_equal(fit().predict(X), fit().predict(X))


def test_the_solver_goes_on_where_it_was(stream):
    X, y, _ = stream
    model = GraphCNNRegressor(**SETTINGS)
    steps = []
    for part in parts(300):
        model.partial_fit(X[part], y[part])
        state = model._fitted.solvers[0]["state"][0]
        steps.append(int(state["step"]))
    assert steps == [7, 14, 21]


def test_a_fit_and_a_file_can_be_continued(stream, tmp_path):
    X, y, _ = stream
    model = GraphCNNRegressor(**SETTINGS, max_iter=2).fit(X[:100], y[:100])
    before = model.score(X[600:], y[600:])
    model.save(tmp_path / "m")
    loaded = walkconv.load(tmp_path / "m")
    for part in parts():
        model.partial_fit(X[part], y[part])
        loaded.partial_fit(X[part], y[part])
    np.testing.assert_allclose(loaded.predict(X), model.predict(X))
    assert model.score(X[600:], y[600:]) > before
    again = model.fit(X[:100], y[:100])  # starts anew
    assert len(again.history_) == 2


def test_a_part_that_cannot_be_is_refused_and_changes_nothing(stream):
    X, _, labels = stream
    model = GraphCNNClassifier(**SETTINGS)
    with pytest.raises(ValueError, match="first partial_fit needs classes"):
        model.partial_fit(X[:100], labels[:100])
    model.partial_fit(X[:100], labels[:100], classes=["high", "low"])
    expected = model.predict_proba(X)
    with pytest.raises(ValueError, match="classes must be those of the first part"):
        model.partial_fit(X[:100], labels[:100], classes=["high", "low", "middle"])
    with pytest.raises(ValueError, match="y must hold the classes of the training rows"):
        model.partial_fit(X[:2], ["high", "middle"])
    with pytest.raises(ValueError, match="at least two rows; got 1"):
        model.partial_fit(X[:1], labels[:1])
    with pytest.raises(ValueError, match="5 features"):
        model.partial_fit(X[:100, :5], labels[:100])
    np.testing.assert_array_equal(model.predict_proba(X), expected)
    with pytest.raises(ValueError, match="class_weight='balanced' needs all rows at once"):
        model.set_params(class_weight="balanced").partial_fit(X[:100], labels[:100])


@pytest.mark.parametrize("classes", ["ab", [None, 1], [0, 1, np.nan], [[0, 1]]])
def test_classes_must_be_a_list_without_missing_ones(stream, classes):
    X, _, y = stream
    with pytest.raises(ValueError, match="classes must list the classes, none of them missing"):
        GraphCNNClassifier(**SETTINGS).partial_fit(X[:50], y[:50], classes=classes)


def test_a_part_far_from_the_first_is_refused(stream):
    X, y, _ = stream
    model = GraphCNNRegressor(**SETTINGS).partial_fit(X[:50], y[:50])
    with pytest.raises(ValueError, match=r"y must have values like those of the first .*e\+300"):
        model.partial_fit(X[:50], y[:50] * 1e300)
