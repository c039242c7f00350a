"""The convolution as users call it: checks and shapes on input, then the operator."""

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd import forward_ad

from walkconv._checks import describe
from walkconv.conv.torch_op import convolve


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
    has reverse-mode derivatives of any order; with ``create_graph=True`` and in the transforms of
    `torch.func` they are made by the plain definition, which is slower and keeps every neighbour.
    Under autocast it runs in the type of `weight`.

    Parameters
    ----------
    x : Tensor of shape (..., n_in, c_in)
        Node features of any number of samples.
    index : integer tensor or array of shape (n_nodes, p) or (..., n_nodes, p)
        Neighbours by rank, one table for all samples or one per sample; -1 is an empty slot and
        contributes nothing. Usually ``n_nodes == n_in``. A tensor that shares its memory with
        numpy must not be changed through numpy: torch does not notice, and values computed from
        the table are reused.
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
    # Autocast has no rule for the operator, so x takes the type of weight. The inner call runs with
    # autocast off: otherwise it would come here again.
    if not x.is_meta and torch.is_autocast_enabled(x.device.type):
        with torch.autocast(x.device.type, enabled=False):
            return graph_conv(x.to(weight.dtype), index, weight, bias, scale)
    index, scale = _as_tables(x, index, scale)
    _check_shapes(x, index, weight, bias, scale)
    samples = x.shape[:-2]
    if len(samples) == 1:
        return convolve(x, index, weight, bias, scale)
    n_samples = math.prod(samples)
    flat_x = x.reshape(n_samples, *x.shape[-2:])
    if index.ndim > 2:
        index = index.reshape(n_samples, *index.shape[-2:])
        scale = None if scale is None else scale.reshape(index.shape)
    out = convolve(flat_x, index, weight, bias, scale)
    return out.reshape(*samples, *out.shape[-2:])


def _check_tensors(x: Any, weight: Any, bias: Any) -> None:
    for name, tensor in (("x", x), ("weight", weight), ("bias", bias)):
        if tensor is None and name == "bias":
            continue
        if not isinstance(tensor, Tensor) or not tensor.dtype.is_floating_point:
            given = tensor.dtype if isinstance(tensor, Tensor) else describe(tensor)
            raise TypeError(f"{name} must be a floating-point tensor; got {given}.")
        if tensor.layout != torch.strided:
            raise TypeError(f"{name} must be a dense tensor; got one of {tensor.layout}.")
        if _may_be_dual() and forward_ad.unpack_dual(tensor).tangent is not None:
            raise NotImplementedError(
                "graph_conv has no forward-mode derivative. Use reverse mode: autograd, backward()."
            )


def _may_be_dual() -> bool:
    """Tell whether forward mode is on: unpacking takes microseconds, a private name far less."""
    return getattr(forward_ad, "_current_level", 0) >= 0


def _as_tables(x: Tensor, index: Any, scale: Any) -> tuple[Tensor, Tensor | None]:
    if isinstance(index, np.ndarray) and index.dtype.kind in "iu":
        index = torch.tensor(index.astype(np.int64))
    if not isinstance(index, Tensor) or index.dtype not in (torch.int64, torch.int32):
        given = index.dtype if isinstance(index, Tensor) else describe(index)
        raise TypeError(f"index must hold integers (int64 or int32); got {given}.")
    index = index.to(device=x.device, dtype=torch.int64)
    if isinstance(scale, np.ndarray) and scale.dtype.kind in "biuf":
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
