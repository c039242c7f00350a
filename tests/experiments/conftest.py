"""Experiments that keep their records elsewhere."""

import pytest

from experiments import averages, records, task
from experiments.data import load_data
from experiments.splits import load_splits


@pytest.fixture
def results(tmp_path, monkeypatch):
    """A place of their own for the records, and small data for every table."""
    monkeypatch.setattr(records, "RESULTS", tmp_path)
    monkeypatch.setattr(task, "UNFINISHED", tmp_path / "unfinished")
    monkeypatch.setattr(
        task, "load_splits", lambda table, seed, **_: load_splits(table, seed=seed, is_smoke=True)
    )
    monkeypatch.setattr(averages, "load_data", lambda table, **_: load_data(table, is_smoke=True))
    monkeypatch.setattr(task, "_check_parameters", lambda *_: None)
    return tmp_path
