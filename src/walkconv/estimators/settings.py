"""The settings of an estimator, checked once at the start of fit and kept."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, cast

import numpy as np
import torch

from walkconv._adapters import is_form
from walkconv._checks import (
    check_flag,
    check_integer,
    check_number,
    check_option,
    check_steps,
    describe,
)
from walkconv._defaults import N_NEIGHBORS
from walkconv.networks.architecture import Convolution, Layer, Pooling, parse_architecture
from walkconv.networks.network import Dropped, Weighting
from walkconv.training.loop import SCHEDULES, SOLVERS, WHOLE, Precision, TrainingSettings
from walkconv.training.losses import Loss
from walkconv.training.scoring import Scorer, check_scoring

ORDERS = ("visits", "direction", "auto")
CHOSEN = {
    "architecture": "auto",
    "n_neighbors": "auto",
    "order": None,
    "shift": "auto",
    "standardize": "auto",
    "dropout": "auto",
    "solver": "auto",
    "learning_rate": "auto",
    "weight_decay": "auto",
    "max_iter": "auto",
    "n_members": "auto",
}
"""Settings that the search chooses, and the value of each that leaves the choice to it."""
FIXED = {
    "n_neighbors": N_NEIGHBORS,
    "order": "visits",
    "shift": 0,
    "standardize": True,
    "solver": "adamw",
    "learning_rate": 1e-3,
    "weight_decay": 1e-2,
    "max_iter": 20,
}
"""What they are with a given architecture; the estimators add their dropout and members."""
BEFORE_CHOICE = {"architecture": "C8-FC128", "order": "auto"}
"""What stands for them until a search has chosen, to check the settings that were given."""
OF_CLASS = ("ties", "weighting", "conv_dropped", "normalization")
"""Settings that are class attributes of the estimators."""
MOST_MEMBERS = 1000
PATIENCE = 10
"""Epochs without a better score before ``early_stopping=True`` stops."""
CALIBRATION_FOLDS = 5
"""Parts of the rows, each of which is predicted by a network that was trained on the others."""


@dataclass(frozen=True, eq=False)
class Settings:
    """What `fit` needs to know, every value checked; the estimators say what each means.

    `positions` are those given as `order`, which is "direction" then.
    """

    layers: tuple[Layer, ...]
    graph: Any
    n_neighbors: int
    n_steps: int | Literal["auto"]
    order: Literal["visits", "direction", "auto"]
    positions: Any
    n_dims: int | Literal["auto"]
    shift: int
    ties: Any
    standardize: bool | Literal["relevance"]
    soft_clip: float | None
    weighting: Weighting
    normalization: Literal["batch"] | None
    dropout: float
    conv_dropout: float
    conv_dropped: Dropped
    training: TrainingSettings
    stops_early: bool
    validation_fraction: float
    scoring: Scorer | None
    loss: Loss
    n_members: int
    time_limit: float | None
    device: torch.device
    verbose: int

    @property
    def graph_source(self) -> Literal["none", "name", "callable", "given"]:
        """Where the graph comes from: nowhere, a learner by name, a callable, or it is given."""
        if self.graph is None:
            return "none"
        if isinstance(self.graph, str | bytes):
            return "name"
        return "given" if is_form(self.graph) or not callable(self.graph) else "callable"

    @property
    def nodewise(self) -> tuple[Layer, ...]:
        """The C and P layers."""
        return tuple(layer for layer in self.layers if isinstance(layer, Convolution | Pooling))

    @property
    def pools(self) -> bool:
        """Whether there is a P layer."""
        return any(isinstance(layer, Pooling) for layer in self.layers)

    @property
    def kept_by_warm_start(self) -> tuple[Any, ...]:
        """What must not change before a warm start, besides the graph and given positions."""
        slots = (self.n_neighbors, self.n_steps, self.order, self.n_dims, self.weighting)
        return (self.nodewise, *slots, self.standardize, self.soft_clip)


def is_open(name: str, value: Any) -> bool:
    """Tell whether a parameter leaves a setting to the search."""
    if name not in CHOSEN:
        return False
    return value is None if CHOSEN[name] is None else is_option(value, CHOSEN[name])


def is_option(value: Any, option: str) -> bool:
    """Tell whether a setting has this text as its value; it may be an array."""
    return isinstance(value, str) and value == option


def with_fixed(parameters: Mapping[str, Any], fixed: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters with fixed values for the open ones.

    Examples
    --------
    >>> from walkconv.estimators.settings import with_fixed
    >>> with_fixed({"dropout": "auto", "max_iter": 5}, {"dropout": 0.2, "max_iter": 20})
    {'dropout': 0.2, 'max_iter': 5}
    """
    return {n: fixed[n] if is_open(n, value) else value for n, value in parameters.items()}


def plain_value(value: Any, name: str) -> Any:
    """Return a parameter as JSON holds it."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if callable(value):
        return callable_name(value)
    if name == "random_state":
        return None  # a generator has moved on; a number can be given instead
    if isinstance(value, dict):
        return {"pairs": [[plain_value(key, name), plain_value(value[key], name)] for key in value]}
    if isinstance(value, tuple):
        return [plain_value(part, name) for part in value]
    return str(value)


def callable_name(function: Callable[..., Any]) -> str:
    """Return a name that is the same in another process."""
    if isinstance(function, partial):
        return callable_name(function.func)
    kind = function if hasattr(function, "__qualname__") else type(function)
    return f"{kind.__module__}.{kind.__qualname__}"


def check_settings(parameters: Mapping[str, Any]) -> Settings:
    """Return the checked settings of an estimator, or raise an error that names the wrong one.

    Parameters
    ----------
    parameters : mapping
        The constructor's parameters without open settings (`with_fixed`), with `loss` as a record,
        and the class attributes `OF_CLASS`.
    """
    given = dict(parameters)
    if given["normalization"] is not None:
        check_option(given["normalization"], "normalization", ["batch"])
    if given["soft_clip"] is not None:
        check_number(given["soft_clip"], "soft_clip", minimum=0, is_open=True)
    if isinstance(given["ties"], str):
        check_option(given["ties"], "ties", ["index", "random", "position"])
    order, positions = _check_order(given["order"])
    layers = parse_architecture(given["architecture"])
    shift = check_integer(given["shift"], "shift", minimum=0)
    if shift and order == "visits":
        raise ValueError(
            f"shift needs directions: order must be 'direction', 'auto' or positions; got "
            f"order='visits' with shift={shift}."
        )
    if shift and not (layers and isinstance(layers[0], Convolution)):
        raise ValueError(
            "shift moves rows along the neighbours of the columns: the architecture must begin "
            f"with a C layer; got {given['architecture']!r} with shift={shift}."
        )
    check_option(given["solver"], "solver", list(SOLVERS))
    if given["solver"] == WHOLE and layers:
        raise ValueError(
            f"solver={WHOLE!r} solves linear models: architecture must be ''; got "
            f"{given['architecture']!r}. Choose 'adamw' for networks."
        )
    check_flag(given["warm_start"], "warm_start")
    patience = _check_patience(given["early_stopping"])
    return Settings(
        layers=layers,
        graph=given["graph"],
        n_neighbors=check_integer(given["n_neighbors"], "n_neighbors", minimum=1),
        n_steps=_check_steps(given["n_steps"]),
        order=order,
        positions=positions,
        n_dims=_check_dims(given["n_dims"]),
        shift=shift,
        ties=given["ties"],
        standardize=_check_standardize(given["standardize"]),
        soft_clip=given["soft_clip"],
        weighting=cast(
            Weighting, check_option(given["weighting"], "weighting", ["rank", "signed_visits"])
        ),
        normalization=given["normalization"],
        dropout=check_number(given["dropout"], "dropout", minimum=0, below=1),
        conv_dropout=check_number(given["conv_dropout"], "conv_dropout", minimum=0, below=1),
        conv_dropped=cast(
            Dropped, check_option(given["conv_dropped"], "conv_dropped", ["nodes", "values"])
        ),
        training=_check_training(given, patience),
        stops_early=patience is not None,
        validation_fraction=check_number(
            given["validation_fraction"], "validation_fraction", minimum=0, below=1, is_open=True
        ),
        scoring=None if given["scoring"] is None else check_scoring(given["scoring"]),
        loss=given["loss"],
        n_members=check_integer(given["n_members"], "n_members", minimum=1, maximum=MOST_MEMBERS),
        time_limit=_check_time(given["time_limit"]),
        device=check_device(given["device"]),
        verbose=check_integer(given["verbose"], "verbose", minimum=0),
    )


def _check_training(given: Mapping[str, Any], patience: int | None) -> TrainingSettings:
    rate = check_number(given["learning_rate"], "learning_rate", minimum=0, is_open=True)
    return TrainingSettings(
        solver=given["solver"],
        schedule=check_option(given["schedule"], "schedule", list(SCHEDULES)),
        learning_rate=rate,
        weight_decay=check_number(given["weight_decay"], "weight_decay", minimum=0),
        batch_size=check_batch_size(given["batch_size"]),
        max_iter=check_integer(given["max_iter"], "max_iter", minimum=1),
        patience=patience,
        precision=cast(
            Precision, check_option(given["precision"], "precision", ["float32", "bfloat16"])
        ),
    )


def _check_standardize(standardize: Any) -> bool | Literal["relevance"]:
    if is_option(standardize, "relevance"):
        return "relevance"
    if isinstance(standardize, str):
        raise TypeError(
            f"standardize must be True, False, 'relevance' or 'auto'; got {describe(standardize)}."
        )
    return check_flag(standardize, "standardize")


def _check_time(time_limit: Any) -> float | None:
    if time_limit is None:
        return None
    return check_number(time_limit, "time_limit", minimum=0, is_open=True)


def _check_order(order: Any) -> tuple[Literal["visits", "direction", "auto"], Any]:
    """Return the order of the slots, and the positions where these were given."""
    if isinstance(order, str):
        check_option(order, "order", ORDERS)
        return cast(Literal["visits", "direction", "auto"], order), None
    if not hasattr(order, "shape") and not isinstance(order, list | tuple):
        options = ", ".join(repr(option) for option in ORDERS)
        raise ValueError(
            f"order must be one of {options}, or positions of shape (n_nodes, n_dims); "
            f"got {describe(order)}."
        )
    return "direction", order


def _check_dims(n_dims: Any) -> int | Literal["auto"]:
    if isinstance(n_dims, str):
        check_option(n_dims, "n_dims", ["auto"])
        return "auto"
    return check_integer(n_dims, "n_dims", minimum=1, maximum=3)


def _check_steps(n_steps: Any) -> int | Literal["auto"]:
    if isinstance(n_steps, str):
        check_option(n_steps, "n_steps", ["auto"])
        return "auto"
    return check_steps(n_steps)


def _check_patience(early_stopping: Any) -> int | None:
    """Return the number of epochs to wait for a better score, None for no early stopping."""
    if isinstance(early_stopping, bool):
        return PATIENCE if early_stopping else None
    try:
        return check_integer(early_stopping, "early_stopping", minimum=1)
    except TypeError:
        raise TypeError(
            "early_stopping must be True, False or a number of epochs to wait; "
            f"got {describe(early_stopping)}."
        ) from None


def check_calibrate(calibrate: Any, time_limit: float | None) -> bool | Literal["auto"]:
    """Return `calibrate` when it is True, False or "auto", and goes with the time limit."""
    if isinstance(calibrate, str):
        if calibrate != "auto":
            raise ValueError(f"calibrate must be True, False or 'auto'; got {describe(calibrate)}.")
        return "auto"
    if check_flag(calibrate, "calibrate") and time_limit is not None:
        raise ValueError(
            "calibrate=True does not go with a time_limit: it trains more networks than the "
            "limit counts. Leave one of them out."
        )
    return calibrate


def check_calibration_rows(n_rows: int) -> None:
    """Refuse fewer rows than calibration divides."""
    if n_rows < 2 * CALIBRATION_FOLDS:
        raise ValueError(
            f"calibrate=True needs at least {2 * CALIBRATION_FOLDS} rows; got {n_rows}. Leave it "
            "out, or add rows."
        )


def check_batch_size(batch_size: Any) -> int | None:
    """Return the number of rows in a batch, None if the number of training rows decides."""
    if isinstance(batch_size, str):
        check_option(batch_size, "batch_size", ["auto"])
        return None
    return check_integer(batch_size, "batch_size", minimum=2)


def check_device(device: Any) -> torch.device:
    """Return the torch device; "auto" is a GPU (CUDA, or MPS on a Mac) if there is one."""
    if isinstance(device, str) and device == "auto":
        if torch.cuda.is_available():
            return torch.device("cuda")
        return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    try:
        found = torch.device(device)
    except (RuntimeError, TypeError):
        raise ValueError(
            f"device must be 'auto' or a device of torch such as 'cpu' or 'cuda:0'; "
            f"got {describe(device)}."
        ) from None
    try:
        torch.empty(0, device=found)
    except (AssertionError, ImportError, RuntimeError) as error:
        reason = str(error).partition("\n")[0].rstrip(".")
        raise ValueError(
            f"device '{found}' is not available ({reason}); use 'auto' or 'cpu'."
        ) from None
    return found
