"""What training makes small, and that predictions are on the scale that goes with it."""

import numpy as np
import pytest
import torch
from sklearn.base import clone
from torch.nn import functional

import walkconv
from walkconv import GraphCNNClassifier, GraphCNNRegressor, ModelFileError, persistence
from walkconv.training.losses import REGRESSION, Loss, check_loss

N_TRAINED = 1200


@pytest.fixture(scope="module")
def noisy():
    """Rows whose target has a mean and a spread that depend on the row: X, mean, spread."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 5)).cumsum(axis=1)
    return X, X[:, 1] - 0.5 * X[:, 3], 0.3 + 0.5 * np.abs(X[:, 0])


def model(**settings):
    usual = {"n_members": 1, "max_iter": 10, "learning_rate": 0.01, "dropout": 0.1}
    return GraphCNNRegressor("FC32", **usual | {"random_state": 0} | settings)


def split(*arrays):
    return [part for each in arrays for part in (each[:N_TRAINED], each[N_TRAINED:])]


@pytest.mark.parametrize("quantile", [0.1, 0.5, 0.9])
def test_a_quantile_is_above_its_share_of_new_values(noisy, quantile):
    X, mean, spread = noisy
    y = mean + spread * np.random.default_rng(1).normal(size=len(X))
    X, X_new, y, y_new = split(X, y)
    found = model(loss=("quantile", quantile)).fit(X, y).predict(X_new)
    assert abs((y_new <= found).mean() - quantile) < 0.06
    shifted = model(loss=("quantile", quantile)).fit(X, 1e4 + 100 * y).predict(X_new)
    np.testing.assert_allclose(shifted, 1e4 + 100 * found, rtol=1e-3)


@pytest.mark.parametrize("loss", ["absolute_error", "huber"])
def test_far_values_do_not_move_a_robust_loss(noisy, loss):
    X, mean, _ = noisy
    rng = np.random.default_rng(2)
    y = mean + np.where(rng.random(len(X)) < 0.05, 1000 * rng.normal(size=len(X)), 0)
    X, X_new, y, _, _, mean_new = split(X, y, mean)

    def error(settings):
        return np.abs(model(**settings).fit(X, y).predict(X_new) - mean_new).mean()

    assert error({"loss": loss}) < 0.3
    assert error({}) > 1


def test_poisson_predicts_the_positive_mean_of_counts(noisy):
    X, mean, _ = noisy
    rate = np.exp(0.4 * mean)
    y = np.random.default_rng(3).poisson(rate).astype(float)
    X, X_new, y, _, _, rate_new = split(X, y, rate)
    poisson = model(loss="poisson", n_members=2).fit(X, y)
    found = poisson.predict(X_new)
    assert found.min() > 0
    assert abs(found.mean() / rate_new.mean() - 1) < 0.1
    assert np.abs(found - rate_new).mean() < 0.25
    two = model(loss="poisson", max_iter=2).fit(X, np.stack([y, 10 * y], axis=1)).predict(X_new)
    assert two.shape == (len(X_new), 2)
    assert abs(two[:, 1].mean() / two[:, 0].mean() - 10) < 2


def test_members_of_a_poisson_model_are_averaged_as_predictions(noisy):
    X, mean, _ = noisy
    poisson = model(loss="poisson", n_members=2, max_iter=1).fit(X, np.exp(mean))
    outputs = np.stack(poisson._outputs(X)).astype(np.float64)[:, :, 0]
    scale = poisson.target_scaling_.deviation.item()
    np.testing.assert_allclose(poisson.predict(X), scale * np.exp(outputs).mean(axis=0))


OUTPUTS = torch.tensor([[0.0, 2.0], [-1.0, 0.5]])
TARGET = torch.tensor([[1.0, 0.5], [3.0, 0.5]])
BY_HAND = {
    "squared_error": (0.0, [(1 + 2.25) / 2, 16 / 2]),
    "absolute_error": (0.0, [(1 + 1.5) / 2, 4 / 2]),
    "huber": (0.0, [(0.5 + 1.0) / 2, 3.5 / 2]),
    "quantile": (0.9, [(0.9 + 0.15) / 2, 3.6 / 2]),
    "poisson": (0.0, [(1 - 0 + np.exp(2) - 1) / 2, (np.exp(-1) + 3 + np.exp(0.5) - 0.25) / 2]),
}


@pytest.mark.parametrize("name", BY_HAND)
def test_losses_by_hand(name):
    parameter, expected = BY_HAND[name]
    found = Loss(name, parameter).of_rows(OUTPUTS, TARGET)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_smoothed_labels_make_a_classifier_less_sure(table, classes):
    settings = {"max_iter": 20, "learning_rate": 0.02, "random_state": 0, "dropout": 0.0}
    sure = GraphCNNClassifier("FC16", **settings).fit(table, classes)
    careful = GraphCNNClassifier("FC16", **settings, loss=("cross_entropy", 0.3)).fit(
        table, classes
    )
    assert sure.predict_proba(table).max(axis=1).mean() > 0.9
    assert 0.7 < careful.predict_proba(table).max(axis=1).mean() < 0.87


def test_a_function_that_is_the_usual_loss_gives_the_usual_model(table, classes, values):
    def squares(outputs, target):
        return (outputs - target).square().mean(dim=1)

    def entropy(outputs, target):
        return functional.cross_entropy(outputs, target, reduction="none")

    for kind, y, loss in (
        (GraphCNNRegressor, values, squares),
        (GraphCNNClassifier, classes, entropy),
    ):
        settings = {"architecture": "FC4", "max_iter": 2, "n_members": 1, "random_state": 0}
        expected = kind(**settings).fit(table, y)
        found = kind(**settings, loss=loss).fit(table, y)
        np.testing.assert_array_equal(found._outputs(table)[0], expected._outputs(table)[0])


def test_a_file_keeps_the_name_of_a_loss(table, values, tmp_path):
    fitted = model(loss=("quantile", np.float64(0.25)), max_iter=1).fit(table, values)
    fitted.save(tmp_path / "m")
    same = walkconv.load(tmp_path / "m")
    assert same.loss == clone(same).loss == ("quantile", 0.25)
    np.testing.assert_array_equal(same.predict(table), fitted.predict(table))
    same.set_params(warm_start=True).fit(table, values)


def test_a_file_does_not_keep_a_function_and_says_so(table, values, tmp_path):
    def squares(outputs, target):
        return (outputs - target).square().mean(dim=1)

    fitted = model(loss=squares, max_iter=1).fit(table, values)
    fitted.save(tmp_path / "m")
    same = walkconv.load(tmp_path / "m")
    assert same.loss is None
    np.testing.assert_array_equal(same.predict(table), fitted.predict(table))
    with pytest.raises(ValueError, match="which a file does not keep"):
        same.fit(table, values)
    same.set_params(loss=squares).fit(table, values)


@pytest.mark.parametrize(
    "change",
    [
        {"name": "magic"},
        {"name": "cross_entropy"},
        {"name": "quantile"},
        {"parameter": 2},
        {"parameter": "x"},
    ],
)
def test_a_damaged_loss_in_a_file_is_refused(table, values, tmp_path, change):
    model(loss="huber", max_iter=1).fit(table, values).save(tmp_path / "m")
    arrays, content = persistence.read_file(tmp_path / "m", "model")
    content["target"]["loss"] |= change
    persistence.write_file(tmp_path / "m", "model", arrays, content)
    with pytest.raises(ModelFileError):
        walkconv.load(tmp_path / "m")


def test_a_warm_start_keeps_the_loss(table, values):
    fitted = model(loss="huber", max_iter=1, warm_start=True).fit(table, values)
    fitted.fit(table, values)
    with pytest.raises(ValueError, match="needs the loss of the first fit, 'huber'; got 'squared"):
        fitted.set_params(loss="squared_error").fit(table, values)
    fitted = model(loss="quantile", max_iter=1, warm_start=True).fit(table, values)
    with pytest.raises(ValueError, match=r"first fit, 'quantile'; got \('quantile', 0.9\)"):
        fitted.set_params(loss=("quantile", 0.9)).fit(table, values)


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"loss": "squared"}, ValueError, "loss must be one of .* Did you mean 'squared_error'"),
        ({"loss": 3}, ValueError, r"loss must be one of .*; got 3 \(int\)"),
        ({"loss": "cross_entropy"}, ValueError, "loss must be one of 'squared_error'"),
        ({"loss": "quantil"}, ValueError, r"such as \('quantile', 0.9\), .* mean 'quantile'\?"),
        ({"loss": ["quantile", 0.9]}, ValueError, r"a pair such as .*; got \['qu.* \(list\)"),
        ({"loss": ("quantile",)}, ValueError, r"a pair such as .*; got \('quantile',\) \(tuple"),
        ({"loss": ("quantile", 1.0)}, ValueError, "the quantile in loss must be more than 0 and"),
        ({"loss": ("quantile", "high")}, TypeError, "the quantile in loss must be a number"),
        ({"loss": ("huber", 0.5)}, ValueError, "loss='huber' goes without a number; got"),
        ({"loss": "poisson"}, ValueError, "needs y without negative values"),
        ({"loss": lambda o, t: (o - t).mean()}, TypeError, r"of shape \(16,\), one number for"),
        ({"loss": lambda o, t: 1.0}, TypeError, r"of shape \(16,\), one number for"),
    ],
)
def test_a_loss_that_cannot_be_is_refused(table, values, settings, error, message):
    with pytest.raises(error, match=message):
        model(**settings).fit(table, values - 1000)


@pytest.mark.parametrize(
    ("loss", "message"),
    [
        (("cross_entropy", 1.0), "label smoothing in loss must be at least 0 and less than 1"),
        ("entropy", r"'cross_entropy', a pair such as \('cross_entropy', 0.1\), or a function"),
    ],
)
def test_a_loss_of_a_classifier_that_cannot_be_is_refused(table, classes, loss, message):
    with pytest.raises(ValueError, match=message):
        GraphCNNClassifier(loss=loss).fit(table, classes)


def test_counts_that_are_all_zero_are_refused(table):
    with pytest.raises(ValueError, match="and a value above 0"):
        model(loss="poisson").fit(table, np.zeros(len(table)))


def test_a_column_of_equal_values_has_a_robust_scale(table):
    y = np.where(np.arange(len(table)) % 10 == 0, 5.0, 1.0)  # the quartiles are equal
    fitted = model(loss="absolute_error", max_iter=1).fit(table, y)
    assert fitted.target_scaling_.mean.item() == 1
    np.testing.assert_allclose(fitted.target_scaling_.deviation, [[y.std()]])


def test_losses_with_one_name_are_equal():
    assert check_loss("huber", REGRESSION) == Loss("huber")
    assert check_loss("quantile", REGRESSION) == check_loss(("quantile", 0.5), REGRESSION)
    assert check_loss("quantile", REGRESSION) != check_loss(("quantile", 0.4), REGRESSION)
