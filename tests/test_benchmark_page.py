"""The page of benchmark results says what the results say."""

import importlib
import json
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture
def page(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    yield importlib.import_module("page")
    del sys.modules["page"]


def test_the_page_is_current(page):
    assert page.PAGE.read_text() == page.page(json.loads(page.RESULTS.read_text()))


def test_the_page_gives_every_contestant_beside_ours(page):
    made_with = {"processor": "P", "cores": 2, "threads": 1, "versions": {"torch": "3"}}
    row = {
        "name": "small",
        "shape": [2, 3, 4, 5, 6],
        "forward": {"walkconv": 0.002, "bare GEMMs": 0.003},
        "training": {"walkconv": 0.004, "bare GEMMs": 1.0},
    }
    written = page.page({"shapes": {"measured": [row], "made_with": {**made_with, "commit": "c"}}})
    assert "small<br>2, 3, 4, 5, 6" in written
    assert "| walkconv | 2 ms (1.00) |" in written
    assert "| bare GEMMs | 3 ms (1.50) |" in written
    assert "| bare GEMMs | 1000 ms (250.00) |" in written
    assert "P, 2 cores, 1 threads, torch 3, commit c." in written


@pytest.fixture
def pooling(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    yield importlib.import_module("bench_pooling")
    del sys.modules["bench_pooling"]


def test_the_page_on_pooling_is_current(pooling):
    assert pooling.PAGE.read_text() == pooling.page(json.loads(pooling.RESULTS.read_text()))
