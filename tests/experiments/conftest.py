"""Experiments that keep their records elsewhere."""

import pytest

from experiments import records, run, task
from experiments.splits import load_splits


@pytest.fixture
def results(tmp_path, monkeypatch):
    """A place of their own for the records, and small data for every table."""
    monkeypatch.setattr(task, "RESULTS", tmp_path)
    monkeypatch.setattr(task, "UNFINISHED", tmp_path / "unfinished")
    monkeypatch.setattr(
        task, "record_path", lambda *a, **k: records.record_path(*a, **k, folder=tmp_path)
    )
    monkeypatch.setattr(
        task, "load_splits", lambda table, seed, **_: load_splits(table, seed=seed, is_smoke=True)
    )
    monkeypatch.setattr(task, "_check_parameters", lambda *_: None)
    monkeypatch.setattr(run, "write_average", lambda *_: None)
    return tmp_path
