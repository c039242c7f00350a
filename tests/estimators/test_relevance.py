"""Columns weighted by what they tell of y."""

import numpy as np
import pytest
import scipy.sparse as sp

from walkconv import GraphCNNClassifier, GraphCNNRegressor, load
from walkconv.tables.relevance import Relevance, find_counts, learn_relevance

SMALL = {"n_neighbors": 3, "max_iter": 3, "n_members": 1, "random_state": 0}


def learn(X, y, weight=None, soft_clip=None, **settings):
    weight = np.ones(len(y)) if weight is None else weight
    return learn_relevance(
        X, y, weight=weight, soft_clip=soft_clip, **{"is_classification": False} | settings
    )[0]


def test_the_weight_is_the_absolute_correlation_relative_to_its_mean(rng):
    X = rng.normal(size=(80, 5))
    y = X[:, 0] - 2 * X[:, 3] + rng.normal(size=80)
    expected = np.abs(np.corrcoef(X.T, y)[-1, :-1])
    weight = learn(X, y).weight[:, 0]
    np.testing.assert_allclose(weight, expected / expected.mean(), rtol=1e-4)


def test_two_classes_weigh_like_their_numbers(rng):
    X, y = rng.normal(size=(60, 4)), rng.integers(2, size=60)
    labels = np.array(["left", "right"])[y]
    by_class = learn(X, labels, is_classification=True).weight
    np.testing.assert_allclose(by_class, learn(X, y.astype(float)).weight, rtol=1e-4)


def test_weights_of_rows_count_like_repeated_rows(rng):
    X, y = rng.normal(size=(30, 4)), rng.normal(size=30)
    times = rng.integers(1, 4, size=30)
    # Centred beforehand: the scaling does not depend on the weights.
    X -= np.average(X, axis=0, weights=times)
    repeated = learn(np.repeat(X, times, axis=0), np.repeat(y, times)).weight
    np.testing.assert_allclose(learn(X, y, times.astype(float)).weight, repeated, atol=0.02)


def test_sparse_missing_and_constant_columns(rng):
    X = rng.poisson(1.0, size=(50, 6)).astype(float)
    X[:, 4] = 7
    y = X[:, 0] + rng.normal(size=50)
    dense, sparse = learn(X, y), learn(sp.csr_array(X), y)
    np.testing.assert_array_equal(dense.is_count, sparse.is_count)
    np.testing.assert_allclose(dense.weight, sparse.weight, rtol=1e-4, atol=1e-6)
    assert dense.weight[4, 0] == 0
    X[::7, 1] = np.nan
    assert np.isfinite(learn(X, y).weight).all()
    assert (learn(np.ones((20, 3)), y[:20]).weight == 1).all()


def test_counts_are_whole_numbers_from_zero_with_more_than_indicators():
    X = np.array([[0, 1, 0.5, -1, np.nan], [9, 0, 3, 5, 4]])
    assert find_counts(X)[:, 0].tolist() == [True, False, False, False, True]
    assert find_counts(sp.csr_array(np.nan_to_num(X)))[:, 0].tolist() == [
        True,
        False,
        False,
        False,
        True,
    ]


@pytest.mark.parametrize("kind", [GraphCNNRegressor, GraphCNNClassifier])
def test_a_model_keeps_its_relevance_in_the_file(rng, tmp_path, kind):
    X = rng.poisson(3.0, size=(40, 6)).astype(float)
    y = X[:, 0] if kind is GraphCNNRegressor else (X[:, 0] > 2).astype(int)
    model = kind("C2-FC4", standardize="relevance", **SMALL).fit(X, y)
    model.save(tmp_path / "m")
    np.testing.assert_array_equal(load(tmp_path / "m").predict(X), model.predict(X))
    assert (model.module_inputs(X)[0].std(dim=0)[0] > 1).all()  # the column that says most


def test_a_record_that_is_not_whole_is_refused():
    record = Relevance(np.zeros((2, 1), dtype=bool), np.ones((2, 1), dtype=np.float32))
    arrays = record.to_arrays()
    Relevance.from_arrays(arrays, (2, 1))
    with pytest.raises(ValueError, match="shape of the scaling"):
        Relevance.from_arrays(arrays, (3, 1))
    with pytest.raises(ValueError, match="finite and not negative"):
        Relevance.from_arrays(arrays | {"weight": -arrays["weight"]}, (2, 1))
    with pytest.raises(TypeError, match="bool and float32"):
        Relevance.from_arrays(arrays | {"weight": np.ones((2, 1))}, (2, 1))
