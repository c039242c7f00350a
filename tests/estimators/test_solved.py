"""A linear model that is solved: equal to scikit-learn's solutions, and to itself in parts."""

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.preprocessing import StandardScaler

from walkconv import GraphCNNClassifier, GraphCNNRegressor, load
from walkconv.training.lbfgs import LBFGS

SOLVED = {"solver": "lbfgs", "soft_clip": None, "n_members": 1, "max_iter": 1}


def test_a_solved_regression_is_ridge_regression(table, values):
    n_rows, scale = len(table), values.std()
    model = GraphCNNRegressor("", weight_decay=0.2, **SOLVED).fit(table, values / scale)
    X = StandardScaler().fit_transform(table)
    ridge = Ridge(alpha=0.1 * n_rows).fit(X, values / scale)
    np.testing.assert_allclose(model.predict(table), ridge.predict(X), atol=5e-3)
    assert len(model.history_) == 1


def test_a_solved_classification_is_logistic_regression(table, classes):
    penalty = 0.05
    model = GraphCNNClassifier("", weight_decay=penalty, **SOLVED).fit(table, classes)
    X = StandardScaler().fit_transform(table)
    n_outputs = len(np.unique(classes))
    # Two outputs share what scikit-learn gives to one.
    C = (2 if n_outputs == 2 else 1) / (penalty * len(X))
    logistic = LogisticRegression(C=C, max_iter=1000, tol=1e-8).fit(X, classes)
    np.testing.assert_allclose(model.predict_proba(table), logistic.predict_proba(X), atol=5e-3)


def test_rows_of_weight_two_count_twice(table, values):
    twice = np.arange(len(table)) < 10
    weighted = GraphCNNRegressor("", standardize=False, **SOLVED).fit(table, values, 1 + twice)
    rows = np.concatenate([np.arange(len(table)), np.flatnonzero(twice)])
    mean, deviation = values.mean(), values.std()
    repeated = GraphCNNRegressor("", standardize=False, **SOLVED).fit(table[rows], values[rows])
    error = np.abs(weighted.predict(table) - repeated.predict(table))
    assert error.max() < 0.02 * (abs(mean) + deviation)  # y is scaled by other deviations


def test_further_epochs_start_at_the_minimum(table, values):
    once = GraphCNNRegressor("", **SOLVED).fit(table, values)
    often = GraphCNNRegressor("", **SOLVED | {"max_iter": 5}).fit(table, values)
    np.testing.assert_allclose(often.predict(table), once.predict(table), atol=1e-2)
    assert often.n_iter_ == 5


def test_a_solution_can_be_continued_and_saved(table, values, tmp_path):
    def stop(model):
        if model.n_iter_ == 2:
            raise RuntimeError("stopped")

    settings = SOLVED | {"max_iter": 3, "random_state": 0}
    whole = GraphCNNRegressor("", **settings).fit(table, values)
    path = tmp_path / "c"
    with pytest.raises(RuntimeError, match="stopped"):
        GraphCNNRegressor("", **settings).fit(table, values, checkpoint=path, after_epoch=stop)
    model = GraphCNNRegressor("", **settings).fit(table, values, checkpoint=path)
    np.testing.assert_array_equal(model.predict(table), whole.predict(table))
    model.save(tmp_path / "m")
    np.testing.assert_array_equal(load(tmp_path / "m").predict(table), whole.predict(table))


def test_only_linear_models_are_solved(table, values):
    with pytest.raises(ValueError, match="solver='lbfgs' solves linear models: architecture must"):
        GraphCNNRegressor("FC8", solver="lbfgs").fit(table, values)


def test_a_solution_that_is_stopped_keeps_the_best_weights_so_far():
    weight, curvature = torch.nn.Parameter(torch.tensor([[4.0, -3.0]])), torch.tensor([[1.0, 30.0]])
    seen: list[float] = []

    def loss():
        if len(seen) == 3:
            raise StopIteration
        now = weight.detach()
        weight.grad = 2 * now * curvature
        seen.append(float((now.square() * curvature).sum()))
        return (now.square() * curvature).sum()

    assert float(LBFGS([weight]).step(loss)) == min(seen)
    assert float((weight.detach().square() * curvature).sum()) == min(seen)
    assert seen[1] != min(seen) or seen[2] != min(seen)


def test_a_bias_has_no_penalty():
    bias = torch.nn.Parameter(torch.zeros(2))

    def loss():
        bias.grad = bias.detach() - 1
        return (bias.detach() - 1).square().sum() / 2

    LBFGS([bias], weight_decay=100.0).step(loss)
    np.testing.assert_allclose(bias.detach(), 1, atol=1e-4)
