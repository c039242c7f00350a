"""The meaning of the convolution: equations (5) and (6) of the paper, gathered and summed."""

import torch
from torch import Tensor


def define_graph_conv(
    x: Tensor, index: Tensor, weight: Tensor, bias: Tensor | None, scale: Tensor | None
) -> Tensor:
    """Return the convolution, every neighbour gathered.

    ``out[m, i, f] = bias[f] + sum_j sum_c weight[j, c, f] * scale[i, j] * x[m, index[i, j], c]``

    Parameters
    ----------
    x : Tensor of shape (M, n_in, c_in)
    index : Tensor of shape (N, p), or (M, N, p) for a table per sample
        -1 is an empty slot: it contributes nothing.
    weight : Tensor of shape (p, c_in, c_out)
    bias : Tensor of shape (c_out,) or None
    scale : Tensor of the shape of `index`, or None

    Returns
    -------
    Tensor of shape (M, N, c_out)
    """
    table = index.expand(len(x), *index.shape[-2:])
    sample = torch.arange(len(x), device=x.device)[:, None, None]
    picked = x[sample, table.clamp(min=0)]  # (M, N, p, c_in)
    picked = torch.where((table >= 0)[..., None], picked, 0)
    if scale is not None:
        picked = picked * scale[..., None]
    out = torch.einsum("mnpc,pcf->mnf", picked, weight)
    return out if bias is None else out + bias
