"""Derivatives of the operator of any order, and what torch does to functions: vmap, batches."""

from functools import partial

import pytest
import torch
from torch.autograd import gradcheck, gradgradcheck

from walkconv import graph_conv
from walkconv.conv.definition import define_graph_conv


@pytest.mark.parametrize("per_sample", [False, True])
@pytest.mark.parametrize("scaled", [False, True])
def test_gradcheck(problem, each_engine, per_sample, scaled):
    x, index, weight, bias, scale = problem(per_sample=per_sample, scaled=scaled)
    assert gradcheck(lambda x, w, b: graph_conv(x, index, w, b, scale), (x, weight, bias))


@pytest.mark.slow
@pytest.mark.parametrize("per_sample", [False, True])
@pytest.mark.parametrize("biased", [False, True])
def test_opcheck(problem, per_sample, biased):
    arguments = problem(per_sample=per_sample, biased=biased, scaled=True)
    torch.library.opcheck(torch.ops.walkconv.graph_conv.default, arguments)


@pytest.mark.parametrize("per_sample", [False, True])
@pytest.mark.parametrize("scaled", [False, True])
def test_second_derivatives(problem, each_engine, per_sample, scaled):
    x, index, weight, bias, scale = problem(per_sample=per_sample, scaled=scaled)
    assert gradgradcheck(lambda x, w, b: graph_conv(x, index, w, b, scale), (x, weight, bias))


def test_derivatives_where_one_filter_serves_two_layers(problem, each_engine):
    x, index, weight, _, _ = problem(c_in=3, c_out=3)

    def twice(weight, x):
        return graph_conv(graph_conv(x, index, weight).tanh(), index, weight)

    expected, found = (
        torch.autograd.grad(twice(weight, x).square().sum(), weight, create_graph=is_recorded)
        for is_recorded in (False, True)
    )
    torch.testing.assert_close(found, expected)
    assert gradgradcheck(twice, (weight, x))


def test_a_penalty_of_the_gradient_reaches_the_weights(problem, each_engine):
    x, index, weight, bias, _ = problem()
    penalties = []
    for way in (graph_conv, define_graph_conv):
        out = way(x, index, weight, bias, None)
        (grad,) = torch.autograd.grad(out.sum(), x, create_graph=True)
        penalties.append(torch.autograd.grad(grad.square().sum(), weight)[0])
    torch.testing.assert_close(*penalties)


@pytest.mark.parametrize("wanted", range(3))
def test_only_the_gradients_asked_for(problem, each_engine, wanted):
    x, index, weight, bias, _ = problem()
    for place, tensor in enumerate((x, weight, bias)):
        tensor.requires_grad_(place == wanted)
    expected = define_graph_conv(x, index, weight, bias, None).square().sum()
    found = graph_conv(x, index, weight, bias).square().sum()
    tensor = (x, weight, bias)[wanted]
    torch.testing.assert_close(
        torch.autograd.grad(found, tensor), torch.autograd.grad(expected, tensor)
    )


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_forward_mode_is_refused_rather_than_zero(problem):
    x, index, weight, bias, _ = problem()
    with pytest.raises(NotImplementedError, match="no forward-mode derivative"):
        torch.func.jvp(lambda w: graph_conv(x, index, w, bias), (weight,), (weight,))


@pytest.mark.parametrize("batched", ["x", "x and index", "weight", "all"])
def test_vmap(problem, batched):
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


def test_vmap_over_tables_per_sample(problem):
    _, index, weight, bias, _ = problem(per_sample=True)
    x = torch.randn(4, 3, 7, 2, dtype=torch.float64)
    found = torch.func.vmap(lambda x: graph_conv(x, index, weight.detach(), bias.detach()))(x)
    expected = torch.stack([define_graph_conv(each, index, weight, bias, None) for each in x])
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("per_sample", [False, True])
def test_transforms_of_torch_func(problem, per_sample):
    x, index, weight, bias, scale = (
        None if t is None else t.detach() for t in problem(per_sample=per_sample, scaled=True)
    )

    def loss(weight, x, index, scale, convolve=graph_conv):
        return convolve(x[None], index, weight, bias, scale).tanh().sum()

    def expected(transform, *arguments):
        return transform(lambda *a: loss(*a, convolve=define_graph_conv))(*arguments)

    one = (weight, x[0], index[:1], scale[:1]) if per_sample else (weight, x[0], index, scale)
    for transform in (torch.func.grad, lambda f: torch.func.jacrev(torch.func.grad(f))):
        torch.testing.assert_close(transform(loss)(*one), expected(transform, *one))
    tables = 0 if per_sample else None
    each = partial(torch.func.vmap, in_dims=(None, 0, tables, tables))
    if per_sample:
        index, scale = index[:, None], scale[:, None]
    found = each(torch.func.grad(loss))(weight, x, index, scale)
    wanted = each(torch.func.grad(lambda *a: loss(*a, convolve=define_graph_conv)))
    torch.testing.assert_close(found, wanted(weight, x, index, scale))


def test_batched_gradients(problem):
    x, index, weight, bias, _ = problem()
    out = graph_conv(x, index, weight, bias)
    cotangents = torch.randn(4, *out.shape, dtype=out.dtype)
    inputs = (x, weight, bias)
    found = torch.autograd.grad(out, inputs, cotangents, is_grads_batched=True, retain_graph=True)
    for i, cotangent in enumerate(cotangents):
        expected = torch.autograd.grad(out, inputs, cotangent, retain_graph=True)
        for a, b in zip(found, expected, strict=True):
            torch.testing.assert_close(a[i], b)
