"""What rows are trained and tested on, where that is more than one fixed division."""

import json

import numpy as np
import pytest

from experiments import run
from experiments.data import Data, absolute_error, load_data
from experiments.fitted import Fitted, Run
from experiments.methods import METHODS
from experiments.moved import PER_CLASS, _halved
from experiments.rows import read_rows
from experiments.splits import hold_out, load_splits


def test_every_graph_is_tested_on_once_and_a_seed_is_another_division():
    folds = load_splits("mutag", seed=0, is_smoke=True)
    tested = [id(graph) for data in folds for graph in data.X_test]
    assert len(set(tested)) == len(tested) == len(folds[0].y_train) + len(folds[0].y_test)
    for data in folds:
        assert not {id(g) for g in data.X_train} & {id(g) for g in data.X_test}
        np.testing.assert_array_equal(np.bincount(data.y_test), [10, 10])
    other = load_splits("mutag", seed=1, is_smoke=True)
    assert {id(g) for g in other[0].X_test} != {id(g) for g in folds[0].X_test}


def test_the_score_of_folds_is_their_mean_accuracy(results, monkeypatch):
    wrong = iter([True, False])  # in the first fold, not in the second

    def fit(data, settings, run):
        y = 1 - data.y_test if next(wrong) else data.y_test
        return Fitted(lambda X: y)

    monkeypatch.setitem(METHODS, "network", fit)
    run.main(["mutag", "--row", "mlp", "--seeds", "0"])
    record = json.loads((results / "mutag" / "mlp.sound.0.json").read_text())
    assert record["scores"] == [0, 100]
    assert record["score"] == 50


def test_rows_of_traffic_are_an_hour_and_what_came_after_it():
    data = load_splits("traffic", is_smoke=True)[0]
    X, y = (
        np.concatenate(parts)
        for parts in ((data.X_train, data.X_test), (data.y_train, data.y_test))
    )
    np.testing.assert_array_equal(X[1:, :, :-1], X[:-1, :, 1:])
    np.testing.assert_array_equal(y[:-3], X[3:, :, -1] - X[:-3, :, -1])


def test_moments_held_back_come_after_those_trained_on():
    data = load_splits("traffic", is_smoke=True)[0]
    held = hold_out(data, seed=0)
    np.testing.assert_array_equal(np.concatenate([held.y_train, held.y_test]), data.y_train)


def test_forecasts_without_a_network_are_what_they_say():
    wave = np.tile(np.arange(6.0), 7)[:, None] * [1.0, 2.0]  # a day has 6 moments
    X, y = wave[:-1, :, None], np.diff(wave, axis=0)
    parts = (X[:20], y[:20], X[20:], y[20:])
    data = Data(*parts, "regression", period=6, measure=absolute_error)
    predictions = [
        METHODS[name](data, {}, Run(0)).predict(X[20:]) for name in ("daily", "last value")
    ]
    assert data.score(predictions[0]) < 1e-9
    assert data.score(predictions[1]) == np.abs(y[20:]).mean() > 1


def test_labelled_digits_are_few_of_each_class_and_drawn_by_the_seed():
    data = load_splits("transfer-digits", seed=0, is_smoke=True)[0]
    np.testing.assert_array_equal(np.bincount(data.y_train), [PER_CLASS] * 10)
    other = load_splits("transfer-digits", seed=1, is_smoke=True)[0]
    assert data.X_train.shape != other.X_train.shape or (data.X_train != other.X_train).any()
    assert data.source.X_train.shape[1] > data.X_train.shape[1]
    assert len(data.y_test) == len(load_data("grid", is_smoke=True).y_test)


def test_halved_pictures_are_the_means_of_their_blocks(rng):
    X = rng.normal(size=(3, 24))
    means = X.reshape(3, 4, 6)[:, 2:4, 0:2].mean(axis=(1, 2))
    np.testing.assert_allclose(_halved(X, (4, 6))[:, 3], means)


def test_the_halves_of_the_descriptors_have_no_column_in_common():
    whole = load_data("merck", is_smoke=True).X_train
    data = load_splits("transfer-metab", seed=3, is_smoke=True)[0]
    both = np.concatenate([data.X_train, data.source.X_train], axis=1)
    np.testing.assert_array_equal(np.sort(both, axis=1), np.sort(whole, axis=1))


@pytest.mark.parametrize("filters", ["frozen", "random"])
def test_frozen_filters_are_those_of_the_source_or_as_they_were_drawn(filters):
    data = load_splits("transfer-metab", is_smoke=True)[0]
    settings = {"architecture": "C3-FC4", "n_neighbors": 3, "filters": filters}

    def first_filters(max_iter: int) -> np.ndarray:
        fitted = METHODS["moved"](
            data, settings | {"max_iter": max_iter, "source": {"max_iter": 1}}, Run(0)
        )
        return fitted.predict.__self__.module_.convolutions[0].weight.detach().numpy()

    np.testing.assert_array_equal(first_filters(1), first_filters(2))


def test_published_rows_are_not_run():
    published = {row.key for row in read_rows("proteins") if not row.settings}
    assert published == {"dgcnn", "patchy-san", "dcnn"}
