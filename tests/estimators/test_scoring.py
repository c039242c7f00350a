"""The score of validation rows by any scorer of scikit-learn, or by a callable."""

import numpy as np
import pytest
from sklearn.metrics import log_loss, make_scorer, mean_absolute_error, r2_score, roc_auc_score

import walkconv
from walkconv import GraphCNNClassifier, GraphCNNRegressor


@pytest.fixture
def scores():
    """Fit with validation rows and the scores of every epoch, the scorer's and those by hand."""

    def fit(model, X, y, by_hand, **settings):
        truth = []
        model.set_params(max_iter=3, **settings)
        model.fit(
            X[:40],
            y[:40],
            validation_data=(X[40:], y[40:]),
            after_epoch=lambda now: truth.append(by_hand(now, X[40:], y[40:])),
        )
        return [record["validation_score"] for record in model.history_], truth

    return fit


CLASSIFICATION = {
    "roc_auc": lambda m, X, y: roc_auc_score(y, m.predict_proba(X)[:, 1]),
    "neg_log_loss": lambda m, X, y: -log_loss(y, m.predict_proba(X)),
    "accuracy": lambda m, X, y: m.score(X, y),
    None: lambda m, X, y: m.score(X, y),
}


@pytest.mark.parametrize("scoring", CLASSIFICATION)
def test_a_classifier_is_scored_by_classes_and_probabilities(
    scores, classifier, table, classes, scoring
):
    found, truth = scores(classifier, table, classes, CLASSIFICATION[scoring], scoring=scoring)
    np.testing.assert_allclose(found, truth, rtol=1e-5)


REGRESSION = {
    "neg_mean_absolute_error": lambda m, X, y: -mean_absolute_error(y, m.predict(X)),
    "r2": lambda m, X, y: r2_score(y, m.predict(X)),
    None: lambda m, X, y: r2_score(y, m.predict(X)),
}


@pytest.mark.parametrize("scoring", REGRESSION)
def test_a_regressor_is_scored_in_the_units_of_y(scores, regressor, table, values, scoring):
    found, truth = scores(regressor, table, values, REGRESSION[scoring], scoring=scoring)
    np.testing.assert_allclose(found, truth, rtol=1e-4)


def test_a_callable_gets_an_estimator_that_predicts(scores, regressor, table, values):
    def worst(model, X, y):
        return -np.abs(model.predict(X) - y).max() - 0 * model.predict(X[:2]).sum()

    found, truth = scores(regressor, table, values, worst, scoring=worst)
    np.testing.assert_allclose(found, truth, rtol=1e-4)
    found, _ = scores(
        regressor, table, values, worst, scoring=make_scorer(r2_score), loss="absolute_error"
    )
    assert all(score < 1 for score in found)


def test_another_loss_is_its_own_score(scores, regressor, table, values):
    def minus_loss(model, X, y):
        return -np.abs(model.predict(X) - y).mean() / model.target_scaling_.deviation.item()

    found, truth = scores(regressor, table, values, minus_loss, loss="absolute_error")
    np.testing.assert_allclose(found, truth, rtol=1e-4)


def test_the_scorer_decides_which_weights_are_kept(regressor, table, values):
    history = iter([0.1, 0.1, 0.9, 0.2, 0.3])  # one more, before the first epoch
    kept = []
    regressor.set_params(max_iter=4, early_stopping=4, scoring=lambda model, X, y: next(history))
    regressor.fit(table, values, after_epoch=lambda now: kept.append(now.predict(table)))
    np.testing.assert_array_equal(regressor.predict(table), kept[1])


def test_weights_of_the_rows_count_where_the_metric_takes_them(regressor, table, values):
    seen = []

    def error(y, predicted, sample_weight=None):
        seen.append(sample_weight)
        return 1.0

    weight = np.where(np.arange(60) % 2, 1.0, 3.0)
    regressor.set_params(max_iter=1, early_stopping=True, scoring=make_scorer(error))
    regressor.fit(table, values, weight)
    assert set(seen[0]) == {1.0, 3.0}
    regressor.fit(table, values)
    assert seen[-1] is None


def test_a_file_keeps_the_name_of_a_scorer_and_no_callable(regressor, table, values, tmp_path):
    regressor.set_params(max_iter=1, early_stopping=True)
    for scoring, kept in (("neg_max_error", "neg_max_error"), (lambda m, X, y: 1.0, None)):
        regressor.set_params(scoring=scoring).fit(table, values).save(tmp_path / "m")
        same = walkconv.load(tmp_path / "m")
        assert same.scoring == kept
        same.fit(table, values)


@pytest.mark.parametrize(
    ("scoring", "error", "message"),
    [
        ("roc-auc", ValueError, r"scoring must be .*; got 'roc-auc'\. Did you mean 'roc_auc'"),
        (["accuracy", "roc_auc"], TypeError, "scoring must be None, one name"),
        (7, TypeError, "scoring must be None, one name"),
        ("r2", ValueError, "must be able to score the validation rows; r2_score failed: could"),
        (lambda model, X, y: np.nan, ValueError, r"finite number .*; <lambda> gave nan"),
        (lambda model, X, y: None, ValueError, "<lambda> failed"),
    ],
)
def test_a_scorer_that_does_not_fit_is_refused_before_training(
    classifier, table, classes, scoring, error, message
):
    trained = []
    classifier.set_params(scoring=scoring, early_stopping=True)
    with pytest.raises(error, match=message):
        classifier.fit(table, classes, after_epoch=trained.append)
    assert not trained


def test_a_regressor_has_no_probabilities_to_score(regressor, table, values):
    regressor.set_params(scoring="roc_auc", early_stopping=True)
    with pytest.raises(ValueError, match="roc_auc_score failed"):
        regressor.fit(table, values)


def test_a_scorer_of_two_classes_needs_two_classes(table, rng):
    three = rng.integers(0, 3, len(table))
    model = GraphCNNClassifier("", scoring="roc_auc", early_stopping=True, max_iter=1)
    with pytest.raises(ValueError, match="scoring must"):
        model.fit(table, three)
    model.set_params(scoring="roc_auc_ovr").fit(table, three)


def test_a_scorer_without_validation_rows_is_only_checked(table, values):
    model = GraphCNNRegressor("", scoring="r2", max_iter=1, n_members=1).fit(table, values)
    assert "validation_score" not in model.history_[0]
    with pytest.raises(ValueError, match="Did you mean 'r2'"):
        model.set_params(scoring="R2").fit(table, values)
