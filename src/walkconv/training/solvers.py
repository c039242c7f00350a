"""Solvers and learning rate schedules, by name."""

import math
from collections.abc import Callable, Iterable

import torch
from torch.nn import Parameter
from torch.optim import Optimizer

from walkconv.training.rmsprop import RMSprop

WARM_UP = 0.3
FIRST_SHARE = 0.04


def one_cycle(progress: float) -> float:
    """Return the share of the peak rate at `progress` in [0, 1]: up from 4 %, then down to 0.

    Both ways follow half a cosine (Smith and Topin 2017). A function of the position alone, so
    training continues from any step without a state.

    Examples
    --------
    >>> from walkconv.training.solvers import one_cycle
    >>> [round(one_cycle(progress), 2) for progress in (0.0, 0.3, 0.65, 1.0)]
    [0.04, 1.0, 0.5, 0.0]
    """
    if progress < WARM_UP:
        risen = (1 - math.cos(math.pi * progress / WARM_UP)) / 2
        return FIRST_SHARE + (1 - FIRST_SHARE) * risen
    return (1 + math.cos(math.pi * (progress - WARM_UP) / (1 - WARM_UP))) / 2


def constant(progress: float) -> float:
    """Return the full rate, always."""
    return 1.0


def _adamw(parameters: Iterable[Parameter], rate: float, decay: float) -> Optimizer:
    return torch.optim.AdamW(parameters, lr=rate, weight_decay=decay, fused=True)


def _adam(parameters: Iterable[Parameter], rate: float, decay: float) -> Optimizer:
    return torch.optim.Adam(parameters, lr=rate, weight_decay=decay, fused=True)


def _rmsprop(parameters: Iterable[Parameter], rate: float, decay: float) -> Optimizer:
    # NOTE[PAPER]: 0.9 is Keras's default, with which the original code was run; torch's is 0.99.
    return RMSprop(parameters, lr=rate, alpha=0.9, weight_decay=decay)


Solver = Callable[[Iterable[Parameter], float, float], Optimizer]

SOLVERS: dict[str, Solver] = {"adamw": _adamw, "adam": _adam, "rmsprop": _rmsprop}
SCHEDULES: dict[str, Callable[[float], float]] = {"one_cycle": one_cycle, "constant": constant}
"""From the progress of the training in [0, 1] to the share of the learning rate."""
