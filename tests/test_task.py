"""Is y a class label? One rule for the command line and the estimators."""

import datetime

import numpy as np
import polars as pl
import pytest

from walkconv._task import guess_task


@pytest.mark.parametrize(
    ("values", "task", "reason"),
    [
        (["a", "b", "a"], "classification", "is not a number"),
        ([True, False], "classification", "is not a number"),
        ([datetime.date(2020, 1, 1)] * 2, "classification", "is not a number"),
        ([0, 1] * 10, "classification", "has 2 whole values"),
        ([0.0, 1.0] * 10, "classification", "has 2 whole values"),
        (list(range(20)) * 2, "classification", "has 20 whole values"),
        (list(range(21)) * 2, "regression", "has 21 different values"),
        ([0, 1, 2, 0, 1], "regression", "has 3 different values"),
        (list(range(10)), "regression", "has 10 different values"),
        ([0.5, 1.5] * 10, "regression", "has fractions"),
        ([0.0, 1.5] * 10, "regression", "has fractions"),
    ],
)
def test_the_task_follows_from_the_values(values, task, reason):
    for y in (values, np.array(values), np.array(values, dtype=object), pl.Series("y", values)):
        assert guess_task(y) == (task, reason)
    assert guess_task(np.array(values)[:, None]) == (task, reason)


def test_several_columns_are_regression():
    assert guess_task(np.zeros((8, 3), dtype=int)) == ("regression", "has 3 columns")


@pytest.mark.parametrize("missing", [None, np.nan])
def test_missing_values_do_not_count(missing):
    assert guess_task([0, 1, 0, 1, missing]) == ("classification", "has 2 whole values")
    assert guess_task(pl.Series([0, 1, 0, 1, None]))[0] == "classification"
    assert guess_task([0, 0.5, 0, 0.5, missing])[0] == "regression"
    # Three values in five rows are too many: the missing row must not be the sixth.
    assert guess_task([0, 1, 2, 0, 1, missing])[0] == "regression"


def test_missing_text_is_still_text():
    assert guess_task(["a", None, "b"])[0] == "classification"
    assert guess_task(pl.Series([True, None]))[0] == "classification"
