"""What training makes small: losses by name, and functions of the user."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor
from torch.nn import functional

from walkconv._checks import check_number, closest, describe

Rowwise = Callable[[Tensor, Tensor], Tensor]
"""(outputs (m, n_outputs), encoded targets) -> the loss of each row (m,)."""
FUNCTION = "function"
"""What a file calls the loss if it was a function."""
USUAL = {"quantile": 0.5}
"""The number of a loss that is given by name alone; 0 for the others."""
PAIRS = {"quantile": ("quantile", 0.9), "cross_entropy": ("cross_entropy", 0.1)}
"""Losses that may be given with a number, and an example of each."""


@dataclass(frozen=True)
class Loss:
    """The loss of a fit.

    Attributes
    ----------
    name : str
        "function" if the user gave one.
    parameter : float
        The quantile, or the label smoothing; 0 for the others.
    function : callable or None
        The function of the user. A file does not keep it.
    """

    name: str
    parameter: float = 0.0
    function: Rowwise | None = None

    @property
    def setting(self) -> str | tuple[str, float]:
        """The value of `loss` that means this: a name, or a name and its number."""
        is_usual = self.parameter == USUAL.get(self.name, 0.0)
        return self.name if is_usual else (self.name, self.parameter)

    @property
    def predicts_logarithms(self) -> bool:
        """Whether an output is the logarithm of the prediction."""
        return self.name == "poisson"

    @property
    def is_robust(self) -> bool:
        """Whether y is scaled by its median and quartiles, which far values do not move."""
        return self.name in ("absolute_error", "huber", "quantile")

    def of_rows(self, outputs: Tensor, target: Tensor) -> Tensor:
        """Return the loss (m,) of outputs (m, n_outputs)."""
        if self.name != FUNCTION:
            return BY_NAME[self.name](outputs, target, self.parameter)
        found: Any = self._given()(outputs, target)
        if not isinstance(found, Tensor) or found.shape != (len(outputs),):
            raise TypeError(
                f"loss must return a Tensor of shape ({len(outputs)},), one number for each row; "
                f"got {describe(found)}. Average over the outputs, not over the rows."
            )
        return found

    def refuse_lost(self) -> None:
        """Refuse to train with a function that a file did not keep."""
        if self.name == FUNCTION:
            self._given()

    def _given(self) -> Rowwise:
        if self.function is None:
            raise ValueError(
                "The loss was a function, which a file does not keep. Set it again, with "
                "model.set_params(loss=...), and fit."
            )
        return self.function

    def to_plain(self) -> dict[str, Any]:
        """Return the name and its parameter, for a file."""
        return {"name": self.name, "parameter": self.parameter}


def read_loss(plain: Mapping[str, Any], known: list[str]) -> Loss:
    """Return the loss that `to_plain` wrote, one of those known, checked."""
    name = plain["name"]
    if name not in [*known, FUNCTION]:
        raise ValueError(f"the loss must be one of {known}; it is {name!r}.")
    if name in PAIRS:
        return Loss(name, _check_parameter(name, plain["parameter"]))
    if plain["parameter"] != 0:
        raise ValueError(f"the loss {name!r} has no number; got {plain['parameter']!r}.")
    return Loss(name)


def check_loss(loss: Any, known: list[str]) -> Loss:
    """Return the loss that a setting means, or raise an error that says what is wrong with it.

    Examples
    --------
    >>> from walkconv.training.losses import REGRESSION, check_loss
    >>> check_loss(("quantile", 0.9), REGRESSION).parameter
    0.9
    """
    if loss is None:  # in a loaded model whose loss was a function
        return Loss(FUNCTION)
    if callable(loss):
        return Loss(FUNCTION, function=cast(Rowwise, loss))
    is_pair = isinstance(loss, tuple) and len(loss) == 2
    name = loss[0] if is_pair else loss
    if not isinstance(name, str) or name not in known:
        listed = ", ".join(repr(each) for each in known)
        pair = next(example for each, example in PAIRS.items() if each in known)
        raise ValueError(
            f"loss must be one of {listed}, a pair such as {pair}, or a function "
            f"(outputs, target) -> (m,); got {describe(loss)}.{closest(name, known)}"
        )
    return Loss(name, _check_parameter(name, loss[1]) if is_pair else USUAL.get(name, 0.0))


def _check_parameter(name: str, value: Any) -> float:
    """Return the number that goes with the name of a loss, checked."""
    if name == "quantile":
        return check_number(value, "the quantile in loss", minimum=0, below=1, is_open=True)
    if name == "cross_entropy":
        return check_number(value, "the label smoothing in loss", minimum=0, below=1)
    raise ValueError(f"loss={name!r} goes without a number; got {(name, value)!r}.")


def _squared_error(outputs: Tensor, target: Tensor, _: float) -> Tensor:
    return (outputs - target).square().mean(dim=1)


def _absolute_error(outputs: Tensor, target: Tensor, _: float) -> Tensor:
    return (outputs - target).abs().mean(dim=1)


def _huber(outputs: Tensor, target: Tensor, _: float) -> Tensor:
    return functional.huber_loss(outputs, target, reduction="none").mean(dim=1)


def _quantile(outputs: Tensor, target: Tensor, quantile: float) -> Tensor:
    above = target - outputs
    return torch.maximum(quantile * above, (quantile - 1) * above).mean(dim=1)


def _poisson(outputs: Tensor, target: Tensor, _: float) -> Tensor:
    return (outputs.exp() - target * outputs).mean(dim=1)


def _cross_entropy(outputs: Tensor, target: Tensor, smoothing: float) -> Tensor:
    return functional.cross_entropy(outputs, target, reduction="none", label_smoothing=smoothing)


BY_NAME: dict[str, Callable[[Tensor, Tensor, float], Tensor]] = {
    "squared_error": _squared_error,
    "absolute_error": _absolute_error,
    "huber": _huber,
    "quantile": _quantile,
    "poisson": _poisson,
    "cross_entropy": _cross_entropy,
}
SQUARED_ERROR = Loss("squared_error")
CROSS_ENTROPY = Loss("cross_entropy")
CLASSIFICATION = ["cross_entropy"]
REGRESSION = [name for name in BY_NAME if name not in CLASSIFICATION]
