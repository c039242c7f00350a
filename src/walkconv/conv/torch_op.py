"""The convolution as an operator of torch: dispatch, autograd, vmap and compile around an engine.

It is registered with `torch.library.Library` rather than as a `custom_op`, whose wrappers cost as
much time as a small convolution. torch's dispatcher costs half as much, so plain calls go past it.
A call needs the dispatcher when something stands between it and the CPU: vmap and the other
transforms, modes, compile, tracing, the profiler, subclasses, tensors on other devices, of another
layout or with a sign not yet applied. It also needs the dispatcher when autograd is switched off by
its dispatch key. Only private names of torch tell. If a name is missing, every call takes the
dispatcher.
"""

from collections.abc import Callable
from functools import reduce
from operator import or_
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd import profiler

from walkconv.conv import engines, native, tiled
from walkconv.conv.definition import define_graph_conv
from walkconv.conv.one_by_one import one_by_one
from walkconv.conv.raw_arguments import check_raw

_KINDS = (Tensor, nn.Parameter)

_LIBRARY = torch.library.Library("walkconv", "FRAGMENT")
_TABLES = "Tensor x, Tensor index, Tensor weight"
_LIBRARY.define(
    f"graph_conv({_TABLES}, Tensor? bias, Tensor? scale) -> Tensor",
    tags=(torch.Tag.pt2_compliant_tag,),
)
_LIBRARY.define(
    f"graph_conv_backward(Tensor grad, {_TABLES}, Tensor? scale, "
    "bool wants_x, bool wants_weight, bool wants_bias) -> (Tensor, Tensor, Tensor)",
    tags=(torch.Tag.pt2_compliant_tag,),
)
_dispatch_forward = torch.ops.walkconv.graph_conv.default
_dispatch_backward = torch.ops.walkconv.graph_conv_backward.default


def convolve(
    x: Tensor, index: Tensor, weight: Tensor, bias: Tensor | None, scale: Tensor | None
) -> Tensor:
    """Return ``out`` (M, N, c_out) for checked arguments and one axis of samples."""
    if is_plain(x, index, weight, bias, scale):
        # Without a gradient the call does not pass through autograd, which costs time too.
        if torch.is_grad_enabled() and _needs_grad(x, weight, bias):
            return _Recorded.apply(x, index, weight, bias, scale)
        return _forward(x, index, weight, bias, scale)
    # `torch.func` accepts only this form, which no other caller needs.
    if may_be_transformed():
        return _Transformed.apply(x, index, weight, bias, scale)
    return _dispatch_forward(x, index, weight, bias, scale)


def engine_for(x: Tensor) -> Any:
    """Return the engine for this input: the kernel on the CPU, torch elsewhere."""
    if x.device.type == "cpu" and x.dtype in native.DTYPES:
        return engines.choose().engine
    return tiled


def _needs_grad(x: Tensor, weight: Tensor, bias: Tensor | None) -> bool:
    return x.requires_grad or weight.requires_grad or (bias is not None and bias.requires_grad)


def _check_range(index: Tensor, n_in: int) -> None:
    if index.numel() == 0:
        return
    lowest, highest = (int(bound) for bound in torch.aminmax(index))
    if lowest < -1 or highest >= n_in:
        raise IndexError(
            f"index must lie between -1 (empty slot) and {n_in - 1} (x has {n_in} nodes); "
            f"got {lowest if lowest < -1 else highest}."
        )


def _is_empty(x: Tensor, index: Tensor, weight: Tensor) -> bool:
    return 0 in (*x.shape, *weight.shape, index.shape[-2])


def _forward(
    x: Tensor, index: Tensor, weight: Tensor, bias: Tensor | None, scale: Tensor | None
) -> Tensor:
    # The range is checked here and not on input: under torch.compile only this code sees values.
    _check_range(index, x.shape[1])
    if _is_empty(x, index, weight):
        out = x.new_zeros(x.shape[0], index.shape[-2], weight.shape[2])
        return out if bias is None else out.add_(bias)
    return engine_for(x).forward(x.contiguous(), index, weight, bias, scale)


def _backward(
    grad: Tensor,
    x: Tensor,
    index: Tensor,
    weight: Tensor,
    scale: Tensor | None,
    *wanted: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    # Gradients that are not wanted are empty here as in the engines.
    if _is_empty(x, index, weight):
        found = x.new_zeros(x.shape), x.new_zeros(weight.shape), grad.sum((0, 1))
        grads = [
            g if is_wanted else x.new_empty(0) for g, is_wanted in zip(found, wanted, strict=True)
        ]
        return grads[0], grads[1], grads[2]
    return engine_for(x).backward(grad.contiguous(), x.contiguous(), index, weight, scale, *wanted)


# Users can call the operators directly, with anything. The kernel reads memory where shapes and
# index lead it, so both are checked again here.


def _raw_forward(
    x: Tensor, index: Tensor, weight: Tensor, bias: Tensor | None, scale: Tensor | None
) -> Tensor:
    check_raw(x, index, weight, bias, scale)
    return _forward(x, index, weight, bias, scale)


def _raw_backward(
    grad: Tensor, x: Tensor, index: Tensor, weight: Tensor, scale: Tensor | None, *wanted: bool
) -> tuple[Tensor, Tensor, Tensor]:
    check_raw(x, index, weight, None, scale, grad)
    _check_range(index, x.shape[1])
    return _backward(grad, x, index, weight, scale, *wanted)


_LIBRARY.impl("graph_conv", _raw_forward, "CompositeExplicitAutograd")
_LIBRARY.impl("graph_conv_backward", _raw_backward, "CompositeExplicitAutograd")


class _Recorded(torch.autograd.Function):
    """A plain call, recorded for its gradient."""

    @staticmethod
    def forward(ctx, x, index, weight, bias, scale):
        ctx.save_for_backward(x, index, weight, scale)
        return _forward(x, index, weight, bias, scale)

    @staticmethod
    def backward(ctx, *grads):  # pyright: ignore[reportIncompatibleMethodOverride]
        x, index, weight, scale = ctx.saved_tensors
        wants_x, _, wants_weight, wants_bias, _ = ctx.needs_input_grad
        wanted = wants_x, wants_weight, wants_bias
        # Asked again: hooks on saved tensors may return tensors of another kind than they got.
        if torch.is_grad_enabled():  # for derivatives of a higher order
            differentiate = _differentiate_recorded
        elif is_plain(grads[0], x, index, weight, scale):
            differentiate = _backward
        else:
            differentiate = _dispatch_backward
        found = differentiate(grads[0], x, index, weight, scale, *wanted)
        grad_x, grad_weight, grad_bias = (
            g if is_wanted else None for g, is_wanted in zip(found, wanted, strict=True)
        )
        return grad_x, None, grad_weight, grad_bias, None


class _Transformed(torch.autograd.Function):
    """The same in the form that the transforms of `torch.func` ask for."""

    generate_vmap_rule = True
    backward = _Recorded.backward

    @staticmethod
    def forward(x, index, weight, bias, scale):  # pyright: ignore[reportIncompatibleMethodOverride]
        return _dispatch_forward(x, index, weight, bias, scale)

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, index, weight, _, scale = inputs
        ctx.save_for_backward(x, index, weight, scale)


def _differentiate_recorded(
    grad: Tensor, x: Tensor, index: Tensor, weight: Tensor, scale: Tensor | None, *_wanted: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the gradients by the definition, whose every step torch can differentiate again."""
    pull_back = torch.func.vjp(
        lambda x, weight: define_graph_conv(x, index, weight, None, scale), x, weight
    )[1]
    grad_x, grad_weight = pull_back(grad)
    return grad_x, grad_weight, grad.sum((0, 1))


torch.library.register_autograd(
    "walkconv::graph_conv",
    _Recorded.backward,
    setup_context=_Transformed.setup_context,
    lib=_LIBRARY,
)


@torch.library.register_fake("walkconv::graph_conv", lib=_LIBRARY)
def _(x, index, weight, bias, scale):
    return x.new_empty(x.shape[0], index.shape[-2], weight.shape[2])


@torch.library.register_fake("walkconv::graph_conv_backward", lib=_LIBRARY)
def _(grad, x, index, weight, scale, *wanted):
    shapes = x.shape, weight.shape, weight.shape[2:]
    return tuple(
        x.new_empty(shape if is_wanted else (0,))
        for shape, is_wanted in zip(shapes, wanted, strict=True)
    )


def _map_forward(info, in_dims, x, index, weight, bias, scale):
    # If only x is mapped and its samples share a table, the mapped axis joins the samples: one call
    # instead of one per element.
    if in_dims[0] is not None and in_dims[1:] == (None,) * 4 and index.ndim == 2:
        moved = x.movedim(in_dims[0], 0)  # (batch, M, n_in, c_in)
        out = _dispatch_forward(moved.flatten(0, 1), index, weight, bias, scale)
        return out.unflatten(0, moved.shape[:2]), 0
    return one_by_one(_dispatch_forward, info.batch_size, in_dims, (x, index, weight, bias, scale))


def _map_backward(info, in_dims, *arguments):
    return one_by_one(_dispatch_backward, info.batch_size, in_dims, arguments)


torch.library.register_vmap("walkconv::graph_conv", _map_forward, lib=_LIBRARY)
torch.library.register_vmap("walkconv::graph_conv_backward", _map_backward, lib=_LIBRARY)


def is_plain(*tensors: Tensor | None) -> bool:
    """Tell whether all are plain tensors on the CPU and only autograd watches the call.

    Examples
    --------
    >>> import torch
    >>> from walkconv.conv.torch_op import is_plain
    >>> is_plain(torch.ones(2, device="meta"))
    False
    """
    return _look is not None and not torch.compiler.is_compiling() and _look(tensors)


def _private_look() -> Callable[[tuple[Tensor | None, ...]], bool] | None:
    """Return the part of `is_plain` that private names answer, or None if one is missing."""
    try:
        from torch._C import DispatchKey, DispatchKeySet
        from torch._C import _dispatch_keys as keys_of
        from torch._C import _dispatch_tls_is_dispatch_key_excluded as is_excluded
        from torch._C import _dispatch_tls_local_include_set as included
        from torch._C import _is_torch_function_mode_enabled as has_mode

        def raw(*names: str) -> int:
            keys = (DispatchKeySet(getattr(DispatchKey, name)) for name in names)
            return reduce(or_, keys).raw_repr()

        # Each with autograd and, in inference mode, without.
        only_autograd = {raw("BackendSelect", "ADInplaceOrView"), raw("BackendSelect")}
        on_cpu = {
            raw("CPU", "AutocastCPU", "AutogradCPU", "ADInplaceOrView"),
            raw("CPU", "AutocastCPU"),
        }
        autograd = DispatchKey.AutogradFunctionality

        def look(tensors: tuple[Tensor | None, ...]) -> bool:
            return (
                not profiler._is_profiler_enabled
                and included().raw_repr() in only_autograd
                and not (torch.is_grad_enabled() and is_excluded(autograd))
                and not has_mode()
                and all(
                    t is None or (type(t) in _KINDS and keys_of(t).raw_repr() in on_cpu)
                    for t in tensors
                )
            )

        look((torch.empty(0),))  # a name that takes other arguments now fails here, not in a call
    except (ImportError, AttributeError, TypeError):
        return None
    return look


_look = _private_look()


def may_be_transformed() -> bool:
    """Tell whether `torch.func` may transform the call; True if the private name is missing."""
    is_tracing = torch.jit.is_tracing()  # pyright: ignore[reportPrivateImportUsage]
    if torch.compiler.is_compiling() or is_tracing:
        return False
    is_transformed = getattr(torch._C, "_are_functorch_transforms_active", None)
    return is_transformed is None or is_transformed()
