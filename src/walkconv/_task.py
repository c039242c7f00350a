"""The one rule for "is y a class label?"."""

from typing import Any, Literal

import numpy as np

Task = Literal["classification", "regression"]

MAX_CLASSES = 20
"""Whole numbers with more distinct values than this are quantities."""
ROWS_PER_CLASS = 2
"""Rows that each value must have on average, so that row numbers and counts are not classes."""


def guess_task(y: Any) -> tuple[Task, str]:
    """Return the task that a target asks for, and the reason.

    Text, booleans and dates are classes. Whole numbers are classes if they have at most 20 distinct
    values, each used twice on average. All other numbers are regression, and so are several
    columns. Missing values do not count.

    Parameters
    ----------
    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        The target.

    Returns
    -------
    task : {"classification", "regression"}
    reason : str
        A phrase whose subject is the target, such as "has 2 whole values".

    Examples
    --------
    >>> from walkconv._task import guess_task
    >>> guess_task(["cat", "dog", "cat"])
    ('classification', 'is not a number')
    >>> guess_task([0, 1, 1, 0])
    ('classification', 'has 2 whole values')
    >>> guess_task([0.5, 1.0, 2.0, 0.5])
    ('regression', 'has fractions')
    """
    values = np.asarray(y)
    if values.ndim > 1 and values.shape[1] > 1:
        return "regression", f"has {values.shape[1]} columns"
    numbers = _as_numbers(values.ravel())
    if numbers is None:
        return "classification", "is not a number"
    numbers = numbers[np.isfinite(numbers)]
    if (numbers != np.round(numbers)).any():
        return "regression", "has fractions"
    n_values = len(np.unique(numbers))
    if n_values <= min(MAX_CLASSES, len(numbers) // ROWS_PER_CLASS):
        return "classification", f"has {n_values} whole values"
    return "regression", f"has {n_values} different values"


def _as_numbers(values: np.ndarray) -> np.ndarray | None:
    """Return the values as numbers, None as NaN, or None if they are not numbers."""
    if values.dtype.kind in "iuf":
        return values
    if values.dtype.kind != "O" or any(
        isinstance(value, str | bool | np.bool_) for value in values
    ):
        return None
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        return None
