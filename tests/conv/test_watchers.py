"""Plain calls go past torch's dispatcher; whoever watches it still sees the operator."""

from typing import ClassVar

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode

from walkconv import graph_conv
from walkconv.conv import operator


class Watch(TorchDispatchMode):
    """Notes which operators are called."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        """Note one call and do it."""
        self.seen.append(func)
        return func(*args, **(kwargs or {}))


def train(x, index, weight, bias, scale):
    return torch.autograd.grad(graph_conv(x, index, weight, bias, scale).sum(), (x, weight, bias))


def test_plain_calls_go_past_the_dispatcher(problem, monkeypatch):
    def refuse(*_):
        raise AssertionError("dispatched")

    monkeypatch.setattr(operator, "_dispatch_forward", refuse)
    monkeypatch.setattr(operator, "_dispatch_backward", refuse)
    train(*problem())


def test_a_mode_sees_the_operator_and_its_gradient(problem):
    arguments = problem()
    expected = train(*arguments)
    with Watch() as watch:
        found = train(*arguments)
    assert torch.ops.walkconv.graph_conv.default in watch.seen
    assert torch.ops.walkconv.graph_conv_backward.default in watch.seen
    torch.testing.assert_close(found, expected, rtol=0, atol=0)


def test_the_profiler_sees_the_operator(problem):
    with torch.profiler.profile() as profile:
        train(*problem())
    seen = {event.key for event in profile.key_averages()}
    assert {"walkconv::graph_conv", "walkconv::graph_conv_backward"} <= seen


def test_nothing_is_recorded_where_autograd_is_told_to_stay_out(problem):
    with torch._C._AutoDispatchBelowAutograd():
        assert not graph_conv(*problem()).requires_grad


def test_tensors_that_hooks_bring_back_may_be_of_any_kind(problem):
    arguments = problem()
    expected = train(*arguments)
    with torch.autograd.graph.saved_tensors_hooks(
        lambda t: -t if t.is_floating_point() else t,
        lambda t: torch._neg_view(t) if t.is_floating_point() else t,
    ):
        found = train(*arguments)
    torch.testing.assert_close(found, expected)


def test_a_mode_that_comes_between_sees_the_gradient(problem):
    x, index, weight, bias, _ = problem()
    out = graph_conv(x, index, weight, bias)
    with Watch() as watch:
        torch.autograd.grad(out.sum(), (x, weight, bias))
    assert torch.ops.walkconv.graph_conv_backward.default in watch.seen


def test_fake_tensors_have_the_right_shapes(problem):
    with FakeTensorMode(allow_non_fake_inputs=False) as mode:
        x, index, weight, bias, _ = (
            None if t is None else mode.from_tensor(t) for t in problem(c_in=2, c_out=5)
        )
        out = graph_conv(x, index, weight, bias)
        grads = torch.autograd.grad(out.sum(), (x, weight, bias))
    assert out.shape == (3, 7, 5)
    assert [g.shape for g in grads] == [x.shape, weight.shape, bias.shape]


def test_tensors_without_values_have_the_right_shapes(problem):
    x, index, weight, bias, _ = (None if t is None else t.to("meta") for t in problem(c_out=5))
    assert graph_conv(x, index, weight, bias).shape == (3, 7, 5)


@pytest.mark.filterwarnings("ignore")
def test_a_trace_holds_the_operator_and_not_its_result(problem):
    x, index, weight, bias, _ = (None if t is None else t.detach() for t in problem())
    traced = torch.jit.trace(lambda x: graph_conv(x, index, weight, bias), (x,))
    torch.testing.assert_close(traced(2 * x), graph_conv(2 * x, index, weight, bias))


def test_a_kind_of_tensor_of_its_own_is_asked_first(problem):
    class Loud(torch.Tensor):
        asked: ClassVar[list] = []

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            cls.asked.append(func)
            return super().__torch_function__(func, types, args, kwargs or {})

    x, index, weight, bias, _ = problem()
    out = graph_conv(x.detach().as_subclass(Loud), index, weight, bias)
    assert torch.ops.walkconv.graph_conv.default in Loud.asked
    torch.testing.assert_close(out.as_subclass(torch.Tensor), graph_conv(x, index, weight, bias))
