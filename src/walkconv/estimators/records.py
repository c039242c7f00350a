"""The records that pass through a fit: what is asked, rows, what y means, what was learned."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from torch import Tensor, nn

from walkconv.estimators.choice import Choice
from walkconv.estimators.filters import Filters
from walkconv.estimators.samples import Learned, Samples
from walkconv.estimators.settings import CHOSEN, Settings, check_settings, is_open, is_option
from walkconv.networks.network import NetworkPlan
from walkconv.training.scoring import PredictedClasses, PredictedValues


class Target(Protocol):
    """What y means: classes or values. Learned from the training rows, frozen."""

    is_classification: ClassVar[bool]

    @property
    def n_outputs(self) -> int:
        """Outputs of the network."""
        ...

    def encode(self, y: np.ndarray) -> np.ndarray:
        """Return y as the loss takes it, one row for each sample."""
        ...

    def loss_weight(self, y: np.ndarray, weight: np.ndarray, class_weight: Any) -> np.ndarray:
        """Return the weight (n_samples,) of each row in the loss; y is encoded."""
        ...

    def row_losses(self, outputs: Tensor, target: Tensor) -> Tensor:
        """Return the loss (m,) of outputs (m, n_outputs)."""
        ...

    def errors(self, outputs: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the error (m,) of each sample for encoded y; the search compares their means."""
        ...

    def score(self, outputs: np.ndarray, y: np.ndarray, weight: np.ndarray) -> float:
        """Return how good the outputs are for encoded y; higher is better."""
        ...

    def output_of(self, target: Any) -> int:
        """Return the number of the output that users call `target`."""
        ...

    def prediction(self, outputs: Tensor, which: Tensor) -> Tensor:
        """Return what is predicted (m,) by output `which` (m,) of outputs (m, n_outputs)."""
        ...

    def answers(self, outputs: np.ndarray) -> PredictedClasses | PredictedValues:
        """Return an estimator that knows the answers of outputs (n_samples, n_outputs)."""
        ...

    def calibrated(self, outputs: np.ndarray, y: np.ndarray) -> tuple[Self, float]:
        """Return what outputs (n_members, n_samples, n_outputs) for unseen rows with encoded y say.

        A target that knows its uncertainty, and the temperature to divide outputs by.
        """
        ...

    def attributes(self) -> dict[str, Any]:
        """Return the fitted attributes of the estimator."""
        ...

    def to_arrays(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Return the record as arrays and plain values, for a file."""
        ...

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray], plain: Mapping[str, Any]) -> Self:
        """Return the record that `to_arrays` wrote, or raise an error if it is not whole."""
        ...


@dataclass(frozen=True, eq=False)
class Fitted:
    """All that a fit has learned.

    Attributes
    ----------
    settings : Settings
    parameters : dict
        The parameters of the estimator at the time of the fit.
    learned : Learned
        What was learned about the samples before any weight.
    target : Target
    modules : list of Module
        The ensemble members.
    history : list of dict
        A record for each epoch.
    choice : Choice or None
        What the search chose; None if the architecture was given.
    solvers : list of dict or None
        The moments of the solver of every member, if further parts of a stream may follow.
    """

    settings: Settings
    parameters: dict[str, Any]
    learned: Learned
    target: Target
    modules: list[nn.Module]
    history: list[dict[str, Any]]
    choice: Choice | None = None
    solvers: list[dict[str, Any]] | None = None


@dataclass(frozen=True, eq=False)
class Request:
    """What a fit is asked to do.

    Attributes
    ----------
    settings : Settings
        Before a search has chosen, with the values of a given architecture for open settings.
    parameters : dict
        The parameters of the estimator.
    given : dict
        The parameters and the class attributes that `check_settings` takes, open ones included.
    target_checks : dict
        Of scikit-learn's checks of y.
    learn_target : callable
        From y and the settings to a `Target`.
    make_network : callable
        From a plan to a new module.
    random_state
    is_open : bool
        Whether a search chooses the architecture.
    calibrates : bool
        Whether calibration was asked for and must be possible.
    past : Fitted or None
        What to continue from, for a warm start.
    filters : Filters or None
        Filters of another model to start with.
    checkpoint : path or None
    after_epoch : callable or None
        Takes the model after an epoch and returns what joins the record of that epoch.
    is_part : bool
        Whether the rows are a part of a stream: they are passed over once.
    """

    settings: Settings
    parameters: dict[str, Any]
    given: dict[str, Any]
    target_checks: dict[str, bool]
    learn_target: Callable[[np.ndarray, Settings], Target]
    make_network: Callable[[NetworkPlan], nn.Module]
    random_state: Any
    is_open: bool
    calibrates: bool = False
    past: Fitted | None = None
    filters: Filters | None = None
    checkpoint: str | os.PathLike | None = None
    after_epoch: Callable[[Fitted], Any] | None = None
    is_part: bool = False

    @property
    def given_settings(self) -> dict[str, Any]:
        """The settings that the search would choose, but which were given."""
        return {
            name: self.given[name]
            for name in CHOSEN
            if not is_open(name, self.given[name])
            and not (name == "order" and is_option(self.given[name], "auto"))
        }

    def choosing(self, choice: Mapping[str, Any]) -> Self:
        """Return the request with the settings of a choice."""
        return replace(self, settings=check_settings({**self.given, **choice}))


@dataclass(frozen=True, eq=False)
class Rows:
    """Samples with their targets and weights.

    Attributes
    ----------
    samples : Samples
    y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        As the loss takes it, once it is encoded.
    weight : ndarray of shape (n_samples,), float64
    given : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        y as it was given.
    """

    samples: Samples
    y: np.ndarray
    weight: np.ndarray
    given: np.ndarray

    def take(self, rows: np.ndarray) -> "Rows":
        """Return some of the rows."""
        samples = self.samples.take(rows)
        return Rows(samples, self.y[rows], self.weight[rows], self.given[rows])
