"""The operator equals its definition, forward and backward, whatever the shapes."""

import shutil

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch.autograd import gradcheck, gradgradcheck

from walkconv import graph_conv
from walkconv.conv import engines, tiled
from walkconv.conv.definition import define_graph_conv
from walkconv.conv.operator import convolve


def problem(
    n_samples=3,
    n_in=7,
    n_nodes=7,
    n_slots=4,
    c_in=2,
    c_out=5,
    per_sample=False,
    scaled=False,
    biased=True,
    dtype=torch.float64,
    seed=0,
):
    """Random arguments, with empty slots, an empty row and repeated neighbours."""
    draw = torch.Generator().manual_seed(seed)
    tables = (n_samples, n_nodes, n_slots) if per_sample else (n_nodes, n_slots)
    index = torch.randint(-1, n_in, tables, generator=draw)
    if n_nodes > 1:
        index[..., 1, :] = -1
    if n_slots > 1 and n_nodes > 0:
        index[..., 0, 1] = index[..., 0, 0]

    def normal(*shape):
        return torch.randn(*shape, generator=draw, dtype=dtype)

    return (
        normal(n_samples, n_in, c_in).requires_grad_(),
        index,
        normal(n_slots, c_in, c_out).requires_grad_(),
        normal(c_out).requires_grad_() if biased else None,
        normal(*tables) if scaled else None,
    )


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
def test_equals_the_definition(each_engine, **shape):
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
def test_many_samples_equal_the_definition(each_native_engine, **shape):
    assert_equals_definition(problem(**shape))


@pytest.mark.parametrize("c_out", [127, 128, 129, 260])  # the kernel takes 128 at a time
@pytest.mark.parametrize("c_in", [1, 2, 5])
@pytest.mark.parametrize("n_samples", [3, 16])
@pytest.mark.parametrize("scaled", [False, True])
def test_more_filters_than_are_taken_at_a_time(each_native_engine, c_out, c_in, n_samples, scaled):
    shape = {"n_in": 33, "n_nodes": 33, "c_in": c_in, "c_out": c_out}
    assert_equals_definition(problem(n_samples=n_samples, scaled=scaled, **shape))


@pytest.mark.parametrize("tile_bytes", [1, 100, 1000, 10**9])
@pytest.mark.parametrize("per_sample", [False, True])
def test_tiles_do_not_change_the_answer(monkeypatch, tile_bytes, per_sample):
    monkeypatch.setattr(tiled, "CPU_TILE_BYTES", tile_bytes)
    monkeypatch.setattr(engines, "choose", lambda: engines.Choice("torch", tiled, "tested"))
    assert_equals_definition(problem(n_samples=5, per_sample=per_sample, scaled=True))


def test_single_precision(each_engine):
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
def test_any_leading_dimensions(leading, per_sample):
    x, index, weight, bias, _ = problem()
    x = torch.randn(*leading, 7, 2, dtype=torch.float64)
    if per_sample:
        index = torch.randint(-1, 7, (*leading, 7, 4))
    found = graph_conv(x, index, weight, bias)
    flat_index = index.reshape(-1, 7, 4) if per_sample else index
    expected = define_graph_conv(x.reshape(-1, 7, 2), flat_index, weight, bias, None)
    torch.testing.assert_close(found, expected.reshape(*leading, 7, 5))


def test_numpy_tables_and_small_integers():
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


def test_input_that_is_not_contiguous(each_engine):
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
def test_dimensions_of_size_zero(each_engine, empty):
    if empty != "n_in":
        assert_equals_definition(problem(**{empty: 0}))
        return
    x, index, weight, bias, _ = problem()
    out = graph_conv(x[:, :0], torch.full_like(index, -1), weight, bias)
    torch.testing.assert_close(out, bias.expand(3, 7, 5))


@pytest.mark.parametrize("n_samples", [0, 2])
def test_a_gradient_that_is_not_wanted_is_empty_in_every_case(n_samples):
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


def test_autocast_runs_in_the_type_of_the_weight(each_engine):
    x, index, weight, bias, _ = problem(dtype=torch.float32)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = graph_conv(x.bfloat16(), index, weight, bias)
    torch.testing.assert_close(found, graph_conv(x.bfloat16().float(), index, weight, bias))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_forward_mode_is_refused_rather_than_zero():
    x, index, weight, bias, _ = problem()
    with pytest.raises(NotImplementedError, match="no forward-mode derivative"):
        torch.func.jvp(lambda w: graph_conv(x, index, w, bias), (weight,), (weight,))


@pytest.mark.parametrize("per_sample", [False, True])
@pytest.mark.parametrize("scaled", [False, True])
def test_gradcheck(each_engine, per_sample, scaled):
    x, index, weight, bias, scale = problem(per_sample=per_sample, scaled=scaled)
    assert gradcheck(lambda x, w, b: graph_conv(x, index, w, b, scale), (x, weight, bias))


@pytest.mark.slow
@pytest.mark.parametrize("per_sample", [False, True])
@pytest.mark.parametrize("biased", [False, True])
def test_opcheck(per_sample, biased):
    torch.library.opcheck(convolve, problem(per_sample=per_sample, biased=biased, scaled=True))


@pytest.mark.parametrize("per_sample", [False, True])
@pytest.mark.parametrize("scaled", [False, True])
def test_second_derivatives(each_engine, per_sample, scaled):
    x, index, weight, bias, scale = problem(per_sample=per_sample, scaled=scaled)
    assert gradgradcheck(lambda x, w, b: graph_conv(x, index, w, b, scale), (x, weight, bias))


def test_derivatives_where_one_filter_serves_two_layers(each_engine):
    x, index, weight, _, _ = problem(c_in=3, c_out=3)

    def twice(weight, x):
        return graph_conv(graph_conv(x, index, weight).tanh(), index, weight)

    expected, found = (
        torch.autograd.grad(twice(weight, x).square().sum(), weight, create_graph=is_recorded)
        for is_recorded in (False, True)
    )
    torch.testing.assert_close(found, expected)
    assert gradgradcheck(twice, (weight, x))


def test_a_penalty_of_the_gradient_reaches_the_weights(each_engine):
    x, index, weight, bias, _ = problem()
    penalties = []
    for way in (graph_conv, define_graph_conv):
        out = way(x, index, weight, bias, None)
        (grad,) = torch.autograd.grad(out.sum(), x, create_graph=True)
        penalties.append(torch.autograd.grad(grad.square().sum(), weight)[0])
    torch.testing.assert_close(*penalties)


@pytest.mark.parametrize("wanted", range(3))
def test_only_the_gradients_asked_for(each_engine, wanted):
    x, index, weight, bias, _ = problem()
    for place, tensor in enumerate((x, weight, bias)):
        tensor.requires_grad_(place == wanted)
    expected = define_graph_conv(x, index, weight, bias, None).square().sum()
    found = graph_conv(x, index, weight, bias).square().sum()
    tensor = (x, weight, bias)[wanted]
    torch.testing.assert_close(
        torch.autograd.grad(found, tensor), torch.autograd.grad(expected, tensor)
    )


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


@pytest.mark.parametrize("batched", ["x", "x and index", "weight", "all"])
def test_vmap(batched):
    shape = {"n_samples": 4, "per_sample": "index" in batched or batched == "all"}
    x, index, weight, bias, scale = problem(scaled=True, **shape)
    x, weight, bias = x.detach(), weight.detach(), bias.detach()
    per_sample = [batched != "weight", shape["per_sample"], batched in ("weight", "all"), False]
    per_sample.append(shape["per_sample"])
    arguments = [x[0] if batched == "weight" else x, index, weight, bias, scale]
    if per_sample[2]:
        arguments[2] = torch.randn(4, *weight.shape, dtype=weight.dtype)
    # The mapped axis is moved to second place: a rule that always takes the first would fail.
    moved = [a.movedim(0, 1) if each else a for a, each in zip(arguments, per_sample, strict=True)]
    dims = tuple(1 if each else None for each in per_sample)
    found = torch.func.vmap(graph_conv, in_dims=dims)(*moved)
    one_by_one = [
        graph_conv(*(a[i] if each else a for a, each in zip(arguments, per_sample, strict=True)))
        for i in range(4)
    ]
    torch.testing.assert_close(found, torch.stack(one_by_one))


def test_vmap_over_tables_per_sample():
    _, index, weight, bias, _ = problem(per_sample=True)
    x = torch.randn(4, 3, 7, 2, dtype=torch.float64)
    found = torch.func.vmap(lambda x: graph_conv(x, index, weight.detach(), bias.detach()))(x)
    expected = torch.stack([define_graph_conv(each, index, weight, bias, None) for each in x])
    torch.testing.assert_close(found, expected)


def test_batched_gradients():
    x, index, weight, bias, _ = problem()
    out = graph_conv(x, index, weight, bias)
    cotangents = torch.randn(4, *out.shape, dtype=out.dtype)
    inputs = (x, weight, bias)
    found = torch.autograd.grad(out, inputs, cotangents, is_grads_batched=True, retain_graph=True)
    for i, cotangent in enumerate(cotangents):
        expected = torch.autograd.grad(out, inputs, cotangent, retain_graph=True)
        for a, b in zip(found, expected, strict=True):
            torch.testing.assert_close(a[i], b)


@pytest.mark.parametrize("backend", ["aot_eager", pytest.param("inductor", marks=pytest.mark.slow)])
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_compiled_in_one_piece(backend, tmp_path, monkeypatch):
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
