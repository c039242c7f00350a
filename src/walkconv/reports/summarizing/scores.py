"""How well the model predicts the test rows."""

import math
from typing import Any

import numpy as np
from sklearn.metrics import log_loss, r2_score, roc_auc_score

from walkconv.reports.summarizing.plain import plain_label, plain_number, plain_numbers

Z = 1.959964
"""Two-sided 95 % of the normal distribution."""
N_BINS = 10
N_HISTOGRAM = 40
N_RESAMPLES = 300
MOST_POINTS = 2000
MOST_CLASSES = 30
"""Classes that a confusion matrix shows; of more, only the commonest confusions are listed."""


def score_classes(classes: np.ndarray, probability: np.ndarray, y: np.ndarray) -> dict[str, Any]:
    """Return the scores, the confusion matrix and the calibration of a classifier.

    Parameters
    ----------
    classes : ndarray of shape (n_classes,)
    probability : ndarray of shape (n_rows, n_classes)
    y : ndarray of shape (n_rows,), int
        Number of the class of each row.
    """
    n_rows, n_classes = probability.shape
    predicted = probability.argmax(axis=1)
    is_right = predicted == y
    accuracy = float(is_right.mean())
    commonest = float(np.bincount(y, minlength=n_classes).max() / n_rows)
    low, high = wilson_interval(int(is_right.sum()), n_rows)
    numbers = np.arange(n_classes)
    present = np.unique(y)
    scores = [
        _score("Accuracy", accuracy, low, high, is_share=True),
        _score("Always the commonest class", commonest, is_share=True),
        _score("Mean of the classes' accuracies", class_mean_accuracy(y, predicted), is_share=True),
        _score("Log loss", log_loss(y, _as_shares(probability), labels=numbers)),
    ]
    if n_classes == 2 and len(present) == 2:
        scores.append(_score("Area under the ROC curve", roc_auc_score(y, probability[:, 1])))
    labels = [plain_label(label) for label in classes]
    counts = np.zeros((n_classes, n_classes), dtype=int)
    np.add.at(counts, (y, predicted), 1)
    return {
        "measure": "accuracy",
        "n_rows": n_rows,
        "scores": scores,
        "confusion": _confusion(labels, counts),
        "calibration": _calibration(probability.max(axis=1), is_right),
        "residuals": None,
        "outputs": None,
    }


def score_values(predicted: np.ndarray, y: np.ndarray) -> dict[str, Any]:
    """Return the scores and the residuals of a regressor.

    Parameters
    ----------
    predicted, y : ndarray of shape (n_rows,) or (n_rows, n_outputs)
    """
    predicted, y = (np.asarray(a, dtype=float).reshape(len(a), -1) for a in (predicted, y))
    n_rows, n_outputs = y.shape
    residual = predicted - y
    rmse = math.sqrt((residual**2).mean())
    constant = math.sqrt(((y - y.mean(axis=0)) ** 2).mean())
    scores = []
    if n_rows > 1:
        low, high = _resampled_r2(predicted, y)
        scores.append(_score("R²", float(r2_score(y, predicted)), low, high))
    scores += [
        _score("Root mean squared error", rmse),
        _score("Error of predicting their mean", constant),
        _score("Mean absolute error", float(np.abs(residual).mean())),
    ]
    flat, actual = predicted.ravel(), y.ravel()
    if n_outputs == 1 and n_rows > 2 and np.ptp(flat) > 0 and np.ptp(actual) > 0:
        scores.append(_score("Squared correlation", float(np.corrcoef(flat, actual)[0, 1] ** 2)))
    chosen = np.unique(np.linspace(0, len(flat) - 1, min(len(flat), MOST_POINTS)).astype(int))
    counts, edges = np.histogram(residual, bins=N_HISTOGRAM)
    return {
        "measure": "R²",
        "n_rows": n_rows,
        "scores": scores,
        "confusion": None,
        "calibration": None,
        "residuals": {
            "n_points": len(flat),
            "actual": plain_numbers(actual[chosen]),
            "predicted": plain_numbers(flat[chosen]),
            "edges": plain_numbers(edges, 6),
            "counts": counts.tolist(),
        },
        "outputs": _outputs(predicted, y) if n_outputs > 1 else None,
    }


def class_mean_accuracy(y: np.ndarray, predicted: np.ndarray) -> float:
    """Return the mean of the accuracies of the classes among the rows."""
    return float(np.mean([(predicted[y == each] == each).mean() for each in np.unique(y)]))


def wilson_interval(n_right: int, n_rows: int) -> tuple[float, float]:
    """Return the 95 % interval of Wilson for a share.

    Examples
    --------
    >>> from walkconv.reports.summarizing.scores import wilson_interval
    >>> [round(end, 3) for end in wilson_interval(90, 100)]
    [0.826, 0.945]
    """
    share = n_right / n_rows
    center = share + Z**2 / (2 * n_rows)
    half = Z * math.sqrt(share * (1 - share) / n_rows + Z**2 / (4 * n_rows**2))
    scale = 1 + Z**2 / n_rows
    return (center - half) / scale, (center + half) / scale


def _score(
    name: str,
    value: float,
    low: float | None = None,
    high: float | None = None,
    *,
    is_share: bool = False,
) -> dict[str, Any]:
    ends = [None if end is None else plain_number(end, 3) for end in (low, high)]
    return {
        "name": name,
        "value": plain_number(value),
        "low": ends[0],
        "high": ends[1],
        "is_share": is_share,
    }


def _as_shares(probability: np.ndarray) -> np.ndarray:
    """Return probabilities in double precision, whose sums are 1 to the last digit."""
    exact = probability.astype(np.float64)
    return exact / exact.sum(axis=1, keepdims=True)


def _confusion(labels: list[str], counts: np.ndarray) -> dict[str, Any]:
    """Return the matrix if the classes are few, and the commonest confusions."""
    wrong = counts * ~np.eye(len(counts), dtype=bool)
    order = np.argsort(-wrong, axis=None, kind="stable")[:10]
    pairs = [np.unravel_index(each, wrong.shape) for each in order]
    common = [
        {"actual": labels[a], "predicted": labels[b], "n": int(wrong[a, b])}
        for a, b in pairs
        if wrong[a, b]
    ]
    is_small = len(labels) <= MOST_CLASSES
    return {
        "labels": labels if is_small else None,
        "counts": counts.tolist() if is_small else None,
        "n_classes": len(labels),
        "common": common,
    }


def _calibration(confidence: np.ndarray, is_right: np.ndarray) -> dict[str, Any]:
    """Return bins of the probability of the predicted class, and the mean gap to what was right."""
    number = np.minimum((confidence * N_BINS).astype(int), N_BINS - 1)
    bins, gap = [], 0.0
    for each in range(N_BINS):
        rows = number == each
        if rows.any():
            given, right = float(confidence[rows].mean()), float(is_right[rows].mean())
            gap += abs(given - right) * rows.mean()
            bins.append(
                {"given": plain_number(given), "right": plain_number(right), "n": int(rows.sum())}
            )
    return {"bins": bins, "gap": plain_number(gap)}


def _resampled_r2(predicted: np.ndarray, y: np.ndarray) -> tuple[float | None, float | None]:
    """Return a 95 % interval of R2 from resampled rows; None where some samples have no spread."""
    rng, n_rows = np.random.default_rng(0), len(y)
    error = (predicted - y) ** 2
    found = []
    for _ in range(N_RESAMPLES):
        rows = rng.integers(n_rows, size=n_rows)
        drawn = y[rows]
        spread = ((drawn - drawn.mean(axis=0)) ** 2).sum(axis=0)
        if (spread == 0).any():
            return None, None
        found.append((1 - error[rows].sum(axis=0) / spread).mean())
    low, high = np.quantile(found, [0.025, 0.975])
    return float(low), float(high)


def _outputs(predicted: np.ndarray, y: np.ndarray) -> dict[str, Any]:
    """Return R2 and the error of every output."""
    error = (predicted - y) ** 2
    spread = ((y - y.mean(axis=0)) ** 2).mean(axis=0)
    r2 = np.where(spread > 0, 1 - error.mean(axis=0) / np.where(spread > 0, spread, 1), np.nan)
    return {"r2": plain_numbers(r2), "rmse": plain_numbers(np.sqrt(error.mean(axis=0)))}
