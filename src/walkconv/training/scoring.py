"""How good predictions are for validation rows, by a scorer of scikit-learn."""

import inspect
from collections.abc import Callable
from typing import Any, cast

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import get_scorer, get_scorer_names

from walkconv._checks import closest, describe

Scorer = Callable[..., float]
"""(estimator, X, y) -> a number, higher is better."""


class Predictions(BaseEstimator):
    """A fitted estimator that knows its answers; X are the numbers of the rows (m, 1)."""

    def __init__(self, answers: np.ndarray):
        self.answers = answers

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def _of(self, X: Any) -> np.ndarray:
        return self.answers[np.asarray(X)[:, 0]]


class PredictedValues(RegressorMixin, Predictions):
    """A regressor that knows its predictions (n_samples,) or (n_samples, n_outputs)."""

    def predict(self, X: Any) -> np.ndarray:
        """Return the predictions of some of the rows."""
        return self._of(X)


class PredictedClasses(ClassifierMixin, Predictions):
    """A classifier that knows its probabilities (n_samples, n_classes)."""

    def __init__(self, answers: np.ndarray, classes: np.ndarray):
        super().__init__(answers)
        self.classes = classes

    @property
    def classes_(self) -> np.ndarray:
        """The classes, in the order of the probabilities."""
        return self.classes

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probabilities of some of the rows."""
        return self._of(X)

    def predict(self, X: Any) -> np.ndarray:
        """Return the most likely class of some of the rows."""
        return self.classes[self._of(X).argmax(axis=1)]


def check_scoring(scoring: Any) -> Scorer:
    """Return the scorer of a name, or the callable."""
    if isinstance(scoring, str):
        names = get_scorer_names()
        if scoring not in names:
            raise ValueError(
                f"scoring must be None, a callable or a name of sklearn.metrics.get_scorer_names; "
                f"got {scoring!r}.{closest(scoring, names)}"
            )
        return get_scorer(scoring)
    if not callable(scoring):
        raise TypeError(
            "scoring must be None, one name of a scorer of scikit-learn, or a callable "
            f"(estimator, X, y) -> number; got {describe(scoring)}."
        )
    return cast(Scorer, scoring)


def score_predictions(
    scoring: Scorer, model: PredictedClasses | PredictedValues, y: np.ndarray, weight: np.ndarray
) -> float:
    """Return the score of predictions for validation rows, or refuse a scorer that does not fit.

    Parameters
    ----------
    scoring : callable
        From `check_scoring`. It gets the numbers of the rows as X.
    model : PredictedClasses or PredictedValues
    y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        As it was given to `fit`.
    weight : ndarray of shape (n_samples,)
        Passed on if the weights differ and the metric takes them.
    """
    rows = np.arange(len(y))[:, None]
    metric = getattr(scoring, "_score_func", None)
    weighted = (
        metric is not None
        and (weight != weight[0]).any()
        and "sample_weight" in inspect.signature(metric).parameters
    )
    try:
        score = scoring(model, rows, y, **({"sample_weight": weight} if weighted else {}))
        score = float(score)
    except Exception as error:
        reason = next(iter(str(error).strip().splitlines()), type(error).__name__).rstrip(".")
        raise ValueError(
            f"scoring must be able to score the validation rows; {_name(scoring)} failed: "
            f"{reason}. Choose a scorer for this target, or other validation rows."
        ) from error
    if not np.isfinite(score):
        raise ValueError(
            f"scoring must give a finite number for the validation rows; {_name(scoring)} gave "
            f"{score}. Choose another scorer, or other validation rows."
        )
    return score


def _name(scoring: Scorer) -> str:
    metric = getattr(scoring, "_score_func", scoring)
    return getattr(metric, "__name__", repr(metric))
