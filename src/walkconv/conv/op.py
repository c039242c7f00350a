"""The convolution as an operator of torch: checks, autograd, vmap and compile around an engine."""

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd import forward_ad

from walkconv._checks import describe
from walkconv.conv.engines import engine_for


def graph_conv(
    x: Tensor,
    index: Tensor | np.ndarray,
    weight: Tensor,
    bias: Tensor | None = None,
    scale: Tensor | np.ndarray | None = None,
) -> Tensor:
    """Return the convolution of node features with weights shared by rank.

    ``out[m, i, f] = bias[f] + sum_j sum_c weight[j, c, f] * scale[i, j] * x[m, index[i, j], c]``,
    the paper's Conv1 without and Conv2 with `scale`. Nothing of size (M, N, p, c_in) is kept. It
    has a reverse-mode derivative of first order. Under autocast it runs in the type of `weight`.

    Parameters
    ----------
    x : Tensor of shape (..., n_in, c_in)
        Node features of any number of samples.
    index : integer tensor or array of shape (n_nodes, p) or (..., n_nodes, p)
        Neighbours by rank, one table for all samples or one per sample; -1 is an empty slot and
        contributes nothing. Usually ``n_nodes == n_in``.
    weight : Tensor of shape (p, c_in, c_out)
    bias : Tensor of shape (c_out,), optional
    scale : tensor or array of the shape of `index`, optional
        Factor for each slot; a constant, no gradient flows into it.

    Returns
    -------
    Tensor of shape (..., n_nodes, c_out)

    Examples
    --------
    >>> import torch
    >>> from walkconv import graph_conv
    >>> x = torch.tensor([[1.0], [10.0], [100.0]])  # 3 nodes, 1 channel
    >>> index = torch.tensor([[0, 1], [1, 2], [2, -1]])
    >>> weight = torch.tensor([[[1.0]], [[0.5]]])  # the node itself, then its closest
    >>> graph_conv(x, index, weight)
    tensor([[  6.],
            [ 60.],
            [100.]])
    """
    _check_tensors(x, weight, bias)
    if torch.is_autocast_enabled(x.device.type):
        with torch.autocast(x.device.type, enabled=False):
            return graph_conv(x.to(weight.dtype), index, weight, bias, scale)
    index, scale = _as_tables(x, index, scale)
    _check_shapes(x, index, weight, bias, scale)
    samples = x.shape[:-2]
    n_samples = math.prod(samples)
    flat_x = x.reshape(n_samples, *x.shape[-2:])
    if index.ndim > 2:
        index = index.reshape(n_samples, *index.shape[-2:])
        scale = None if scale is None else scale.reshape(index.shape)
    out = _graph_conv(flat_x, index, weight, bias, scale)
    return out.reshape(*samples, *out.shape[-2:])


def _check_tensors(x: Any, weight: Any, bias: Any) -> None:
    for name, tensor in (("x", x), ("weight", weight), ("bias", bias)):
        if tensor is None and name == "bias":
            continue
        if not isinstance(tensor, Tensor) or not tensor.dtype.is_floating_point:
            came = tensor.dtype if isinstance(tensor, Tensor) else describe(tensor)
            raise TypeError(f"{name} must be a floating-point tensor; got {came}.")
        if tensor.layout != torch.strided:
            raise TypeError(f"{name} must be a dense tensor; got one of {tensor.layout}.")
        if forward_ad._current_level >= 0 and forward_ad.unpack_dual(tensor).tangent is not None:
            raise NotImplementedError(
                "graph_conv has no forward-mode derivative. Use reverse mode: autograd, backward()."
            )


def _as_tables(x: Tensor, index: Any, scale: Any) -> tuple[Tensor, Tensor | None]:
    if isinstance(index, np.ndarray) and index.dtype.kind in "iu":
        index = torch.tensor(index.astype(np.int64))
    if not isinstance(index, Tensor) or index.dtype not in (torch.int64, torch.int32):
        came = index.dtype if isinstance(index, Tensor) else describe(index)
        raise TypeError(f"index must hold integers (int64 or int32); got {came}.")
    index = index.to(device=x.device, dtype=torch.int64)
    if isinstance(scale, np.ndarray) and scale.dtype.kind in "iuf":
        scale = torch.tensor(scale.astype(np.float64))
    if scale is not None:
        if not isinstance(scale, Tensor) or scale.dtype.is_complex:
            raise TypeError(f"scale must hold real numbers; got {describe(scale)}.")
        if scale.requires_grad:
            raise ValueError("scale must not require a gradient: it is a constant. Detach it.")
        scale = scale.to(device=x.device, dtype=x.dtype)
    return index, scale


def _check_shapes(
    x: Tensor, index: Tensor, weight: Tensor, bias: Tensor | None, scale: Tensor | None
) -> None:
    if x.ndim < 2:
        raise ValueError(f"x must have shape (..., n_nodes, c_in); got {tuple(x.shape)}.")
    if index.ndim < 2 or (index.ndim > 2 and index.shape[:-2] != x.shape[:-2]):
        raise ValueError(
            f"index must have shape (n_nodes, p), or one table for each of the samples "
            f"{tuple(x.shape[:-2])} of x; got {tuple(index.shape)}."
        )
    wanted = (index.shape[-1], x.shape[-1])
    if weight.ndim != 3 or tuple(weight.shape[:2]) != wanted:
        raise ValueError(
            f"weight must have shape (p, c_in, c_out) with p = {wanted[0]} (slots of index) and "
            f"c_in = {wanted[1]} (channels of x); got {tuple(weight.shape)}."
        )
    if bias is not None and bias.shape != weight.shape[2:]:
        raise ValueError(
            f"bias must have shape (c_out,) = ({weight.shape[2]},); got {tuple(bias.shape)}."
        )
    if scale is not None and scale.shape != index.shape:
        raise ValueError(
            f"scale must have the shape of index, {tuple(index.shape)}; got {tuple(scale.shape)}."
        )
    for name, tensor in (("weight", weight), ("bias", bias)):
        if tensor is not None and (tensor.dtype, tensor.device) != (x.dtype, x.device):
            raise TypeError(
                f"{name} must be of the type and on the device of x ({x.dtype}, {x.device}); "
                f"got {tensor.dtype}, {tensor.device}."
            )


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


@torch.library.custom_op("walkconv::graph_conv", mutates_args=())
def _graph_conv(
    x: Tensor, index: Tensor, weight: Tensor, bias: Tensor | None, scale: Tensor | None
) -> Tensor:
    # The range is looked at here and not at the door: only here are there values under compile.
    _check_range(index, x.shape[1])
    if _is_empty(x, index, weight):
        out = x.new_zeros(x.shape[0], index.shape[-2], weight.shape[2])
        return out if bias is None else out.add_(bias)
    return engine_for(x).forward(x.contiguous(), index, weight, bias, scale)


@torch.library.custom_op("walkconv::graph_conv_backward", mutates_args=())
def _graph_conv_backward(
    grad: Tensor,
    x: Tensor,
    index: Tensor,
    weight: Tensor,
    scale: Tensor | None,
    wants_x: bool,
    wants_weight: bool,
    wants_bias: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    if _is_empty(x, index, weight):
        return x.new_zeros(x.shape), x.new_zeros(weight.shape), grad.sum((0, 1))
    wanted = wants_x, wants_weight, wants_bias
    return engine_for(x).backward(grad.contiguous(), x.contiguous(), index, weight, scale, *wanted)


@_graph_conv.register_fake
def _(x, index, weight, bias, scale):
    return x.new_empty(x.shape[0], index.shape[-2], weight.shape[2])


@_graph_conv_backward.register_fake
def _(grad, x, index, weight, scale, *wanted):
    shapes = x.shape, weight.shape, weight.shape[2:]
    return tuple(
        x.new_empty(shape if is_wanted else (0,))
        for shape, is_wanted in zip(shapes, wanted, strict=True)
    )


def _remember(ctx, inputs, output):
    x, index, weight, _, scale = inputs
    ctx.save_for_backward(x, index, weight, scale)


def _differentiate(ctx, grad):
    x, index, weight, scale = ctx.saved_tensors
    wants_x, _, wants_weight, wants_bias, _ = ctx.needs_input_grad
    wanted = wants_x, wants_weight, wants_bias
    grads = _graph_conv_backward(grad, x, index, weight, scale, *wanted)
    grad_x, grad_weight, grad_bias = (
        g if is_wanted else None for g, is_wanted in zip(grads, wanted, strict=True)
    )
    return grad_x, None, grad_weight, grad_bias, None


torch.library.register_autograd("walkconv::graph_conv", _differentiate, setup_context=_remember)


@_graph_conv.register_vmap
def _(info, in_dims, x, index, weight, bias, scale):
    if in_dims[0] is not None and in_dims[1:] == (None,) * 4 and index.ndim == 2:
        moved = x.movedim(in_dims[0], 0)  # (batch, M, n_in, c_in)
        out = _graph_conv(moved.flatten(0, 1), index, weight, bias, scale)
        return out.unflatten(0, moved.shape[:2]), 0
    return _one_by_one(_graph_conv, info.batch_size, in_dims, (x, index, weight, bias, scale))


@_graph_conv_backward.register_vmap
def _(info, in_dims, *arguments):
    return _one_by_one(_graph_conv_backward, info.batch_size, in_dims, arguments)


def _one_by_one(op, batch_size, in_dims, arguments):
    """Apply `op` to each element of the batch and stack what comes back."""
    outputs = [
        op(
            *(
                argument if dim is None else argument.select(dim, element)
                for argument, dim in zip(arguments, in_dims, strict=True)
            )
        )
        for element in range(batch_size)
    ]
    if isinstance(outputs[0], tuple):
        return tuple(torch.stack(column) for column in zip(*outputs, strict=True)), (0,) * len(
            outputs[0]
        )
    return torch.stack(outputs), 0
