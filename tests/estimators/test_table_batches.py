import numpy as np
import pytest
import scipy.sparse as sp
import torch

from walkconv.estimators.table_samples import TableBatches
from walkconv.networks import Network, NetworkPlan, parse_architecture
from walkconv.tables.scaling import Scaling, learn_scaling
from walkconv.training.batches import predict

CPU = torch.device("cpu")


def test_sparse_rows_are_scaled_like_dense_ones(rng):
    X = rng.normal(size=(20, 4)) * (rng.random((20, 4)) < 0.4) + 0.0
    X[:, 2] = 3.0
    dense, sparse = (
        TableBatches(form, learn_scaling(form), None, CPU).batch(np.arange(5))[0]
        for form in (X, sp.csr_array(X))
    )
    torch.testing.assert_close(dense, sparse)
    scaled = TableBatches(X, learn_scaling(X), None, CPU).batch(slice(None))[0][..., 0].numpy()
    np.testing.assert_allclose(scaled.mean(axis=0), 0, atol=1e-6)
    np.testing.assert_allclose(scaled.std(axis=0), [1, 1, 0, 1], atol=1e-6)


def test_scaling_ignores_missing_values_and_is_undone(rng, monkeypatch):
    monkeypatch.setattr("walkconv.tables.scaling.BLOCK_VALUES", 12)
    X = rng.normal(3, 2, size=(20, 4, 2))
    X[rng.random(X.shape) < 0.2] = np.nan
    scaling = learn_scaling(X)
    np.testing.assert_allclose(scaling.mean, np.nanmean(X, axis=0))
    np.testing.assert_allclose(scaling.deviation, np.nanstd(X, axis=0))
    np.testing.assert_allclose(scaling.undo(scaling.scale(X)), X, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_many_rows_far_from_zero_are_not_constant(rng, form):
    X = 1e12 + rng.random((3000, 2))
    X[:, 1] = 1e12 + 0.1
    X[::7] = np.nan
    scaling = learn_scaling(form(X))
    expected = np.nanstd(X[:, 0] - 1e12)
    np.testing.assert_allclose(scaling.deviation[:, 0], [expected, 1.0], rtol=1e-9)
    scaled = scaling.scale(X[:, :, None])[:, :, 0]
    np.testing.assert_allclose(np.nanmean(scaled, axis=0), [0.0, 0.0], atol=0.01)
    np.testing.assert_allclose(np.nanstd(scaled, axis=0), [1.0, 0.0], atol=1e-6)


@pytest.mark.parametrize("unit", [1e-200, 1e200])
def test_squares_of_small_and_large_values_keep_within_range(rng, unit):
    X = rng.normal(size=(50, 1))
    np.testing.assert_allclose(learn_scaling(unit * X).deviation, unit * X.std(), rtol=1e-12)


def test_far_values_are_pulled_in_smoothly(rng):
    X = rng.normal(size=(200, 1))
    X[0], X[1] = 1e6, np.nan
    scaling = learn_scaling(X[2:])
    plain, clipped = (
        TableBatches(X, scaling, soft_clip, CPU).batch(slice(None))[0].numpy().ravel()
        for soft_clip in (None, 3.0)
    )
    assert clipped[0] == pytest.approx(3)
    assert np.isnan(clipped[1])
    assert np.abs(clipped[2:]).max() < 3
    is_near = np.abs(plain) < 0.3
    np.testing.assert_allclose(clipped[is_near], plain[is_near], rtol=0.01)
    np.testing.assert_array_equal(np.argsort(clipped[2:]), np.argsort(plain[2:]))


def test_extreme_values_are_pulled_in_to_the_limit_and_are_not_missing():
    X = np.array([1e20, 1e40, 1e300, 1.7e308, -1e20, -1e40, -1.7e308, np.nan])[:, None]
    scaling = Scaling(np.zeros((1, 1)), np.full((1, 1), 0.5))
    clipped, missing = TableBatches(X, scaling, 3.0, CPU).batch(slice(None))
    np.testing.assert_allclose(clipped.numpy().ravel()[:-1], [3.0] * 4 + [-3.0] * 3)
    assert missing.ravel().tolist() == [False] * 7 + [True]


def test_prediction_takes_batches_in_order(rng):
    X = rng.normal(size=(10, 3))
    table = TableBatches(X, learn_scaling(X), None, CPU)
    layers = parse_architecture("FC8")
    network = Network(NetworkPlan(layers=layers, n_nodes=3, n_outputs=2, dropout=0.5))
    np.testing.assert_allclose(
        predict(network, table, 3), predict(network, table, 10), rtol=1e-5, atol=1e-6
    )
