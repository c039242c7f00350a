"""What is learned, from which rows, and what comes out."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import accuracy_score

from walkconv import GraphCNNClassifier, GraphCNNRegressor, correlation_graph
from walkconv.graphs.correlation import graph as learned
from walkconv.networks import Network
from walkconv.training import InterruptedFitWarning


def weights(model):
    tensors = [t for module in model.modules_ for t in module.state_dict().values()]
    return torch.cat([tensor.flatten().double() for tensor in tensors]).numpy()


def test_a_classifier_learns_and_says_what_it_learned(classifier, table, classes):
    model = classifier.fit(table, classes)
    assert model.score(table, classes) > 0.9
    assert model.classes_.tolist() == ["high", "low"]
    assert model.n_features_in_ == 7
    assert model.neighbors_.index.shape == (7, 3)
    assert isinstance(model.module_, Network)
    assert model.n_parameters_ == sum(p.numel() for p in model.module_.parameters())
    assert [record["epoch"] for record in model.history_] == list(range(1, 13))
    assert model.n_iter_ == 12
    np.testing.assert_allclose(model.graph_.toarray(), correlation_graph(table).toarray())


@pytest.mark.parametrize(
    ("settings", "n_edges"),
    [
        ({}, 4),
        ({"n_neighbors": 1}, 1),
        ({"n_neighbors": 9}, 8),
        ({"n_steps": 2}, 6),
        ({"n_steps": 2, "n_neighbors": 9}, 8),
        ({"order": [[column] for column in range(12)]}, 6),
        ({"architecture": "C2-P2"}, 6),
        ({"order": "auto"}, 6),
        ({"graph": "heat_kernel"}, 6),
        ({"graph": "supervised"}, 6),
    ],
)
def test_of_many_columns_no_more_edges_are_kept_than_are_used(rng, monkeypatch, settings, n_edges):
    X = rng.normal(size=(40, 12)).cumsum(axis=1)
    settings = {"architecture": "C2", "n_neighbors": 5, "max_iter": 1, "random_state": 0} | settings
    with_all = GraphCNNRegressor(**settings).fit(X, X[:, 0])
    monkeypatch.setattr(learned, "MANY_NODES", 11)
    monkeypatch.setattr(learned, "KEPT_EDGES", 6)
    model = GraphCNNRegressor(**settings).fit(X, X[:, 0])
    kept = sp.csr_array(model.graph_ - sp.diags_array(model.graph_.diagonal()))
    assert np.diff(kept.indptr).min() == n_edges  # at least, where either end keeps an edge
    if n_edges == settings["n_neighbors"] - 1 and settings.get("n_steps", 1) == 1:
        np.testing.assert_array_equal(model.neighbors_.index, with_all.neighbors_.index)
        np.testing.assert_array_equal(weights(model), weights(with_all))


def test_chances_sum_to_one_and_agree_with_the_classes(classifier, table, classes):
    model = classifier.fit(table, classes)
    chances = model.predict_proba(table)
    np.testing.assert_allclose(chances.sum(axis=1), 1, rtol=1e-5)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(table)), chances, rtol=1e-5)
    np.testing.assert_array_equal(model.classes_[chances.argmax(axis=1)], model.predict(table))


def test_a_regressor_undoes_the_scaling_of_its_target(regressor, table, values):
    model = regressor.fit(table, values)
    assert model.score(table, values) > 0.8
    moved = clone(regressor).fit(table, 1e4 * values - 7e6)
    np.testing.assert_allclose(moved.predict(table), 1e4 * model.predict(table) - 7e6, rtol=1e-4)


def test_columns_are_taken_as_they_are_when_asked(classifier, table, classes):
    model = classifier.set_params(standardize=False, soft_clip=None).fit(table, classes)
    x = torch.from_numpy(table[:, :, None]).float()
    with torch.no_grad():
        outputs = model.module_(x).numpy()
    np.testing.assert_array_equal(model.classes_[outputs.argmax(axis=1)], model.predict(table))
    assert model.score(table, classes) > 0.9
    moved = clone(model).fit(table - 100.0, classes)
    assert not np.allclose(weights(moved), weights(model))


def test_several_outputs(regressor, table, values):
    both = np.stack([values, -1000 * table[:, 4]], axis=1)
    model = regressor.fit(table, both)
    assert model.predict(table).shape == (60, 2)
    assert model.score(table, both) > 0.7
    column = clone(regressor).fit(table, values[:, None])
    assert column.predict(table).shape == (60, 1)


def test_the_graph_and_the_scaling_come_from_the_training_rows_alone(classifier, table, classes):
    held_out = (1e3 * table[:20] + 5, classes[:20])
    model = classifier.fit(table[20:], classes[20:], validation_data=held_out)
    np.testing.assert_allclose(model.graph_.toarray(), correlation_graph(table[20:]).toarray())
    np.testing.assert_allclose(model.scaling_.mean[:, 0], table[20:].mean(axis=0))
    plain = clone(classifier).fit(table[20:], classes[20:])
    np.testing.assert_array_equal(model.graph_.toarray(), plain.graph_.toarray())


def test_early_stopping_holds_rows_out_of_everything(classifier, table, classes):
    model = classifier.set_params(early_stopping=2, validation_fraction=0.4, max_iter=60)
    model.fit(table, classes)
    scores = [record["validation_score"] for record in model.history_]
    assert model.n_iter_ == len(scores) == int(np.argmax(scores)) + 1 + 2
    assert not np.allclose(model.scaling_.mean[:, 0], table.mean(axis=0))


def test_validation_data_is_scored_every_epoch_and_the_best_is_kept(classifier, table, classes):
    apart = table[:20], classes[:20]
    model = classifier.fit(table[20:], classes[20:], validation_data=apart)
    scores = [record["validation_score"] for record in model.history_]
    assert len(scores) == 12
    assert max(scores) == pytest.approx(accuracy_score(apart[1], model.predict(apart[0])))


@pytest.mark.parametrize("seed", [0, np.random.RandomState(3)])
def test_the_same_seed_gives_the_same_bits(regressor, table, values, seed):
    runs = []
    for _ in range(2):
        again = seed if isinstance(seed, int) else np.random.RandomState(3)
        runs.append(weights(clone(regressor).set_params(random_state=again).fit(table, values)))
    np.testing.assert_array_equal(*runs)
    other = clone(regressor).set_params(random_state=1).fit(table, values)
    assert not np.array_equal(weights(other), runs[0])


def test_no_seed_gives_other_weights_each_time(regressor, table, values):
    regressor.set_params(random_state=None)
    assert not np.array_equal(
        weights(clone(regressor).fit(table, values)), weights(clone(regressor).fit(table, values))
    )


def test_the_number_of_rows_decides_the_batches_by_default(regressor, table, values):
    regressor.set_params(max_iter=2)
    expected = clone(regressor).set_params(batch_size=16).fit(table, values)
    found = clone(regressor).set_params(batch_size="auto").fit(table, values)
    np.testing.assert_array_equal(weights(found), weights(expected))
    np.testing.assert_allclose(found.predict(table), expected.predict(table), rtol=1e-5)


def test_members_share_a_graph_and_are_averaged(classifier, table, classes):
    model = classifier.set_params(n_members=3).fit(table, classes)
    assert len(model.modules_) == 3
    assert model.module_ is model.modules_[0]
    tables = [module.convolutions[0].index for module in model.modules_]
    assert all(torch.equal(tables[0], other) for other in tables)
    alone = []
    for module in model.modules_:
        one = clone(classifier).set_params(n_members=1).fit(table, classes)
        one.modules_ = [module]
        alone.append(one.predict_proba(table))
    np.testing.assert_allclose(model.predict_proba(table), np.mean(alone, axis=0), rtol=1e-4)
    first = clone(classifier).set_params(n_members=1).fit(table, classes)
    np.testing.assert_allclose(alone[0], first.predict_proba(table))


def test_warm_start_continues_where_it_stopped(regressor, table, values):
    model = regressor.set_params(warm_start=True, max_iter=3).fit(table, values)
    before, loss = weights(model), model.history_[-1]["loss"]
    neighbors, scaling = model.neighbors_, model.scaling_
    model.set_params(learning_rate=1e-12).fit(table[:40], values[:40])
    np.testing.assert_allclose(weights(model)[:80], before[:80], atol=1e-6)
    assert model.neighbors_ is neighbors
    assert model.scaling_ is scaling
    assert model.n_iter_ == len(model.history_) == 6
    model.set_params(learning_rate=0.02, max_iter=12).fit(table, values)
    assert model.history_[-1]["loss"] < loss


def test_warm_start_refuses_another_network(regressor, table, values):
    model = regressor.set_params(warm_start=True, max_iter=1).fit(table, values)
    with pytest.raises(ValueError, match="warm_start needs the architecture"):
        model.set_params(architecture="C3-FC9").fit(table, values)
    with pytest.raises(ValueError, match="as in fit; got shape"):
        model.set_params(architecture="C3-FC8").fit(table, np.stack([values, values], axis=1))


def test_warm_start_refuses_other_positions(regressor, table, values):
    positions = np.arange(table.shape[1], dtype=float)[:, None]
    model = regressor.set_params(warm_start=True, max_iter=1, order=positions).fit(table, values)
    model.set_params(order=positions.copy()).fit(table, values)
    with pytest.raises(ValueError, match="warm_start needs"):
        model.set_params(order=positions[::-1]).fit(table, values)


def test_ctrl_c_keeps_what_was_learned(classifier, table, classes, monkeypatch):
    from walkconv.training.loop import Training

    run_epoch = Training.run_epoch

    def interrupted(self, *arguments):
        if self.epoch == 2:
            raise KeyboardInterrupt
        run_epoch(self, *arguments)

    monkeypatch.setattr(Training, "run_epoch", interrupted)
    with pytest.warns(InterruptedFitWarning, match="in epoch 3 of 12") as caught:
        classifier.fit(table, classes)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert classifier.n_iter_ == 2
    assert classifier.predict(table).shape == (60,)


def diverges(model, table, values):
    model.set_params(learning_rate=1e30).fit(table - 5, -1000 * values)


def has_bad_targets(model, table, values):
    model.fit(pd.DataFrame(table, columns=list("abcdefg")), np.full(60, np.nan))


def has_bad_validation_rows(model, table, values):
    model.fit(table, -1000 * values, validation_data=(table[:, :4], values))


def has_a_bad_graph(model, table, values):
    model.set_params(graph=np.eye(3)).fit(table - 5, -1000 * values)


def is_stopped(model, table, values):
    def stop(_):
        raise ValueError("enough")

    model.fit(table - 5, -1000 * values, after_epoch=stop)


FAILURES = [
    (diverges, "The loss must stay finite"),
    (has_bad_targets, "Input y contains NaN"),
    (has_bad_validation_rows, "X has 4 features"),
    (has_a_bad_graph, "The graph must have 7 nodes"),
    (is_stopped, "enough"),
]


@pytest.mark.parametrize(("fails", "message"), FAILURES)
def test_a_fit_that_fails_leaves_the_model_as_it_was(regressor, table, values, fails, message):
    regressor.set_params(max_iter=2)
    new = clone(regressor)
    with pytest.raises(ValueError, match=message):
        fails(new, table, values)
    with pytest.raises(NotFittedError):
        new.predict(table)
    expected = regressor.fit(table, values).predict(table)
    with pytest.raises(ValueError, match=message):
        fails(regressor, table, values)
    np.testing.assert_array_equal(regressor.predict(table), expected)


@pytest.mark.parametrize("kind", [GraphCNNClassifier, GraphCNNRegressor])
def test_outputs_that_overflow_on_validation_rows_have_diverged(kind, rng, with_attributes):
    X = rng.normal(size=(20, 3))
    y = X[:, 0] > 0
    model = kind("FC4", learning_rate=1e30, batch_size=20, max_iter=1)
    model = with_attributes(model, normalization=None)
    with pytest.raises(
        ValueError, match=r"validation rows must stay .* Lower learning_rate \(now 1e\+30\)"
    ):
        model.fit(X, y, validation_data=(X, y))


@pytest.mark.parametrize("kind", [GraphCNNClassifier, GraphCNNRegressor])
def test_nothing_before_fit(kind, table):
    with pytest.raises(NotFittedError):
        kind().predict(table)


@pytest.mark.parametrize("kind", [GraphCNNClassifier, GraphCNNRegressor])
def test_the_constructor_keeps_what_it_is_given(kind):
    given = {name: object() for name in kind().get_params()}
    assert kind(**given).get_params(deep=False) == given


BAD_SETTINGS = [
    ({"architecture": "C3-X"}, ValueError, "architecture cannot be read at position 4"),
    ({"architecture": "C3-P2x2"}, ValueError, "P2x2 needs a grid of 2 axes"),
    ({"architecture": None}, TypeError, "architecture must be a string"),
    ({"n_neighbors": 0}, ValueError, "n_neighbors must be at least 1; got 0"),
    ({"n_steps": -1}, ValueError, "n_steps must be at least 0; got -1"),
    (
        {"standardize": "yes"},
        TypeError,
        "standardize must be True, False, 'relevance' or 'auto'; got 'yes'",
    ),
    ({"soft_clip": 0}, ValueError, "soft_clip must be more than 0 and finite; got 0.0"),
    ({"dropout": 1.0}, ValueError, "dropout must be at least 0 and less than 1; got 1.0"),
    ({"conv_dropout": -0.1}, ValueError, "conv_dropout must be at least 0"),
    ({"solver": "sgd"}, ValueError, "solver must be one of 'adamw', 'adam', 'rmsprop'"),
    ({"schedule": "cosine"}, ValueError, "schedule must be one of 'one_cycle', 'constant'"),
    ({"learning_rate": 0}, ValueError, "learning_rate must be more than 0 and finite; got 0.0"),
    ({"learning_rate": "fast"}, TypeError, "learning_rate must be a number; got 'fast'"),
    ({"weight_decay": float("nan")}, ValueError, "weight_decay must be at least 0"),
    ({"batch_size": 1}, ValueError, "batch_size must be at least 2; got 1"),
    ({"batch_size": "all"}, ValueError, "batch_size must be one of 'auto'; got 'all'"),
    ({"max_iter": 0}, ValueError, "max_iter must be at least 1; got 0"),
    ({"early_stopping": "yes"}, TypeError, "early_stopping must be True, False or a number"),
    ({"validation_fraction": 1.0}, ValueError, "validation_fraction must be more than 0"),
    ({"early_stopping": 0}, ValueError, "early_stopping must be at least 1; got 0"),
    ({"n_members": 0}, ValueError, "n_members must be at least 1"),
    ({"warm_start": 1}, TypeError, "warm_start must be True or False; got 1"),
    ({"device": "abacus"}, ValueError, "device must be 'auto' or a device of torch"),
    ({"device": "cuda:99"}, ValueError, r"'cuda:99' is not available \(.*\); use 'auto' or 'cpu'"),
    ({"graph": None}, ValueError, "An architecture with C layers needs a graph"),
    ({"graph": "corelation"}, ValueError, "'correlation', 'knn', 'heat_kernel'.*got 'corelation'"),
    ({"graph": np.eye(6)}, ValueError, "must have 7 nodes, one for each name or column; it has 6"),
]


@pytest.mark.parametrize(("settings", "error", "message"), BAD_SETTINGS)
def test_bad_settings(regressor, table, values, settings, error, message):
    with pytest.raises(error, match=message):
        regressor.set_params(**settings).fit(table, values)


def test_one_validation_row_is_too_few(regressor, table, values):
    with pytest.raises(ValueError, match=r"at least two validation rows; got 1\. Raise"):
        regressor.fit(table, values, validation_data=(table[:1], values[:1]))


def test_bad_targets(classifier, regressor, table, classes, values):
    with pytest.raises(ValueError, match="at least two classes; got one class: 'a'\\."):
        classifier.fit(table, np.full(60, "a"))
    with pytest.raises(ValueError, match="Unknown label type"):
        classifier.fit(table, values)
    apart = (table, np.full(60, "middle"))
    with pytest.raises(ValueError, match=r"classes of the training rows.*got 'middle'\."):
        classifier.fit(table, classes, validation_data=apart)
    with pytest.raises(TypeError, match=r"validation_data must be a pair \(X, y\)"):
        regressor.fit(table, values, validation_data=table)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["zebra"] + ["a", "b"] * 20, r"two rows of each class.*'zebra' has 1"),
        (["a", "b", "c", "d", "e", "f"] * 2, r"at least as many .*classes \(6\); got 2.*fraction"),
    ],
)
def test_rows_for_early_stopping_must_hold_every_class(classifier, rng, labels, message):
    X = rng.normal(size=(len(labels), 4))
    with pytest.raises(ValueError, match=message):
        classifier.set_params(early_stopping=True).fit(X, labels)


@pytest.mark.parametrize("weights_of", [(0, 0), (-1, 1), (np.nan, 1), (np.inf, 1)])
def test_weights_of_classes_must_leave_something_to_learn(classifier, table, classes, weights_of):
    class_weight = dict(zip(["high", "low"], weights_of, strict=True))
    with pytest.raises(ValueError, match=r"class_weight must .*got"):
        classifier.set_params(class_weight=class_weight).fit(table, classes)


@pytest.mark.parametrize("y", [["1", "2"] * 30, np.array(["2020-01-01"] * 60, "M8[D]")])
def test_what_a_regressor_predicts_must_be_numbers(regressor, table, y):
    with pytest.raises(TypeError, match="y must hold real numbers; got"):
        regressor.fit(table, y)


@pytest.mark.parametrize(
    "changed", [{"graph": "knn"}, {"standardize": False}, {"soft_clip": None}, {"graph": np.eye(7)}]
)
def test_warm_start_refuses_other_columns(regressor, table, values, changed):
    model = regressor.set_params(warm_start=True, max_iter=1).fit(table, values)
    with pytest.raises(ValueError, match="warm_start needs the C and P layers, graph"):
        model.set_params(**changed).fit(table, values)


def test_warm_start_takes_an_equal_graph(regressor, table, values):
    model = regressor.set_params(warm_start=True, max_iter=1, graph=np.eye(7)).fit(table, values)
    model.set_params(graph=np.eye(7)).fit(table, values)
    assert model.n_iter_ == 2


def test_warm_start_uses_the_class_weights_of_now(classifier, table, classes):
    def fit_twice(first, second):
        model = clone(classifier).set_params(warm_start=True, max_iter=1, class_weight=first)
        model.fit(table, classes)
        return weights(model.set_params(class_weight=second).fit(table, classes))

    heavy = {"high": 20, "low": 1}
    assert not np.array_equal(fit_twice(None, heavy), fit_twice(None, None))


def test_a_device_set_after_the_fit_does_not_move_the_model(regressor, table, values):
    model = regressor.fit(table, values)
    expected = model.predict(table)
    np.testing.assert_array_equal(model.set_params(device="meta").predict(table), expected)
