"""Products in bfloat16 and float16: layers, training and prediction under autocast."""

import numpy as np
import pytest
import torch

from walkconv import (
    GraphCNNClassifier,
    GraphCNNRegressor,
    GraphConv,
    GraphPool,
    GraphReadout,
    coarsen,
    graph_conv,
    grid_graph,
    select_neighbors,
)
from walkconv.training.loop import products_in

SHORT = [torch.bfloat16, torch.float16]
CPU = torch.device("cpu")


@pytest.fixture
def neighbors():
    return select_neighbors(grid_graph((4, 4)), n_neighbors=5)


@pytest.mark.parametrize("dtype", SHORT)
@pytest.mark.parametrize("has_short_input", [False, True])
def test_the_convolution_runs_in_the_type_of_its_weights(neighbors, dtype, has_short_input):
    layer = GraphConv(2, 3, neighbors)
    x = torch.randn(6, 16, 2)
    x = (x.to(dtype) if has_short_input else x).requires_grad_()
    expected = layer(x.detach().float())
    with torch.autocast("cpu", dtype=dtype):
        found = layer(x)
    assert found.dtype == torch.float32
    torch.testing.assert_close(found, expected)
    found.sum().backward()
    assert x.grad.dtype == x.dtype
    assert layer.weight.grad.dtype == torch.float32
    assert x.grad.isfinite().all()


@pytest.mark.parametrize("dtype", SHORT)
def test_short_weights_give_a_short_convolution_near_the_exact_one(neighbors, dtype):
    index = torch.from_numpy(neighbors.index)
    x, weight = torch.randn(6, 16, 2), torch.randn(5, 2, 3)
    expected = graph_conv(x, index, weight)
    found = graph_conv(x.to(dtype), index, weight.to(dtype))
    assert found.dtype == dtype
    torch.testing.assert_close(found.float(), expected, rtol=0.05, atol=0.05)


@pytest.mark.parametrize("dtype", SHORT)
def test_pooling_takes_short_values(dtype):
    pool = GraphPool(coarsen(grid_graph((4, 4))))
    x = torch.randn(3, 16, 2)
    with torch.autocast("cpu", dtype=dtype):
        found = pool(x.to(dtype))
    torch.testing.assert_close(found.float(), pool(x), rtol=0.02, atol=0.02)


@pytest.mark.parametrize("dtype", SHORT)
@pytest.mark.parametrize("reduce", ["mean", "max", "log_sum"])
def test_a_readout_takes_short_values(dtype, reduce):
    readout = GraphReadout(reduce)
    x = torch.randn(3, 16, 2)
    with torch.autocast("cpu", dtype=dtype):
        found = readout(x.to(dtype))
    torch.testing.assert_close(found.float(), readout(x), rtol=0.02, atol=0.05)


def test_each_pass_sees_the_weights_of_the_last_step():
    weight = torch.nn.Parameter(torch.ones(1, 1))
    x = torch.ones(1, 1)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = []
        for _ in range(2):
            with products_in("float32", CPU):
                found.append(float((x @ weight).detach()))
            with torch.no_grad():
                weight += 1
    assert found == [1, 2]
    with products_in("float32", CPU):
        assert (x @ weight).dtype == torch.float32


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 12)).cumsum(axis=1)
    return X, np.abs(X[:, 2] - X[:, 7])


SETTINGS = {"max_iter": 8, "learning_rate": 0.01, "random_state": 0, "dropout": 0.1}


@pytest.mark.parametrize("architecture", ["C8-FC64", "C4-P4-C4-FC32"])
def test_bfloat16_learns_as_well_as_float32(rows, architecture):
    X, y = rows
    scores = {}
    for precision in ("float32", "bfloat16"):
        model = GraphCNNRegressor(architecture, n_members=1, **SETTINGS, precision=precision)
        scores[precision] = model.fit(X[:400], y[:400]).score(X[400:], y[400:])
        assert {each.dtype for each in model.module_.parameters()} == {torch.float32}
    assert scores["float32"] > 0.6
    assert abs(scores["bfloat16"] - scores["float32"]) < 0.06


@pytest.mark.parametrize("dtype", SHORT)
def test_a_fit_inside_autocast_learns_too(rows, dtype):
    X, y = rows
    model = GraphCNNClassifier("C8-FC64", **SETTINGS)
    alone = model.fit(X, y > 1).predict_proba(X)
    with torch.autocast("cpu", dtype=dtype):
        model.fit(X, y > 1)
        inside = model.predict_proba(X)
    assert inside.dtype == np.float32
    assert np.abs(inside - alone).mean() < 0.05
    np.testing.assert_allclose(model.predict_proba(X), inside, atol=0.05)


def test_bfloat16_repeats_and_is_another_fit_for_a_checkpoint(rows, tmp_path):
    X, y = rows
    model = GraphCNNRegressor("FC16", n_members=1, **SETTINGS | {"max_iter": 2})
    model.set_params(precision="bfloat16")
    expected = model.fit(X, y, checkpoint=tmp_path / "c").predict(X)
    np.testing.assert_array_equal(model.fit(X, y).predict(X), expected)
    with pytest.raises(ValueError, match="precision was 'bfloat16' and is 'float32'"):
        model.set_params(precision="float32").fit(X, y, checkpoint=tmp_path / "c")


def test_another_precision_is_refused(rows):
    with pytest.raises(ValueError, match="precision must be one of 'float32', 'bfloat16'"):
        GraphCNNRegressor(precision="float16").fit(*rows)
