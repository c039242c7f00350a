"""Batch normalization of a batch that several processes hold together.

Torch has one (``SyncBatchNorm``) for GPUs only.
"""

from typing import Any

import torch
from torch import Tensor

from walkconv.training.processes import Processes


def batch_norm(
    processes: Processes,
    x: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Return x (n, c, ...) scaled by the mean and variance of the whole batch.

    The rest is as in `torch.nn.functional.batch_norm` in training, and so are the running
    statistics, which are brought up to date. Processes may hold different numbers of rows.
    """
    if x.dtype.itemsize < 4:  # under autocast: the sums over all rows would be as short
        x = x.float()
    with torch.no_grad():
        mean, variance, count = _statistics(processes, x)
        if running_mean is not None and running_var is not None:
            running_mean.lerp_(mean, momentum)
            running_var.lerp_(variance * (count / (count - 1)), momentum)
    out = Standardized.apply(processes, x, mean, variance, count, eps)
    if weight is not None:
        out = out * _along_channels(weight, x)
    return out if bias is None else out + _along_channels(bias, x)


class Standardized(torch.autograd.Function):
    """``(x - mean) / sqrt(variance + eps)``, where mean and variance follow from x."""

    @staticmethod
    def forward(
        ctx: Any,
        processes: Processes,
        x: Tensor,
        mean: Tensor,
        variance: Tensor,
        count: Tensor,
        eps: float,
    ) -> Tensor:
        """Return the standardised values, of the shape of x."""
        deviation = (variance + eps).sqrt()
        out = (x - _along_channels(mean, x)) / _along_channels(deviation, x)
        ctx.processes = processes
        ctx.save_for_backward(out, deviation, count)
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradient of x: what moves the mean or the variance of all rows is taken out.

        ``(g - mean(g) - out * mean(g * out)) / deviation``, with means over the whole batch.
        """
        out, deviation, count = ctx.saved_tensors
        gradient, dims = gradients[0], _all_but_channels(out)
        sums = torch.stack([gradient.sum(dims), (gradient * out).sum(dims)])
        shift, slope = (_along_channels(mean, out) for mean in ctx.processes.sum(sums).div_(count))
        moved = (gradient - shift - out * slope) / _along_channels(deviation, out)
        return None, moved, None, None, None, None


def _statistics(processes: Processes, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return the mean (c,), the variance (c,) and the number of values of the whole batch.

    Each process has its own three, and the parts are joined without taking large squares from each
    other (Chan, Golub and LeVeque 1983).
    """
    # As `torch.var_mean`, which is several times slower along the first dimension.
    own = torch.batch_norm_update_stats(x, None, None, 0.0)
    counted = x.new_full((1,), x.numel() / x.shape[1])
    parts = processes.gather(torch.cat([*own, counted]))
    means, variances, counts = parts.split([x.shape[1], x.shape[1], 1], dim=1)
    count = counts.sum()
    mean = (counts * means).sum(dim=0) / count
    variance = (counts * (variances + (means - mean).square())).sum(dim=0) / count
    return mean, variance, count


def _all_but_channels(x: Tensor) -> list[int]:
    return [dim for dim in range(x.ndim) if dim != 1]


def _along_channels(values: Tensor, x: Tensor) -> Tensor:
    """Return values (c,) in a shape that meets the channels of x (n, c, ...)."""
    return values.view(-1, *[1] * (x.ndim - 2))
