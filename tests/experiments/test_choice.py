"""Settings chosen inside the training rows."""

import json
from dataclasses import replace

import numpy as np
import pytest

from experiments import rows, tables
from experiments.choice import choose, with_tried
from experiments.data import Data, accuracy
from experiments.fitted import Fitted
from experiments.folds import SMOKE_FOLDS
from experiments.rows import Row
from experiments.task import Task, run_task

GRID = {"guess": [0, 1], "steps": [3]}


@pytest.fixture
def data():
    y = np.array([0] * 10 + [1] * 20)
    X = np.arange(30.0)[:, None]
    return Data(X, y, X, 1 - y, "classification", measure=accuracy)


def guess(data, settings, run):
    """Predict one class for all."""
    assert "among" not in settings
    return Fitted(lambda X: np.full(len(X), settings["guess"]))


def test_the_training_rows_decide_and_not_the_test_rows(data):
    assert choose(guess, data, {"among": GRID}, 0) == {"guess": 1, "steps": 3}
    turned = replace(data, y_train=1 - data.y_train)
    assert choose(guess, turned, {"among": GRID}, 0) == {"guess": 0, "steps": 3}


def test_every_training_row_is_held_back_once_and_no_test_row_is_seen(data):
    held = []

    def look(part, settings, run):
        assert not set(part.X_train.ravel()) & set(part.X_test.ravel())
        held.extend(part.X_test.ravel())
        return guess(part, settings, run)

    without_test = replace(data, X_test=data.X_test[:0], y_test=data.y_test[:0])
    choose(look, without_test, {"among": {"guess": [0]}}, 0)
    assert sorted(held) == list(data.X_train.ravel())


def test_a_grid_may_come_in_parts_and_one_member_is_enough_to_choose(data):
    seen = []

    def look(part, settings, run):
        seen.append((settings["guess"], settings["n_members"]))
        return guess(part, settings, run)

    choose(look, data, {"n_members": 5, "among": [{"guess": [0]}, {"guess": [1]}]}, 0)
    assert set(seen) == {(0, 1), (1, 1)}


def test_where_less_is_better_the_least_is_taken(data):
    assert not replace(data, measure=None).more_is_better
    assert choose(guess, replace(data, measure=None), {"among": GRID}, 0)["guess"] == 1


def test_what_is_tried_is_not_chosen(data):
    settings = {"guess": 0, "n": 1, "among": [{"guess": [0, 1], "steps": [1]}, {"steps": [2]}]}
    tried = with_tried(settings, {"guess": 5})
    assert tried == {"guess": 5, "n": 1, "among": [{"steps": [1]}, {"steps": [2]}]}
    assert with_tried({"guess": 0, "among": GRID}, {}) == {"guess": 0, "among": GRID}
    assert with_tried({"among": [{"guess": [0, 1]}, {"guess": [2]}]}, {"guess": 5}) == {"guess": 5}


def test_rows_held_back_must_not_be_seen_by_a_preparation(tmp_path, monkeypatch):
    monkeypatch.setattr(rows, "CONFIGS", tmp_path)
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "table.toml").write_text(
        'rows = ["r"]\n[sound]\nseeds = [0]\n[sound.network]\nprepare = ["relevance"]\n'
    )
    (tmp_path / "t" / "r.toml").write_text('name = "r"\n[sound]\n[sound.among]\np = [1, 2]\n')
    with pytest.raises(ValueError, match="both `among` and `prepare`"):
        rows.read_rows("t")


def test_without_candidates_nothing_is_chosen(data):
    assert choose(guess, data, {"guess": 0}, 0) == {}


def test_what_each_fold_chose_is_in_its_record(results):
    network = {"architecture": "G-FC4", "max_iter": 1, "among": {"readout": ["sum", "mean"]}}
    row = Row("mutag", "chosen", "chosen", settings={"sound": network}, seeds={"sound": (0,)})
    run_task(Task(row, "sound", 0), 1)
    (path,) = results.rglob("*.json")
    chosen = json.loads(path.read_text())["chosen"]
    assert len(chosen) == SMOKE_FOLDS
    assert {each["readout"] for each in chosen} <= {"sum", "mean"}


def test_the_page_counts_what_was_chosen(monkeypatch):
    walk, other = {"readout": "sum", "n_steps": 1}, {"readout": "mean", "n_steps": 2}
    found = [{"chosen": [walk, other]}, {"chosen": [walk]}]
    monkeypatch.setattr(tables, "read_records", lambda *_: found)
    assert tables.chosen("proteins", "c16") == "`sum`, k = 1 in 2; `mean`, k = 2 in 1"
