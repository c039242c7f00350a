"""The classifier."""

import os
from typing import Any, ClassVar, Literal

import numpy as np
from scipy.special import log_softmax, logsumexp
from sklearn.base import ClassifierMixin
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from torch import Tensor
from torch.nn import functional

from walkconv.estimators.base import GraphCNN
from walkconv.estimators.inputs import Rows


class GraphCNNClassifier(ClassifierMixin, GraphCNN):
    """A network on the columns of a table."""

    _target_checks: ClassVar[dict[str, bool]] = {}

    def __init__(
        self,
        architecture: str = "C20-FC256",
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
        max_iter: int = 20,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        class_weight: Any = None,
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
        self.class_weight = class_weight
        self.n_members = n_members
        self.warm_start = warm_start
        self.checkpoint = checkpoint
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the chance of each class (n_samples, n_classes), averaged over the members."""
        return np.exp(self.predict_log_proba(X))

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return the logarithm of `predict_proba`, exact for very small chances."""
        logs = np.stack([log_softmax(outputs, axis=1) for outputs in self._outputs(X)])
        return logsumexp(logs, axis=0) - np.log(np.float32(len(logs)))

    def predict(self, X: Any) -> np.ndarray:
        """Return the most likely class of each row, (n_samples,)."""
        best = self.predict_log_proba(X).argmax(axis=1)
        return self.classes_[best]

    def _learn_target(self, y: np.ndarray) -> None:
        check_classification_targets(y)
        self.classes_ = np.unique(y)
        if len(self.classes_) < 2:
            raise ValueError(f"y must hold at least two classes; got one class: {y[0]!r}.")

    def _encode_target(self, y: np.ndarray) -> np.ndarray:
        codes = np.searchsorted(self.classes_, y)
        codes = np.minimum(codes, len(self.classes_) - 1)
        is_unknown = self.classes_[codes] != y
        if is_unknown.any():
            raise ValueError(
                f"y must hold the classes of the training rows, {self.classes_}; "
                f"got {y[is_unknown][0]!r}."
            )
        return codes.astype(np.int64)

    @property
    def _n_outputs(self) -> int:
        return len(self.classes_)

    def _target_state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        if self.classes_.dtype.kind in "biuf":
            return {}, {"classes": self.classes_}
        if not all(isinstance(label, str) for label in self.classes_):
            raise TypeError(
                f"Classes must be numbers or strings to be saved; got {self.classes_.dtype}. "
                "Encode them first."
            )
        names = [str(label) for label in self.classes_]
        return {"classes": names, "type": self.classes_.dtype.str}, {}

    def _restore_target(self, state: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        if "classes" in arrays:
            classes = arrays["classes"]
        elif np.dtype(state["type"]).kind in "UO" and all(
            isinstance(label, str) for label in state["classes"]
        ):
            classes = np.array(state["classes"], dtype=state["type"])
        else:
            raise ValueError("the classes must be numbers or strings.")
        if classes.ndim != 1 or len(classes) < 2 or (classes[:-1] >= classes[1:]).any():
            raise ValueError("the classes must be two or more, each once, in order.")
        self.classes_ = classes

    def _loss_weight(self, rows: Rows) -> np.ndarray:
        return rows.weight * compute_sample_weight(self.class_weight, self.classes_[rows.y])

    def _row_losses(self, outputs: Tensor, target: Tensor) -> Tensor:
        return functional.cross_entropy(outputs, target, reduction="none")

    def _score_outputs(self, outputs: np.ndarray, rows: Rows) -> float:
        return float(np.average(outputs.argmax(axis=1) == rows.y, weights=rows.weight))
