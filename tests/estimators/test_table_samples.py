"""What a table may hold: numbers of every type; what cannot become numbers is refused by name."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone

from walkconv import GraphCNNClassifier

DAYS = np.arange("2024-01-01", "2024-03-01", dtype="datetime64[D]")
OTHER = {
    "polars lists": lambda: pl.Series([[1.0, 2.0]] * 60),
    "polars bytes": lambda: pl.Series([b"x"] * 60),
    "pandas objects": lambda: pd.Series([{"a": 1}] * 60),
    "pandas complex numbers": lambda: pd.Series([1j] * 60),
}


@pytest.fixture
def quick(classifier):
    return classifier.set_params(architecture="C2", max_iter=1)


@pytest.mark.parametrize("kind", OTHER)
def test_columns_that_cannot_become_numbers_are_named(quick, classes, kind):
    column = OTHER[kind]()
    frame = pl.DataFrame if kind.startswith("polars") else pd.DataFrame
    X = frame({"a": np.arange(60.0), "b": column, "c": np.arange(60), "d": column})
    with pytest.raises(TypeError, match=r"hold something else: 'b', 'd'. Drop or encode them"):
        quick.fit(X, classes)
    numbers = frame({name: np.random.default_rng(0).normal(size=60) for name in "abcd"})
    with pytest.raises(TypeError, match=r"numbers, as in fit; these hold something else: 'b', 'd'"):
        quick.fit(numbers, classes).predict(X)


def test_many_columns_that_cannot_become_numbers_are_counted(quick, classes):
    X = pl.DataFrame({f"x{place}": [b"x"] * 60 for place in range(8)})
    with pytest.raises(TypeError, match="'x0', 'x1', 'x2', 'x3', 'x4' and 3 more"):
        quick.fit(X, classes)


def test_text_in_an_array_is_refused_by_the_number_of_its_column(quick, table, classes):
    X = table.astype(object)
    X[:, 4] = "q"
    with pytest.raises(TypeError, match=r"something else: 4\. Pass a DataFrame"):
        quick.fit(X, classes)


def test_dates_in_an_array_are_refused(quick, classes):
    with pytest.raises(TypeError, match=r"X must hold real numbers; got an array of datetime64"):
        quick.set_params(architecture="").fit(np.stack([DAYS, DAYS], axis=1), classes)


NUMBERS = {
    "polars with empty cells": lambda X: pl.DataFrame(X).with_columns(
        pl.Series("i", [None, 3] * 30), pl.Series("b", [True, None] * 30)
    ),
    "pandas with empty cells": lambda X: pd.DataFrame(X).assign(
        i=pd.array([None, 3] * 30, dtype="Int64"), b=pd.array([True, None] * 30, dtype="boolean")
    ),
    "pandas objects": lambda X: pd.DataFrame(X).assign(i=[None, 3] * 30, b=[True, None] * 30),
}


@pytest.mark.parametrize("form", NUMBERS)
def test_numbers_of_every_type_are_taken_and_empty_cells_are_missing(quick, table, classes, form):
    X = NUMBERS[form](table)
    X.columns = [f"x{place}" for place in range(9)]
    plain = np.column_stack([table, [np.nan, 3] * 30, [1, np.nan] * 30])
    expected = clone(quick).fit(plain, classes).predict_proba(plain)
    np.testing.assert_array_equal(quick.fit(X, classes).predict_proba(X), expected)


def test_empty_cells_of_a_polars_table_of_truths_are_missing(quick, classes, rng):
    holes = np.where(rng.random((60, 3)) < 0.2, np.nan, rng.integers(0, 2, (60, 3)))
    truths = [[None if np.isnan(cell) else bool(cell) for cell in row] for row in holes]
    X = pl.DataFrame(truths, schema=list("abc"), orient="row")
    expected = clone(quick).fit(holes, classes).predict_proba(holes)
    np.testing.assert_array_equal(quick.fit(X, classes).predict_proba(X), expected)


@pytest.mark.parametrize("form", [list, tuple, np.array, pd.Series, pl.Series])
def test_text_instead_of_a_table_points_to_molecules(quick, classes, form):
    X = form(["CCO"] * 60)
    with pytest.raises(TypeError, match=r"X must be a table .* 'CCO'.* graphs_from_smiles"):
        quick.fit(X, classes)
    with pytest.raises(TypeError, match="graphs_from_smiles"):
        quick.fit(np.eye(60), classes).predict(X)


@pytest.mark.parametrize("X", [[], ()])
def test_nothing_is_no_table(X):
    with pytest.raises(ValueError, match=r"^X must hold at least one sample; got none\.$"):
        GraphCNNClassifier().fit(X, [])


def test_masked_values_are_missing(quick, table, classes, rng):
    mask = rng.random(table.shape) < 0.2
    for whole in (table, (10 * table).astype(int)):
        masked = np.ma.masked_array(np.where(mask, 1_000_000, whole), mask=mask)
        holes = np.where(mask, np.nan, whole)
        expected = clone(quick).fit(holes, classes).predict_proba(holes)
        found = clone(quick).fit(masked, classes)
        np.testing.assert_array_equal(found.predict_proba(masked), expected)


def test_masked_targets_and_weights_are_refused(regressor, table, values):
    masked = np.ma.masked_array(np.abs(values), mask=values > 100)
    with pytest.raises(TypeError, match="y must not be a masked array"):
        regressor.fit(table, masked)
    with pytest.raises(TypeError, match="sample_weight must not be a masked array"):
        regressor.fit(table, values, sample_weight=masked)
