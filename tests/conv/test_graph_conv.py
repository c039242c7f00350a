"""The operator equals its definition, forward and backward, whatever the shapes."""

import shutil

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from walkconv import graph_conv
from walkconv.conv import engines, tiled
from walkconv.conv.definition import define_graph_conv


def assert_equals_definition(arguments, **tolerance):
    x, _, weight, bias, _ = arguments
    inputs = [t for t in (x, weight, bias) if t is not None]
    expected = define_graph_conv(*arguments)
    found = graph_conv(*arguments)
    torch.testing.assert_close(found, expected, **tolerance)
    cotangent = torch.randn(
        found.shape, dtype=found.dtype, generator=torch.Generator().manual_seed(1)
    )
    expected_grads = torch.autograd.grad(expected, inputs, cotangent)
    found_grads = torch.autograd.grad(found, inputs, cotangent)
    for a, b in zip(found_grads, expected_grads, strict=True):
        torch.testing.assert_close(a, b, **tolerance)


sizes = st.integers(1, 9)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    n_samples=st.integers(0, 4),
    n_in=sizes,
    n_nodes=sizes,
    n_slots=st.integers(1, 6),
    c_in=sizes,
    c_out=sizes,
    per_sample=st.booleans(),
    scaled=st.booleans(),
    biased=st.booleans(),
)
def test_equals_the_definition(problem, each_engine, **shape):
    assert_equals_definition(problem(**shape))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
@given(
    n_samples=st.sampled_from([16, 19]),  # enough for one thread to own a sample
    n_in=st.integers(1, 60),
    n_nodes=st.integers(1, 60),
    n_slots=st.integers(1, 6),
    c_in=st.sampled_from([1, 1, 2, 3, 4, 9]),
    c_out=st.integers(1, 41),
    per_sample=st.booleans(),
    scaled=st.booleans(),
    biased=st.booleans(),
)
def test_many_samples_equal_the_definition(problem, each_native_engine, **shape):
    assert_equals_definition(problem(**shape))


@pytest.mark.parametrize("c_out", [127, 128, 129, 260])  # the kernel takes 128 at a time
@pytest.mark.parametrize("c_in", [1, 2, 5])
@pytest.mark.parametrize("n_samples", [3, 16])
@pytest.mark.parametrize("scaled", [False, True])
def test_more_filters_than_are_taken_at_a_time(
    problem, each_native_engine, c_out, c_in, n_samples, scaled
):
    shape = {"n_in": 33, "n_nodes": 33, "c_in": c_in, "c_out": c_out}
    assert_equals_definition(problem(n_samples=n_samples, scaled=scaled, **shape))


@pytest.mark.parametrize("tile_bytes", [1, 100, 1000, 10**9])
@pytest.mark.parametrize("per_sample", [False, True])
def test_tiles_do_not_change_the_answer(problem, monkeypatch, tile_bytes, per_sample):
    monkeypatch.setattr(tiled, "CPU_TILE_BYTES", tile_bytes)
    monkeypatch.setattr(engines, "choose", lambda: engines.Choice("torch", tiled, "tested"))
    assert_equals_definition(problem(n_samples=5, per_sample=per_sample, scaled=True))


def test_single_precision(problem, each_engine):
    assert_equals_definition(problem(dtype=torch.float32, c_in=20), atol=1e-5, rtol=1e-5)


def test_by_hand(each_engine):
    x = torch.tensor([[[1.0], [10.0], [100.0], [1000.0], [10000.0]]])
    index = torch.tensor([[0, 1, 2], [1, 0, 2], [2, 1, -1], [3, 3, 4], [-1, -1, -1]])
    weight = torch.tensor([1.0, 2.0, 3.0])[:, None, None]
    conv1 = graph_conv(x, index, weight, torch.tensor([0.5]))
    assert conv1.flatten().tolist() == [321.5, 312.5, 120.5, 33000.5, 0.5]
    scale = torch.tensor([[1, 1, -1], [2, 1, 1], [1, 0.5, 9], [1, 1, 1], [1, 1, 1]])
    conv2 = graph_conv(x, index, weight, scale=scale)
    assert conv2.flatten().tolist() == [-279.0, 322.0, 110.0, 33000.0, 0.0]


@pytest.mark.parametrize("leading", [(), (1,), (2, 3), (0,), (2, 0)])
@pytest.mark.parametrize("per_sample", [False, True])
def test_any_leading_dimensions(problem, leading, per_sample):
    x, index, weight, bias, _ = problem()
    x = torch.randn(*leading, 7, 2, dtype=torch.float64)
    if per_sample:
        index = torch.randint(-1, 7, (*leading, 7, 4))
    found = graph_conv(x, index, weight, bias)
    flat_index = index.reshape(-1, 7, 4) if per_sample else index
    expected = define_graph_conv(x.reshape(-1, 7, 2), flat_index, weight, bias, None)
    torch.testing.assert_close(found, expected.reshape(*leading, 7, 5))


def test_numpy_tables_and_small_integers(problem):
    x, index, weight, bias, scale = problem(scaled=True)
    expected = graph_conv(x, index, weight, bias, scale)
    found = graph_conv(x, index.numpy().astype(np.int32), weight, bias, scale.numpy())
    torch.testing.assert_close(found, expected)
    mask = scale > 0
    torch.testing.assert_close(
        graph_conv(x, index, weight, bias, mask.numpy()), graph_conv(x, index, weight, bias, mask)
    )
    backwards = index.numpy()[::-1].copy()[::-1]
    backwards.flags.writeable = False
    for table in (backwards, backwards.astype(">i8"), backwards.astype(np.int8)):
        torch.testing.assert_close(graph_conv(x, table, weight, bias, scale), expected)


def test_input_that_is_not_contiguous(problem, each_engine):
    x, index, weight, bias, scale = problem(scaled=True)

    def strided(tensor):
        """The same values, every second element of a larger tensor laid out backwards."""
        order = tuple(reversed(range(tensor.ndim)))
        return tensor.detach().permute(order).repeat_interleave(2, dim=0)[::2].permute(order)

    arguments = [
        strided(t).requires_grad_(t.requires_grad) for t in (x, index, weight, bias, scale)
    ]
    assert not any(t.is_contiguous() for t in arguments)
    assert_equals_definition(arguments)
    cotangent = torch.randn(5, 7, 3, dtype=x.dtype).permute(2, 1, 0)
    found = torch.autograd.grad(graph_conv(*arguments), arguments[0], cotangent)
    expected = torch.autograd.grad(define_graph_conv(*arguments), arguments[0], cotangent)
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("empty", ["n_samples", "n_in", "n_nodes", "n_slots", "c_in", "c_out"])
def test_dimensions_of_size_zero(problem, each_engine, empty):
    if empty != "n_in":
        assert_equals_definition(problem(**{empty: 0}))
        return
    x, index, weight, bias, _ = problem()
    out = graph_conv(x[:, :0], torch.full_like(index, -1), weight, bias)
    torch.testing.assert_close(out, bias.expand(3, 7, 5))


@pytest.mark.parametrize("n_samples", [0, 2])
def test_a_gradient_that_is_not_wanted_is_empty_in_every_case(problem, n_samples):
    x, index, weight, _, _ = problem(n_samples=n_samples)
    grad = torch.ones(n_samples, 7, 5, dtype=x.dtype)
    differentiate = torch.ops.walkconv.graph_conv_backward.default
    found = differentiate(grad, x.detach(), index, weight.detach(), None, False, True, False)
    assert [tuple(g.shape) for g in found] == [(0,), (4, 2, 5), (0,)]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_sums_of_16_bit_numbers_keep_growing(dtype):
    x = torch.ones(4096, 1, 1, dtype=dtype)
    weight = torch.ones(1, 1, 1, dtype=dtype, requires_grad=True)
    graph_conv(x, torch.zeros(4096, 1, 1, dtype=torch.int64), weight).sum().backward()
    assert weight.grad is not None
    assert weight.grad.item() == 4096


def test_autocast_runs_in_the_type_of_the_weight(problem, each_engine):
    x, index, weight, bias, _ = problem(dtype=torch.float32)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = graph_conv(x.bfloat16(), index, weight, bias)
    torch.testing.assert_close(found, graph_conv(x.bfloat16().float(), index, weight, bias))


def test_an_empty_slot_leaks_neither_value_nor_gradient(each_engine):
    x = torch.full((2, 3, 1), torch.nan)
    x[:, 2] = 1.0
    x.requires_grad_()
    weight = torch.ones(2, 1, 1, requires_grad=True)
    out = graph_conv(x, torch.tensor([[2, -1], [-1, -1], [-1, 2]]), weight)
    assert out.flatten().tolist() == [1, 0, 1] * 2
    out.sum().backward()
    assert x.grad is not None
    assert x.grad.flatten().tolist() == [0, 0, 2] * 2
    assert weight.grad is not None
    assert weight.grad.flatten().tolist() == [2, 2]


@pytest.mark.parametrize("backend", ["aot_eager", pytest.param("inductor", marks=pytest.mark.slow)])
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_compiled_in_one_piece(problem, backend, tmp_path, monkeypatch):
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    if backend == "inductor" and shutil.which("g++") is None:
        pytest.skip("inductor needs a C++ compiler")
    arguments = problem()
    compiled = torch.compile(
        lambda *a: graph_conv(*a).relu().sum(), backend=backend, fullgraph=True
    )
    inputs = (arguments[0], arguments[2], arguments[3])
    expected = define_graph_conv(*arguments).relu().sum()
    found = compiled(*arguments)
    torch.testing.assert_close(found, expected)
    for a, b in zip(
        torch.autograd.grad(found, inputs), torch.autograd.grad(expected, inputs), strict=True
    ):
        torch.testing.assert_close(a, b)


X, INDEX, WEIGHT = torch.zeros(2, 3, 1), torch.zeros(3, 2, dtype=torch.int64), torch.zeros(2, 1, 4)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (
            (np.zeros((2, 3, 1)), INDEX, WEIGHT),
            TypeError,
            "x must be a floating-point tensor; got nd",
        ),
        ((X.long(), INDEX, WEIGHT), TypeError, "floating-point tensor; got torch.int64"),
        ((X, INDEX, [1.0]), TypeError, "weight must be a floating-point tensor; got"),
        ((X, INDEX, WEIGHT.numpy()), TypeError, "weight must be a floating-point tensor; got nd"),
        ((X, INDEX, WEIGHT, 0.5), TypeError, "bias must be a floating-point tensor; got 0.5"),
        ((X.to_sparse(), INDEX, WEIGHT), TypeError, "x must be a dense tensor"),
        ((X[0], INDEX[0], WEIGHT), ValueError, r"index must have shape .*; got \(2,\)"),
        ((X, INDEX, WEIGHT, None, "x"), TypeError, "scale must hold real numbers; got 'x'"),
        ((X, INDEX, WEIGHT, None, INDEX * 1j), TypeError, "scale must hold real numbers"),
        ((X[0, 0], INDEX, WEIGHT), ValueError, r"\(..., n_nodes, c_in\); got \(1,\)"),
        ((X, INDEX.float(), WEIGHT), TypeError, "index must hold integers .*; got torch.float32"),
        ((X, [[0, 1]], WEIGHT), TypeError, "index must hold integers"),
        ((X, INDEX[0], WEIGHT), ValueError, r"samples \(2,\) of x; got \(2,\)"),
        ((X, INDEX.expand(5, 3, 2), WEIGHT), ValueError, r"samples \(2,\) of x; got \(5, 3, 2\)"),
        ((X, INDEX + 3, WEIGHT), IndexError, r"-1 \(empty slot\) and 2 \(x has 3 nodes\); got 3"),
        ((X, INDEX - 2, WEIGHT), IndexError, "got -2"),
        ((X, INDEX, WEIGHT[:1]), ValueError, r"p = 2 .* c_in = 1 .*; got \(1, 1, 4\)"),
        ((X, INDEX, WEIGHT[0]), ValueError, r"\(p, c_in, c_out\)"),
        ((X, INDEX, WEIGHT.double()), TypeError, "weight must be of the type .* of x"),
        ((X, INDEX, WEIGHT, torch.zeros(3)), ValueError, r"\(c_out,\) = \(4,\); got \(3,\)"),
        (
            (X, INDEX, WEIGHT, None, torch.zeros(3, 1)),
            ValueError,
            "scale must have the shape of index",
        ),
        (
            (X, INDEX, WEIGHT, None, torch.zeros(3, 2, requires_grad=True)),
            ValueError,
            "scale must not require a gradient",
        ),
    ],
)
def test_bad_input(arguments, error, message):
    with pytest.raises(error, match=message):
        graph_conv(*arguments)
