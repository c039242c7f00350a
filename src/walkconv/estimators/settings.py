"""The settings of an estimator, checked at the start of fit."""

from dataclasses import dataclass
from typing import Any

import torch

from walkconv._checks import check_flag, check_integer, check_number, check_option, describe
from walkconv.estimators.orientation import check_order
from walkconv.models.architecture import Convolution, Layer, Pooling, parse_architecture
from walkconv.models.solvers import SOLVERS
from walkconv.models.training import TrainingSettings


@dataclass(frozen=True)
class Settings:
    """What `fit` needs to know, every value checked."""

    layers: tuple[Layer, ...]
    network: dict[str, Any]
    training: TrainingSettings
    n_members: int
    device: torch.device

    @property
    def needs_graph(self) -> bool:
        """Whether there is a convolution or a pooling."""
        return any(isinstance(layer, Convolution | Pooling) for layer in self.layers)


def check_settings(model: Any) -> Settings:
    """Return the settings of an estimator, or say which is wrong."""
    layers = parse_architecture(model.architecture)
    if model.normalization is not None:
        check_option(model.normalization, "normalization", ["batch"])
    check_flag(model.standardize, "standardize")
    if model.clip is not None:
        check_number(model.clip, "clip", minimum=0, is_open=True)
    if isinstance(model.ties, str):
        check_option(model.ties, "ties", ["index", "random", "position"])
    check_order(model.order, model.positions)
    shift = check_integer(model.shift, "shift", minimum=0)
    if shift and model.order == "visits":
        raise ValueError(f"shift is for order='direction' or 'auto'; got shift={shift}.")
    network = {
        "weighting": check_option(model.weighting, "weighting", ["rank", "signed_visits"]),
        "pooling": check_option(model.pooling, "pooling", ["max", "mean"]),
        "readout": check_option(model.readout, "readout", ["sum", "log_sum", "mean", "max"]),
        "normalization": model.normalization,
        "dropout": check_number(model.dropout, "dropout", minimum=0, below=1),
        "conv_dropout": check_number(model.conv_dropout, "conv_dropout", minimum=0, below=1),
        "conv_dropped": check_option(model.conv_dropped, "conv_dropped", ["nodes", "values"]),
    }
    stops_early = check_flag(model.early_stopping, "early_stopping")
    check_number(model.validation_fraction, "validation_fraction", minimum=0, below=1, is_open=True)
    patience = check_integer(model.n_iter_no_change, "n_iter_no_change", minimum=1)
    training = TrainingSettings(
        solver=check_option(model.solver, "solver", list(SOLVERS)),
        learning_rate=check_number(model.learning_rate, "learning_rate", minimum=0, is_open=True),
        weight_decay=check_number(model.weight_decay, "weight_decay", minimum=0),
        batch_size=check_batch_size(model.batch_size),
        max_iter=check_integer(model.max_iter, "max_iter", minimum=1),
        n_iter_no_change=patience if stops_early else None,
    )
    check_flag(model.warm_start, "warm_start")
    n_members = check_integer(model.n_members, "n_members", minimum=1)
    return Settings(layers, network, training, n_members, check_device(model.device))


def check_batch_size(batch_size: Any) -> int | None:
    """Return the rows of a batch, None where the number of rows is to decide."""
    if isinstance(batch_size, str):
        check_option(batch_size, "batch_size", ["auto"])
        return None
    return check_integer(batch_size, "batch_size", minimum=2)


def check_device(device: Any) -> torch.device:
    """Return the device meant; "auto" is a GPU where there is one."""
    if isinstance(device, str) and device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
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
            f"device '{found}' is not there ({reason}); use 'auto' or 'cpu'."
        ) from None
    return found
