"""The page of table benchmarks says what the runs say, and others can run the default fit."""

import importlib
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
import pytest

from walkconv import GraphCNNClassifier, GraphCNNRegressor

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture
def benchmark_module(monkeypatch):
    """Import a module of the benchmarks by its name, and forget it afterwards."""
    before = set(sys.modules)
    monkeypatch.syspath_prepend(BENCHMARKS)
    yield importlib.import_module
    for name in set(sys.modules) - before:
        if (BENCHMARKS / f"{name}.py").exists():
            del sys.modules[name]


@pytest.fixture
def page(benchmark_module):
    return benchmark_module("tables_page")


def runs_of(scores, half="reported", group="small"):
    """Return runs from scores by table and method, one for each split."""
    made_with = {"processor": "P", "cores": 2, "threads": 1, "versions": {}, "commit": "c"}
    return [
        {
            "table": table,
            "group": group,
            "half": half,
            "method": method,
            "split": split,
            "n_train": 100,
            "n_columns": 7,
            "score": score,
            "seconds": 2.0,
            "core_seconds": 1.0,
            "made_with": made_with,
        }
        for table, by_method in scores.items()
        for method, found in by_method.items()
        for split, score in enumerate(found)
    ]


def test_the_page_is_current(page):
    assert page.PAGE.read_text() == page.page(page.read_runs())


def test_the_page_compares_with_the_best_other_method(page):
    scores = {
        "won": {"walkconv": [0.9, 0.8], "LightGBM": [0.8, 0.8], "linear": [0.1, 0.2]},
        "level": {"walkconv": [0.9, 0.7], "LightGBM": [0.8, 0.81], "linear": [0.1, 0.2]},
        "lost": {"walkconv": [0.5, 0.5], "LightGBM": [0.8, 0.7], "linear": [0.1, 0.2]},
    }
    text = page.page(runs_of(scores))
    assert "| won | 100 x 7 | 85.0 | 80.0 | 15.0 | +5.0 ± 5.0 |" in text
    assert "| mean rank | 3 tables | 1.67 | 1.33 | 3.00 |" in text
    assert (
        "Of 3 small tables walkconv is ahead of the best other method on 1, within one standard "
        "error on 1, behind on 1. Behind: lost." in text
    )


def test_only_splits_that_every_method_has_are_compared(page):
    scores = {"short": {"walkconv": [0.9, 0.1], "LightGBM": [0.8]}}
    assert "| short | 100 x 7 | 90.0 | 80.0 | +10.0 |" in page.page(runs_of(scores))


def test_the_suite_has_both_halves_of_every_group(benchmark_module):
    tables = benchmark_module("tables_suite").TABLES
    assert len(tables) >= 24
    assert len({table.name for table in tables}) == len(tables)
    groups = {table.group for table in tables}
    assert {(t.group, t.half) for t in tables} == {
        (group, half) for group in groups for half in ("tuning", "reported")
    }


def test_columns_are_shuffled_and_splits_have_no_row_in_common(benchmark_module):
    suite = benchmark_module("tables_suite")
    X, y = np.arange(60.0).reshape(20, 3), np.arange(20) % 2
    table = suite.Table("t", "small", "tuning", lambda: suite.Rows(X, y))
    rows = table.read()
    assert sorted(rows.X[0].tolist()) == [0, 1, 2]
    train, test = table.split(rows, 0)
    assert sorted([*train, *test]) == list(range(20))
    given = suite.Rows(X, y, 12)
    assert table.split(given, 0)[0].tolist() == list(range(12))
    assert len(table.split(given, 1)[0]) == 12


class AbstractModel:
    """What the adapter uses of AutoGluon's class of this name."""

    def __init__(self, problem_type, hyperparameters):
        self.problem_type, self.hyperparameters = problem_type, hyperparameters

    def _get_model_params(self):
        return self.hyperparameters

    def preprocess(self, X, is_train=False):
        return X

    def fit(self, **arguments):
        self._fit(**arguments)
        return self


@pytest.fixture
def adapter(benchmark_module, monkeypatch):
    models = ModuleType("autogluon.core.models")
    models.AbstractModel = AbstractModel
    monkeypatch.setitem(sys.modules, "autogluon", ModuleType("autogluon"))
    monkeypatch.setitem(sys.modules, "autogluon.core", ModuleType("autogluon.core"))
    monkeypatch.setitem(sys.modules, "autogluon.core.models", models)
    return benchmark_module("autogluon_model").WalkconvModel


@pytest.mark.parametrize(
    ("problem_type", "kind"),
    [("regression", GraphCNNRegressor), ("multiclass", GraphCNNClassifier)],
)
def test_the_adapter_fits_within_the_time_limit_of_autogluon(adapter, rng, problem_type, kind):
    X = pd.DataFrame(rng.normal(size=(40, 4)), columns=list("abcd"))
    y = X["a"] if problem_type == "regression" else pd.Series(np.arange(40) % 3)
    model = adapter(problem_type, {"max_iter": 2, "n_members": 1})
    fitted = model.fit(X=X, y=y, X_val=X, y_val=y, time_limit=50, num_cpus=1).model
    assert type(fitted) is kind
    assert fitted.time_limit == 45
    assert fitted.predict(X).shape == (40,)
    assert problem_type in adapter.supported_problem_types()
