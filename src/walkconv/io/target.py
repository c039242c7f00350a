"""The column to predict."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl

from walkconv._checks import check_option
from walkconv._task import Task, guess_task
from walkconv.io.columns import ColumnError, select_columns


@dataclass(frozen=True)
class Target:
    """The values to predict, and what kind of values they are.

    Attributes
    ----------
    values : array of shape (n_rows,)
        Class labels, or float64 for a regression.
    task : {"classification", "regression"}
    reason : str
        Why it is this task, such as "'price' has fractions".

    Examples
    --------
    >>> import numpy as np
    >>> from walkconv.io import Target
    >>> Target(np.array([0.5, 1.5]), "regression", "as asked").task
    'regression'
    """

    values: np.ndarray
    task: Task
    reason: str


def take_target(
    table: pl.DataFrame,
    column: str,
    *,
    task: Literal["auto"] | Task = "auto",
    source: str = "the table",
) -> Target:
    """Return the column to predict, as the estimators take it.

    Parameters
    ----------
    table : polars DataFrame
    column : str
        Its name. No cell of it may be empty.
    task : {"auto", "classification", "regression"}, default "auto"
        Whether its values are classes or quantities. By default text and booleans are classes, and
        so are at most 20 different whole numbers, each used twice on average.
    source : str, optional
        What an error calls the table.

    Examples
    --------
    >>> import polars as pl
    >>> from walkconv.io import take_target
    >>> target = take_target(pl.DataFrame({"sort": ["a", "b", "a"]}), "sort")
    >>> target.task, target.reason
    ('classification', "'sort' is not a number")
    """
    values = select_columns(table, [column], source=source).to_series()
    if values.dtype in (pl.Int128, pl.Decimal):
        values = values.cast(pl.Float64)
    n_empty = values.null_count() + (values.is_nan().sum() if values.dtype.is_float() else 0)
    if n_empty:
        raise ColumnError(
            f"The target {column!r} of {source} must have no empty cells; {n_empty} row(s) are "
            "empty. Remove these rows.",
            [column],
        )
    check_option(task, "task", ["auto", "classification", "regression"])
    if task == "auto":
        task, reason = guess_task(values)
        reason = f"{column!r} {reason}"
    else:
        reason = "as asked"
    if task == "classification":
        return Target(_labels(values), task, reason)
    if not values.dtype.is_numeric():
        raise ColumnError(
            f"Regression needs numbers; {column!r} of {source} holds {values.dtype}.", [column]
        )
    return Target(values.cast(pl.Float64).to_numpy(), task, reason)


def _labels(values: pl.Series) -> np.ndarray:
    """Return class labels; whole numbers that were written with a point become integers."""
    if values.dtype.is_float():
        is_whole = (values == values.round()) & (values.abs() < 2**53)
        values = values.cast(pl.Int64) if is_whole.all() else values
    return values.to_numpy()
