"""The regressor."""

import os
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score
from torch import Tensor

from walkconv._checks import check_flag
from walkconv.estimators.base import GraphCNN
from walkconv.estimators.inputs import Rows
from walkconv.models.scaling import Scaling, learn_scaling


class GraphCNNRegressor(RegressorMixin, GraphCNN):
    """A network on the columns of a table."""

    _target_checks: ClassVar[dict[str, bool]] = {"multi_output": True, "y_numeric": True}

    def __init__(
        self,
        architecture: str = "C4-FC128",
        *,
        graph: Any = "correlation",
        n_neighbors: int = 6,
        n_steps: int | Literal["auto"] = 1,
        weighting: Literal["rank", "signed_visits"] = "rank",
        normalization: Literal["batch"] | None = "batch",
        dropout: float = 0.2,
        conv_dropout: float = 0.0,
        solver: Literal["adamw", "adam", "rmsprop"] = "adamw",
        learning_rate: float = 3e-3,
        weight_decay: float = 1e-2,
        batch_size: int = 128,
        max_iter: int = 40,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        n_members: int = 1,
        warm_start: bool = False,
        checkpoint: str | os.PathLike | None = None,
        device: Any = "auto",
        random_state: Any = None,
        verbose: int = 0,
    ):
        self.architecture = architecture
        self.graph = graph
        self.n_neighbors = n_neighbors
        self.n_steps = n_steps
        self.weighting = weighting
        self.normalization = normalization
        self.dropout = dropout
        self.conv_dropout = conv_dropout
        self.solver = solver
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.batch_size = batch_size
        self.max_iter = max_iter
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.n_members = n_members
        self.warm_start = warm_start
        self.checkpoint = checkpoint
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    def predict(self, X: Any) -> np.ndarray:
        """Return the prediction of each row, of the shape of y, averaged over the members."""
        outputs = np.stack(self._outputs(X))  # (n_members, n_samples, n_outputs)
        mean = outputs.astype(np.float64).mean(axis=0)
        values = self.target_scaling_.undo(mean[:, :, None])[:, :, 0]
        return values if self.is_multi_output_ else values[:, 0]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def _learn_target(self, y: np.ndarray) -> None:
        self.is_multi_output_ = y.ndim == 2
        self.target_scaling_ = learn_scaling(y.reshape(len(y), -1))

    def _encode_target(self, y: np.ndarray) -> np.ndarray:
        n_outputs = self._n_outputs
        if y.shape[1:] != ((n_outputs,) if self.is_multi_output_ else ()):
            raise ValueError(f"y must have {n_outputs} output(s), as in fit; got shape {y.shape}.")
        return self.target_scaling_.scale(y.reshape(len(y), n_outputs, 1))[:, :, 0]

    @property
    def _n_outputs(self) -> int:
        return len(self.target_scaling_.mean)

    def _target_state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        scaling = self.target_scaling_
        arrays = {"mean": scaling.mean, "deviation": scaling.deviation}
        return {"is_multi_output": self.is_multi_output_}, arrays

    def _restore_target(self, state: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        self.target_scaling_ = Scaling(arrays["mean"], arrays["deviation"]).checked()
        self.is_multi_output_ = check_flag(state["is_multi_output"], "is_multi_output")
        if self.target_scaling_.mean.shape[1] != 1 or not (
            self.is_multi_output_ or self._n_outputs == 1
        ):
            raise ValueError("the outputs and their scaling must agree.")

    def _row_losses(self, outputs: Tensor, target: Tensor) -> Tensor:
        return (outputs - target).square().mean(dim=1)

    def _score_outputs(self, outputs: np.ndarray, rows: Rows) -> float:
        return float(r2_score(rows.y, outputs, sample_weight=rows.weight))
