"""The classifier, and what y means to it: classes."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import torch
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, logsumexp, softmax
from sklearn.base import ClassifierMixin
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from torch import Tensor

from walkconv._checks import check_option, describe, is_missing, is_utf8, listed
from walkconv.estimators.base import ATTRIBUTES, SETTINGS, GraphCNN, check_members
from walkconv.estimators.settings import Settings
from walkconv.networks.architecture import NodeOutput
from walkconv.training.losses import CLASSIFICATION, CROSS_ENTROPY, Loss, check_loss, read_loss
from walkconv.training.scoring import PredictedClasses

MOST_CHARACTERS = 2**24
"""Of the labels in a file, all as long as the longest."""
COLDEST = 4.0
"""The largest size of the logarithm of a temperature."""


@dataclass(frozen=True, eq=False)
class Classes:
    """The classes of y.

    Attributes
    ----------
    labels : ndarray of shape (n_classes,)
        In order; an output of the network for each.
    loss : Loss
    """

    is_classification: ClassVar[bool] = True
    labels: np.ndarray
    loss: Loss = CROSS_ENTROPY

    @property
    def n_outputs(self) -> int:
        """Number of classes."""
        return len(self.labels)

    def encode(self, y: np.ndarray) -> np.ndarray:
        """Return the number (n_samples,) of each label."""
        codes = np.searchsorted(self.labels, y)
        codes = np.minimum(codes, len(self.labels) - 1)
        is_unknown = self.labels[codes] != y
        if is_unknown.any():
            raise ValueError(
                f"y must hold the classes of the training rows, {self.labels}; "
                f"got {_plain(y[is_unknown][0])!r}."
            )
        return codes.astype(np.int64)

    def loss_weight(self, y: np.ndarray, weight: np.ndarray, class_weight: Any) -> np.ndarray:
        """Return the weights (n_samples,) of the rows times those of their classes."""
        if isinstance(class_weight, str):
            check_option(class_weight, "class_weight", ["balanced"])
        factor = compute_sample_weight(class_weight, self.labels[y])
        if not (factor.min() >= 0 and 0 < factor.max() < np.inf):
            raise ValueError(
                "class_weight must be finite, not negative, and not 0 for every class; "
                f"got {class_weight}."
            )
        return weight * factor

    def row_losses(self, outputs: Tensor, target: Tensor) -> Tensor:
        """Return the loss (m,)."""
        return self.loss.of_rows(outputs, target)

    def errors(self, outputs: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the squared distance (m,) of the probabilities from the class: the Brier score."""
        error = softmax(outputs.astype(np.float64), axis=1)
        error[np.arange(len(y)), y] -= 1
        return np.square(error).sum(axis=1)

    def score(self, outputs: np.ndarray, y: np.ndarray, weight: np.ndarray) -> float:
        """Return the weighted accuracy."""
        return float(np.average(outputs.argmax(axis=1) == y, weights=weight))

    def output_of(self, target: Any) -> int:
        """Return the number of a class."""
        known = self.labels.tolist()
        if target not in known:
            raise ValueError(
                f"target must be one of the classes {self.labels}; got {describe(target)}."
            )
        return known.index(target)

    def prediction(self, outputs: Tensor, which: Tensor) -> Tensor:
        """Return the probability (m,) of class `which` (m,) of each row."""
        return outputs.softmax(dim=1).gather(1, which[:, None])[:, 0]

    def answers(self, outputs: np.ndarray) -> PredictedClasses:
        """Return an estimator that knows the probabilities of the outputs of a network."""
        return PredictedClasses(softmax(outputs, axis=1), self.labels)

    def calibrated(self, outputs: np.ndarray, y: np.ndarray) -> "tuple[Classes, float]":
        """Return the record as it is, and the temperature that suits unseen rows best."""

        def loss(log_temperature: float) -> float:
            logs = log_softmax(outputs.astype(np.float64) / np.exp(log_temperature), axis=2)
            return -float(logsumexp(logs, axis=0)[np.arange(len(y)), y].mean())

        found = minimize_scalar(loss, bounds=(-COLDEST, COLDEST), method="bounded")
        return self, float(np.exp(found.x))

    def attributes(self) -> dict[str, Any]:
        """Return the fitted attributes of the estimator."""
        return {"classes_": self.labels}

    def to_arrays(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Return the labels and the loss, for a file."""
        plain: dict[str, Any] = {"loss": self.loss.to_plain()}
        if self.labels.dtype.kind in "biuf":
            return {"classes": self.labels}, plain
        if not all(isinstance(label, str) for label in self.labels):
            raise TypeError(
                f"Classes must be numbers or strings to be saved; got {self.labels.dtype}. "
                "Encode them first."
            )
        names = [str(label) for label in self.labels]
        return {}, plain | {"classes": names, "type": self.labels.dtype.kind}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray], plain: Mapping[str, Any]) -> "Classes":
        """Return the classes that `to_arrays` wrote, checked."""
        if "classes" in arrays:
            labels = arrays["classes"]
        else:
            labels = _read_names(**{name: plain[name] for name in plain if name != "loss"})
        if labels.dtype.kind == "f" and not np.isfinite(labels).all():
            raise ValueError("the classes must be finite.")
        if labels.ndim != 1 or len(labels) < 2 or (labels[:-1] >= labels[1:]).any():
            raise ValueError("the classes must be two or more, each once, in order.")
        # Files of the first version have only the cross-entropy.
        loss = read_loss(plain.get("loss", CROSS_ENTROPY.to_plain()), CLASSIFICATION)
        return cls(labels, loss)


@dataclass(eq=False, repr=False, kw_only=True)
class GraphCNNClassifier(ClassifierMixin, GraphCNN):  # noqa: D101 (the docstring is put together)
    __doc__ = f"""A classifier whose network convolves over related columns.

    Parameters
    ----------{SETTINGS}
    class_weight : None, "balanced" or dict, default None
        Weight of each class in the loss; "balanced" gives every class the same in total.
    loss : "cross_entropy", pair or callable, default "cross_entropy"
        What training makes small. ``("cross_entropy", 0.1)`` smooths the labels: a tenth of each is
        spread evenly over all classes. Or a function of torch ``(outputs, target) -> (m,)`` that
        gets logits (m, n_classes) and numbers of classes (m,), and returns the loss of each row;
        `save` does not keep it: a loaded model predicts as before and has loss None.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, in the order of `predict_proba`.{ATTRIBUTES}

    Notes
    -----
    With an architecture of yours `dropout` is 0.2 and `n_members` 1 by default. On held-back
    rows of four tables (three splits each) dropout of 0.5 changed the accuracy by -1.0 to +0.7
    points, three members by -1.4 to +0.3 points.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from walkconv import GraphCNNClassifier
    >>> X, y = load_digits(return_X_y=True)  # 8 x 8 pixels, their positions not used
    >>> model = GraphCNNClassifier("C4-FC32", max_iter=10, random_state=0).fit(X[:1000], y[:1000])
    >>> bool(model.score(X[1000:], y[1000:]) > 0.9)
    True
    """

    class_weight: Any = None
    loss: Any = "cross_entropy"

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from a part of a stream: one epoch over its rows.

        The first part decides the graph, the layout and the scaling: some hundred rows or more, in
        random order, serve best. Later parts continue with the weights and the solver of the parts
        before, or with the weights of a `fit`. The learning rate is constant: `schedule`,
        `max_iter` and `early_stopping` are not used. A model from a file continues with a new
        solver.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`; at least two rows.
        classes : array of shape (n_classes,), optional
            All classes that may come. The first part needs them.

        Returns
        -------
        self

        Examples
        --------
        >>> import numpy as np
        >>> from walkconv import GraphCNNClassifier
        >>> X = np.random.default_rng(0).normal(size=(600, 6)).cumsum(axis=1)
        >>> y = np.where(X[:, 3] > 0, "high", "low")
        >>> model = GraphCNNClassifier("FC16", learning_rate=0.01, random_state=0)
        >>> for rows in np.array_split(np.arange(500), 5):
        ...     _ = model.partial_fit(X[rows], y[rows], classes=["high", "low"])
        >>> bool(model.score(X[500:], y[500:]) > 0.8)
        True
        """
        if isinstance(self.class_weight, str):
            raise ValueError(
                f"class_weight={self.class_weight!r} needs all rows at once; partial_fit has a "
                "part. Give the weights of the classes as a dict."
            )
        past = getattr(self, "_fitted", None)
        if past is None and classes is None:
            raise ValueError(
                "The first partial_fit needs classes, all that may come: classes=[...]."
            )
        if classes is None:
            return self._fit_part(X, y, sample_weight)
        known = _listed(classes)
        if past is not None and not np.array_equal(known, self.classes_):
            raise ValueError(
                f"classes must be those of the first part, {self.classes_}; got {known}. Leave "
                "them out."
            )
        return self._fit_part(
            X, y, sample_weight, lambda _, settings: self._learn_target(known, settings)
        )

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of each class (n_samples, n_classes), averaged over members."""
        return np.exp(self.predict_log_proba(X))

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return the logarithm of `predict_proba`, exact for very small probabilities."""
        # For a single row torch takes a fourth of the time of scipy.
        logs = torch.from_numpy(np.stack(self._outputs(X))).log_softmax(dim=2)
        return (logs.logsumexp(dim=0) - math.log(len(logs))).numpy()

    def predict_spread(self, X: Any) -> np.ndarray:
        """Return the standard deviation of the members' probabilities (n_samples, n_classes)."""
        outputs = np.stack(self._outputs(X))
        check_members(outputs)
        return softmax(outputs.astype(np.float64), axis=2).std(axis=0, ddof=1)

    def predict(self, X: Any) -> np.ndarray:
        """Return the most likely class of each row, (n_samples,)."""
        best = self.predict_log_proba(X).argmax(axis=1)
        return self.classes_[best]

    def _learn_target(self, y: np.ndarray, settings: Settings) -> Classes:
        if any(isinstance(layer, NodeOutput) for layer in settings.layers):
            raise ValueError(
                "N layers predict numbers at every node, not classes; "
                "use GraphCNNRegressor, or an architecture without N."
            )
        labels = _distinct(y, "y")
        if len(labels) < 2:
            raise ValueError(f"y must hold at least two classes; got one class: {_plain(y[0])!r}.")
        _refuse_odd_text(labels)
        return Classes(labels, settings.loss)

    def _check_loss(self) -> Loss:
        return check_loss(self.loss, CLASSIFICATION)


def _listed(classes: Any) -> np.ndarray:
    """Return the classes that a user lists, each once, in order."""
    listed_classes = np.asarray(classes)
    missing = any(is_missing(label) for label in listed_classes.flat)
    if listed_classes.ndim != 1 or missing:
        raise ValueError(
            "classes must list the classes, none of them missing, such as [0, 1]; got "
            f"{describe(classes)}."
        )
    return _distinct(listed_classes, "classes")


def _distinct(labels: np.ndarray, name: str) -> np.ndarray:
    """Return labels, each once, in order; refuse what cannot be sorted."""
    try:
        check_classification_targets(labels)
        return np.unique(labels)
    except (TypeError, ValueError) as error:
        if isinstance(error, ValueError) and labels.dtype.kind != "O":
            raise
        kinds = listed(sorted({type(label).__name__ for label in labels.flat}))
        raise TypeError(
            f"Unknown label type: {name} must hold labels of one type that can be sorted; got "
            f"{kinds}. Convert them, for example with numpy.asarray({name}, dtype=str)."
        ) from None


def _refuse_odd_text(labels: np.ndarray) -> None:
    """Refuse text that no page or table can show."""
    odd = [label for label in labels.flat if isinstance(label, str) and not is_utf8(label)]
    if odd:
        raise ValueError(
            f"y must hold text that UTF-8 can hold; got {str(odd[0])!r}. Read the file again with "
            "its encoding."
        )


def _read_names(classes: Any, type: Any) -> np.ndarray:
    """Return text labels; as one array of text each takes the space of the longest."""
    if type not in ("U", "O") or not all(map(is_utf8, classes)):
        raise ValueError("the classes must be numbers or strings.")
    n_values = len(classes) * max(map(len, classes), default=0)
    if type == "U" and n_values > MOST_CHARACTERS:
        raise ValueError(f"the classes must have at most {MOST_CHARACTERS} characters in total.")
    return np.array(classes, dtype=object if type == "O" else str)


def _plain(label: Any) -> Any:
    """Return a label as Python writes it: 'a', not np.str_('a')."""
    return label.item() if isinstance(label, np.generic) else label
