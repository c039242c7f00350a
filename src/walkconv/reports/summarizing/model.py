"""What a report asks of a fitted model, so that this room need not know the estimators."""

from typing import Any, Protocol

import numpy as np
from torch import nn

from walkconv.networks import Level
from walkconv.walks import Neighbors


class FittedModel(Protocol):
    """A fitted estimator."""

    architecture_: str
    graph: Any
    n_parameters_: int
    n_iter_: int
    history_: list[dict[str, Any]]
    modules_: list[nn.Module]
    module_: nn.Module
    levels_: list[Level]
    neighbors_: Neighbors | None
    positions_: np.ndarray | None
    orientation_: Any
    encoding_: Any
    scaling_: Any

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the settings."""
        ...

    def predict(self, X: Any) -> np.ndarray:
        """Return the predictions."""
        ...


class FittedClassifier(FittedModel, Protocol):
    """A fitted classifier."""

    classes_: np.ndarray

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of each class."""
        ...


def column_names(model: FittedModel) -> list[str] | None:
    """Return the names of the columns, None if they have none.

    Columns of text have a name for each of their nodes, such as "colour=red".
    """
    names = getattr(model, "node_names_", None)
    if names is None:
        names = getattr(model, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]


def n_columns(model: FittedModel) -> int | None:
    """Return the number of columns, None if samples are graphs."""
    return getattr(model, "n_features_in_", None)
