"""What a target column asks for: classes or numbers."""

from typing import Literal

import numpy as np
import polars as pl

FEW_VALUES = 20

Task = Literal["classification", "regression"]


def guess_task(target: pl.Series) -> tuple[Task, str]:
    """Return the task that a target column asks for, and why.

    Text and at most 20 whole numbers, each used twice on average, are classes.
    """
    if not target.dtype.is_numeric():
        return "classification", f"{target.name!r} is not a number"
    n_values = target.n_unique()
    if not _is_whole(target):
        return "regression", f"{target.name!r} has fractions"
    if n_values <= min(FEW_VALUES, len(target) // 2):
        return "classification", f"{target.name!r} has {n_values} whole values"
    return "regression", f"{target.name!r} has {n_values} values"


def target_values(target: pl.Series, task: Task) -> np.ndarray:
    """Return the target (n_rows,) as the estimators take it."""
    n_empty = target.null_count() + (target.is_nan().sum() if target.dtype.is_float() else 0)
    if n_empty:
        raise ValueError(
            f"The target {target.name!r} must have no empty cells; {n_empty} row(s) have none. "
            "Remove these rows."
        )
    if task == "regression":
        if not target.dtype.is_numeric():
            raise ValueError(f"Regression needs numbers; {target.name!r} holds {target.dtype}.")
        return target.cast(pl.Float64).to_numpy()
    if target.dtype.is_float() and _is_whole(target):
        target = target.cast(pl.Int64)
    return target.to_numpy()


def _is_whole(target: pl.Series) -> bool:
    values = target.drop_nulls()
    return target.dtype.is_integer() or bool((values == values.round()).all())
