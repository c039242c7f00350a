"""Linear models solved: the quasi-Newton method L-BFGS on all rows at once.

The loss of a linear model is convex, so there is one minimum, and a few dozen passes find it. Small
steps on batches need hundreds of passes, and end somewhere near it.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import cast

import numpy as np
import torch
from scipy.optimize import minimize
from torch import Tensor
from torch.nn import Parameter

MOST_PASSES = 100
"""Iterations of one solution; a linear model of scaled columns takes twenty to sixty."""
TOLERANCE = 1e-9
"""The solution ends when an iteration lowers the loss by a smaller share."""


class LBFGS(torch.optim.Optimizer):
    """The weights that make the loss of all rows least, found in a single step.

    Parameters
    ----------
    params : iterable of Parameter
    weight_decay : float
        Of the L2 penalty ``weight_decay / 2 * sum(w ** 2)``; biases are free.

    Examples
    --------
    >>> import torch
    >>> from walkconv.training.lbfgs import LBFGS
    >>> weight = torch.nn.Parameter(torch.zeros(1, 1))
    >>> solver = LBFGS([weight], weight_decay=1.0)
    >>> def loss():
    ...     value = (weight - 3).square().sum() / 2
    ...     weight.grad = (weight - 3).detach()
    ...     return value
    >>> _ = solver.step(loss)
    >>> round(weight.item(), 4)  # the minimum of (w - 3)^2 / 2 + w^2 / 2
    1.5
    """

    def __init__(self, params: Iterable[Parameter], weight_decay: float = 0.0):
        super().__init__(params, {"weight_decay": weight_decay})

    def step(self, closure: Callable[[], Tensor]) -> Tensor:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Move the weights to the minimum and return the loss there, without the penalty.

        Parameters
        ----------
        closure : callable
            Returns the loss and leaves its gradients. It may raise StopIteration: then the best
            weights so far are kept.
        """
        (group,) = self.param_groups
        weights: list[Tensor] = [each for each in group["params"] if each.requires_grad]
        decay = np.concatenate(
            [np.full(each.numel(), group["weight_decay"] * (each.ndim > 1)) for each in weights]
        )
        best = (np.inf, _flat(weights), torch.zeros(()))

        def value(x: np.ndarray) -> tuple[float, np.ndarray]:
            nonlocal best
            _put(x, weights)
            with torch.enable_grad():
                loss = closure().detach()
            total = float(loss) + float(decay @ x**2) / 2
            if total < best[0]:
                best = total, x.copy(), loss
            return total, _flat([cast(Tensor, each.grad) for each in weights]) + decay * x

        limits = {"maxiter": MOST_PASSES, "ftol": TOLERANCE, "gtol": TOLERANCE}
        with suppress(StopIteration):
            minimize(value, best[1], jac=True, method="L-BFGS-B", options=limits)
        _put(best[1], weights)
        return best[2]


def _flat(tensors: list[Tensor]) -> np.ndarray:
    return torch.cat([each.detach().flatten() for each in tensors]).cpu().numpy().astype(np.float64)


@torch.no_grad()
def _put(x: np.ndarray, weights: list[Tensor]) -> None:
    values = torch.from_numpy(x)
    for weight, part in zip(weights, values.split([w.numel() for w in weights]), strict=True):
        weight.copy_(part.view_as(weight))
