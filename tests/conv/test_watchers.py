"""Plain calls go past torch's dispatcher; whoever watches it still sees the operator."""

import subprocess
import sys
from textwrap import dedent
from types import SimpleNamespace
from typing import ClassVar

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.autograd.forward_ad import dual_level, make_dual, unpack_dual
from torch.utils._python_dispatch import TorchDispatchMode

from walkconv import graph_conv
from walkconv.conv import functional, torch_op


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

    monkeypatch.setattr(torch_op, "_dispatch_forward", refuse)
    monkeypatch.setattr(torch_op, "_dispatch_backward", refuse)
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


def without_private_names(monkeypatch):
    """Let torch have none of the private names that conv uses."""
    with monkeypatch.context() as changed:  # torch itself needs them
        changed.delattr(torch._C, "_dispatch_tls_local_include_set")
        changed.delattr(torch._C, "_are_functorch_transforms_active")
        assert torch_op.may_be_transformed()
        look = torch_op._private_look()
    assert look is None
    monkeypatch.setattr(torch_op, "_look", look)
    monkeypatch.setattr(torch_op, "may_be_transformed", lambda: True)
    monkeypatch.setattr(functional, "forward_ad", SimpleNamespace(unpack_dual=unpack_dual))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # torch's own, in forward mode
def test_without_private_names_the_values_and_derivatives_are_the_same(problem, monkeypatch):
    x, index, weight, bias, scale = arguments = problem(scaled=True)

    def results():
        def loss(weight, x):
            return graph_conv(x, index, weight, bias.detach(), scale).tanh().sum()

        plain_weight, plain_x = weight.detach(), x.detach()
        return [
            graph_conv(*arguments),
            *train(*arguments),
            torch.func.grad(loss)(plain_weight, plain_x),
            torch.func.jacrev(torch.func.grad(loss))(plain_weight, plain_x),
            torch.func.vmap(loss, (None, 0))(plain_weight, plain_x[:, None]),
        ]

    expected = results()
    without_private_names(monkeypatch)
    for found, wanted in zip(results(), expected, strict=True):
        torch.testing.assert_close(found, wanted, rtol=1e-12, atol=1e-12)
    with pytest.raises(NotImplementedError, match="no forward-mode derivative"), dual_level():
        graph_conv(make_dual(x.detach(), x.detach()), index, weight)


def test_a_plain_call_is_known_by_the_names_of_this_torch():
    assert torch_op.is_plain(torch.ones(2), None)


def test_an_exported_program_loads_once_walkconv_is_imported(problem, tmp_path):
    _, index, weight, bias, _ = (None if t is None else t.detach() for t in problem())

    class Layer(torch.nn.Module):
        def forward(self, x):
            return graph_conv(x, index, weight, bias)

    x = problem()[0].detach()
    program = torch.export.export(Layer(), (x,))
    torch.export.save(program, tmp_path / "layer.pt2")
    torch.save((x, graph_conv(x, index, weight, bias)), tmp_path / "expected.pt")
    script = """
        import sys
        import torch
        import walkconv
        x, expected = torch.load(sys.argv[2])
        found = torch.export.load(sys.argv[1]).module()(x)
        torch.testing.assert_close(found, expected)
    """
    files = [str(tmp_path / name) for name in ("layer.pt2", "expected.pt")]
    loaded = subprocess.run(
        [sys.executable, "-c", dedent(script), *files], capture_output=True, text=True, check=False
    )
    assert loaded.returncode == 0, loaded.stderr
