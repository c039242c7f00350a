import numpy as np
import pytest
import torch
from scipy.special import log_softmax, softmax
from sklearn.metrics import log_loss

import walkconv
from walkconv import GraphCNNClassifier, GraphCNNRegressor, GraphSample, ModelFileError
from walkconv.estimators.classifier import Classes
from walkconv.estimators.fitting import train
from walkconv.estimators.regressor import Values
from walkconv.persistence import read_file, write_file
from walkconv.tables.scaling import Scaling

QUICK = {"n_neighbors": 3, "max_iter": 5, "random_state": 0, "n_members": 2}
UNIT = Scaling(np.zeros((1, 1)), np.ones((1, 1)))


@pytest.fixture
def calibrated(table, values):
    return GraphCNNRegressor("FC4", **QUICK).fit(table, values, calibrate=True)


def test_the_half_width_is_the_conformal_quantile_by_hand():
    """Of nine errors a coverage of 0.8 takes the eighth, 0.9 the ninth, and no more is possible."""
    y = np.arange(9.0)[:, None]
    target, temperature = Values(UNIT, False).calibrated(np.zeros((1, 9, 1)), -y[::-1])
    assert temperature == 1
    assert target.residuals.ravel().tolist() == list(range(9))
    assert target.half_width(0.8) == 7
    assert target.half_width(0.9) == 8
    with pytest.raises(ValueError, match=r"coverage must be at most 0\.9 with 9 calibration rows"):
        target.half_width(0.91)


def test_intervals_of_noise_hold_the_share_that_was_asked():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 5))
    y = 100 * X[:, 0] + 50 * rng.standard_t(4, size=900)
    model = GraphCNNRegressor("", random_state=0, learning_rate=0.02)
    model.fit(X[:400], y[:400], calibrate=True)
    for coverage in (0.5, 0.9):
        low, high = model.predict_interval(X[400:], coverage=coverage).T
        held = ((low <= y[400:]) & (y[400:] <= high)).mean()
        assert held == pytest.approx(coverage, abs=0.06)


def test_intervals_lie_around_the_prediction_in_the_shape_that_is_told(calibrated, table, values):
    found = calibrated.predict_interval(table)
    assert found.shape == (60, 2)
    np.testing.assert_allclose(found.mean(axis=1), calibrated.predict(table))
    wider = calibrated.predict_interval(table, coverage=0.95)
    assert (wider[:, 1] > found[:, 1]).all()
    assert (wider[:, 0] < found[:, 0]).all()
    Y = np.column_stack([values, 1000 * values])
    both = GraphCNNRegressor("FC4", **QUICK).fit(table, Y, calibrate=True)
    widths = np.ptp(both.predict_interval(table), axis=2)
    assert widths.shape == (60, 2)
    assert (widths[:, 1] > 100 * widths[:, 0]).all()


def test_every_row_has_a_residual_of_a_network_that_did_not_see_it(rng):
    """A network that has learned noise by heart still knows how large it is."""
    X, y = rng.normal(size=(60, 7)), rng.normal(size=60)
    settings = {"max_iter": 40, "learning_rate": 0.02, "dropout": 0.0, "random_state": 0}
    model = GraphCNNRegressor("FC64", n_members=1, **settings).fit(X, y, calibrate=True)
    assert model.residuals_.shape == (60, 1)
    assert np.median(model.residuals_) > 2 * np.median(np.abs(model.predict(X) - y))


def test_calibration_does_not_change_the_weights(calibrated, table, values):
    plain = GraphCNNRegressor("FC4", **QUICK).fit(table, values)
    np.testing.assert_array_equal(plain.predict(table), calibrated.predict(table))
    assert plain.residuals_ is None
    assert plain.history_[0]["loss"] == calibrated.history_[0]["loss"]


@pytest.mark.parametrize(("how", "settings"), [(True, {"architecture": "FC4"}), ("auto", {})])
def test_errors_are_those_of_all_members_unless_the_fit_calibrates_by_itself(
    table, values, monkeypatch, how, settings
):
    fitted = []

    def noted(*args):
        fitted.append(train(*args))
        return fitted[-1]

    monkeypatch.setattr("walkconv.estimators.calibrating.train", noted)
    GraphCNNRegressor(**settings, n_members=3, max_iter=2).fit(table, values, calibrate=how)
    assert [len(each.modules) for each in fitted] == [3 if how is True else 1] * 5


def test_a_plain_fit_of_values_knows_its_intervals(table, values):
    model = GraphCNNRegressor(max_iter=2, random_state=0).fit(table, values)
    assert model.predict_interval(table).shape == (60, 2)
    off = GraphCNNRegressor(max_iter=2, random_state=0).fit(table, values, calibrate=False)
    np.testing.assert_array_equal(off.predict(table), model.predict(table))
    with pytest.raises(ValueError, match="calibrate=True"):
        off.predict_interval(table)


def test_an_architecture_of_yours_is_calibrated_only_if_you_say_so(table, values):
    model = GraphCNNRegressor("FC4", **QUICK).fit(table, values)
    with pytest.raises(ValueError, match="calibrate=True"):
        model.predict_interval(table)


def test_graphs_and_missing_values_can_be_calibrated(table, values):
    table[::4, 2] = np.nan
    model = GraphCNNRegressor("C2-FC4", **QUICK).fit(table, values, calibrate=True)
    assert np.isfinite(model.predict_interval(table)).all()
    graphs = [GraphSample(walkconv.grid_graph((n,)), tags=np.arange(n) % 3) for n in range(3, 23)]
    model = GraphCNNRegressor("C2-Gsum-FC4", **QUICK)
    model.fit(graphs, np.arange(20.0), calibrate=True)
    assert model.predict_interval(graphs).shape == (20, 2)


def test_a_file_keeps_the_intervals_and_damaged_residuals_are_refused(calibrated, table, tmp_path):
    calibrated.save(tmp_path / "m")
    loaded = walkconv.load(tmp_path / "m")
    np.testing.assert_array_equal(
        loaded.predict_interval(table), calibrated.predict_interval(table)
    )
    arrays, content = read_file(tmp_path / "m", "model")
    for damage in (
        arrays["target.residuals"][::-1],
        -arrays["target.residuals"],
        arrays["target.residuals"] * np.nan,
        arrays["target.residuals"][:, [0, 0]],
        arrays["target.residuals"][:0],
        arrays["target.residuals"].astype(np.float32),
    ):
        write_file(tmp_path / "d", "model", arrays | {"target.residuals": damage}, content)
        with pytest.raises(ModelFileError, match="residuals"):
            walkconv.load(tmp_path / "d")


def test_the_temperature_cools_outputs_that_are_too_sure():
    rng = np.random.default_rng(0)
    true = rng.normal(size=(4000, 3))
    y = np.array([rng.choice(3, p=p) for p in softmax(true, axis=1)])
    _, temperature = Classes(np.arange(3)).calibrated(5 * true[None], y)
    assert temperature == pytest.approx(5, rel=0.1)


def test_calibrated_probabilities_fit_new_rows_better_and_classes_stay():
    """A network that has learned its rows by heart is too sure of itself."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 10))
    y = np.where(X[:, 0] + 1.5 * rng.normal(size=400) > 0, "high", "low")
    settings = {"max_iter": 30, "learning_rate": 0.01, "dropout": 0.0, "random_state": 0}
    plain = GraphCNNClassifier("FC64", **settings).fit(X[:200], y[:200])
    model = GraphCNNClassifier("FC64", **settings).fit(X[:200], y[:200], calibrate=True)
    assert (plain.predict(X) == model.predict(X)).all()
    losses = [log_loss(y[200:], each.predict_proba(X[200:])) for each in (plain, model)]
    assert losses[1] < 0.9 * losses[0]
    outputs = [each._outputs(X)[0] for each in (plain, model)]
    ratio = outputs[0] / outputs[1]
    assert ratio.mean() > 1.5
    np.testing.assert_allclose(ratio, ratio.mean(), rtol=1e-3)
    # A loaded model and what is exported have the same outputs: the last layer holds them.
    chance = np.exp(log_softmax(outputs[1], axis=1))
    np.testing.assert_allclose(model.predict_proba(X), chance, rtol=1e-5)


def test_members_spread_where_they_disagree(calibrated, table, classes):
    spread = calibrated.predict_spread(table)
    each = [calibrated.target_scaling_.undo(out[:, :, None]) for out in calibrated._outputs(table)]
    np.testing.assert_allclose(spread, np.std(each, axis=0, ddof=1)[:, 0, 0])
    classifier = GraphCNNClassifier("FC4", **QUICK).fit(table, classes)
    assert classifier.predict_spread(table).shape == (60, 2)
    classifier.set_params(n_members=1).fit(table, classes)
    with pytest.raises(ValueError, match="Raise n_members"):
        classifier.predict_spread(table)


def test_wrong_arguments_are_named(calibrated, table, values, classes):
    with pytest.raises(ValueError, match="coverage must be"):
        calibrated.predict_interval(table, coverage=1.0)
    with pytest.raises(ValueError, match="calibrate must be True, False or 'auto'"):
        GraphCNNRegressor("FC4", **QUICK).fit(table, values, calibrate="yes")


def test_what_cannot_be_calibrated_is_refused_before_training(table, values, classes, monkeypatch):
    class Own(GraphCNNClassifier):
        def make_network(self, plan):
            return torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(7, plan.n_outputs))

    monkeypatch.setattr("walkconv.estimators.fitting.train_members", None)
    with pytest.raises(ValueError, match="calibrate=True needs at least 10 rows; got 9"):
        GraphCNNRegressor("FC4", **QUICK).fit(table[:9], values[:9], calibrate=True)
    with pytest.raises(ValueError, match="calibrate needs the networks of walkconv"):
        Own("FC4", **QUICK).fit(table, classes, calibrate=True)


def test_calibration_and_a_time_limit_exclude_each_other(rng):
    X = rng.normal(size=(40, 4))
    model = GraphCNNRegressor("FC4", time_limit=1)
    with pytest.raises(ValueError, match="calibrate=True does not go with a time_limit"):
        model.fit(X, X[:, 0], calibrate=True)
