"""Checks of what is given to ``torch.ops.walkconv`` directly, past `graph_conv`.

The kernel goes where shapes and types lead it. Shapes that do not fit would crash the process.
"""

import torch
from torch import Tensor


def check_raw(
    x: Tensor,
    index: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    scale: Tensor | None,
    grad: Tensor | None = None,
) -> None:
    """Refuse arguments of the operators that do not fit each other.

    Shapes as in `define_graph_conv`; `grad` has that of its result.
    """
    if x.ndim != 3 or weight.ndim != 3 or index.ndim not in (2, 3):
        raise ValueError(
            "The operator needs x (M, n_in, c_in), index (N, p) or (M, N, p) and weight "
            f"(p, c_in, c_out); got {tuple(x.shape)}, {tuple(index.shape)}, {tuple(weight.shape)}."
        )
    if index.dtype != torch.int64 or not x.dtype.is_floating_point:
        raise TypeError(f"x must hold floats and index int64; got {x.dtype} and {index.dtype}.")
    (n_samples, _, c_in), n_nodes, c_out = x.shape, index.shape[-2], weight.shape[2]
    wanted = {
        "index": (index, (*([n_samples] if index.ndim == 3 else []), n_nodes, index.shape[-1])),
        "weight": (weight, (index.shape[-1], c_in, c_out)),
        "bias": (bias, (c_out,)),
        "scale": (scale, tuple(index.shape)),
        "grad": (grad, (n_samples, n_nodes, c_out)),
    }
    for name, (tensor, shape) in wanted.items():
        if tensor is not None and tuple(tensor.shape) != shape:
            raise ValueError(f"{name} must have shape {shape}; got {tuple(tensor.shape)}.")
    for name, tensor in (("weight", weight), ("bias", bias), ("scale", scale), ("grad", grad)):
        if tensor is not None and (tensor.dtype, tensor.device) != (x.dtype, x.device):
            raise TypeError(
                f"{name} must be of the type and on the device of x ({x.dtype}, {x.device}); "
                f"got {tensor.dtype}, {tensor.device}."
            )
    if index.device != x.device:
        raise TypeError(f"index must be on the device of x ({x.device}); got {index.device}.")
