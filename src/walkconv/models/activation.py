"""What follows a convolution: its ReLU and, in training, what is left out of it."""

from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional

from walkconv.models.whole_batch import draw_for_rows

Dropped = Literal["nodes", "values"]


def activate(x: Tensor, dropout: float, dropped: Dropped, *, is_training: bool) -> Tensor:
    """Return the ReLU of x (..., n_nodes, c), in training with nodes or single values left out.

    What is left out is so first, which changes nothing and lets the ReLU overwrite the product.

    Examples
    --------
    >>> import torch
    >>> from walkconv.models.activation import activate
    >>> _ = torch.manual_seed(0)
    >>> activate(torch.ones(1, 4, 2), 0.5, "nodes", is_training=True)
    tensor([[[0., 0.],
             [0., 0.],
             [2., 2.],
             [0., 0.]]])
    """
    if not (is_training and dropout):
        return x.relu()
    if dropped == "nodes":
        return (x * functional.dropout(x.new_ones(*x.shape[:-1], 1), dropout)).relu_()
    kept = draw_for_rows(len(x), lambda n_rows: _kept(x.shape[1:], n_rows, dropout, x.device))
    return (x * kept.to(x.dtype).mul_(1 / (1 - dropout))).relu_()


def _kept(shape: torch.Size, n_rows: int, dropout: float, device: torch.device) -> Tensor:
    """Return which values (n_rows, *shape) stay, by 16 random bits each.

    So the chance is exact to 2^-16, in a fraction of the time of `torch.nn.functional.dropout`,
    which draws a number for every value.
    """
    n_values = n_rows * shape.numel()
    bits = torch.empty(-(-n_values // 4), dtype=torch.int64, device=device).random_(-(2**63), None)
    least = min(round((dropout - 0.5) * 2**16), 2**15 - 1)
    return bits.view(torch.int16)[:n_values].view(n_rows, *shape) >= least
