"""RMSprop in one pass over the weights.

It is Adam that remembers no gradient and does not correct its average for the first steps; so
torch's fused Adam serves, with that correction taken out of the rate and of epsilon. torch's own
RMSprop is not fused, and takes the root of an average that has decayed to almost nothing, as that
of a weight without a gradient does, up to thirty times as long as of another.
"""

import math
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch.nn import Parameter


class RMSprop(torch.optim.Adam):
    """The steps of `torch.optim.RMSprop`, up to rounding.

    Parameters
    ----------
    params : iterable of Parameter
    lr : float
    alpha : float
        Share of the average square of the gradients that is kept at each step.
    eps, weight_decay : float, optional

    Examples
    --------
    >>> import torch
    >>> from walkconv.training.rmsprop import RMSprop
    >>> weight = torch.nn.Parameter(torch.zeros(()))
    >>> weight.grad = torch.ones(())
    >>> RMSprop([weight], lr=0.1, alpha=0.75).step()
    >>> round(weight.item(), 6)  # -0.1 / sqrt(0.25)
    -0.2
    """

    def __init__(
        self,
        params: Iterable[Parameter],
        lr: float,
        *,
        alpha: float,
        eps: float = 1e-8,
        weight_decay: float = 0.0,
    ):
        betas = (0.0, alpha)
        super().__init__(params, lr, betas, eps, weight_decay=weight_decay, fused=True)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Move the weights along their gradients, once."""
        number = 1 + max((int(state["step"]) for state in self.state.values()), default=0)
        given = [(group["lr"], group["eps"]) for group in self.param_groups]
        for group in self.param_groups:
            correction = math.sqrt(1 - group["betas"][1] ** number)
            group["lr"] /= correction
            group["eps"] /= correction
        try:
            return super().step(closure)
        finally:
            for group, (rate, eps) in zip(self.param_groups, given, strict=True):
                group["lr"], group["eps"] = rate, eps
