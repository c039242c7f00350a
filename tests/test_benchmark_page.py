"""The page of benchmark results says what the results say."""

import importlib
import json
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from walkconv import select_neighbors, transition_matrix

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
    return benchmark_module("page")


@pytest.mark.parametrize("name", ["page", "scale_page", "structure_page"])
def test_the_page_is_current(benchmark_module, name):
    page = benchmark_module(name)
    assert page.PAGE.read_text() == page.page(json.loads(page.RESULTS.read_text()))


def test_a_wrong_neighbor_is_noticed(benchmark_module, lopsided):
    scipy_rows = benchmark_module("scipy_rows")
    rows = np.array([0, 1, 2])
    step = sp.csr_array(transition_matrix(lopsided))
    index = select_neighbors(lopsided, n_neighbors=3, n_steps=2).index[rows]
    assert scipy_rows.is_same(step, rows, 2, index)
    for row in range(3):
        wrong = index.copy()
        wrong[row, [1, 2]] = wrong[row, [2, 1]]
        assert not scipy_rows.is_same(step, rows, 2, wrong)


def test_the_scale_page_tells_growth_by_the_node(benchmark_module):
    page = benchmark_module("scale_page")
    made_with = {"processor": "P", "cores": 2, "threads": 1, "versions": {}, "commit": "c"}
    rows = [
        {
            "n_nodes": n_nodes,
            "n_steps": 2,
            "seconds": seconds,
            "graph_bytes": 2**30,
            "extra_bytes": 2**31,
            "allowed_bytes": 2**32,
        }
        for n_nodes, seconds in ((100, 0.001), (1000, 0.015))
    ]
    written = page.page({"growth": {"measured": rows, "made_with": made_with}})
    assert "| 1,000 | 0.01 s | 15.00 us | 1.50x | 1.00 GiB | 2.00 GiB | 4.00 GiB |" in written, (
        written
    )


def test_the_scale_page_tells_what_a_cluster_costs(benchmark_module):
    page = benchmark_module("scale_page")
    made_with = {"processor": "P", "cores": 2, "threads": 1, "versions": {}, "commit": "c"}
    row = {"graph": "web", "n_nodes": 1000, "n_steps": 3, "n_workers": 2, "seconds": 2.0}
    row |= {"dask_seconds": 2.3, "overhead": 0.15, "same": True}
    written = page.page({"dask": {"measured": [row], "made_with": made_with}})
    assert "2 processes beside 2 threads" in written
    assert "| web | 1,000 | 3 | 2.00 s | 2.30 s | 15 % | yes |" in written, written


def test_the_scale_page_tells_how_far_apart_the_losses_are(benchmark_module):
    page = benchmark_module("scale_page")
    made_with = {"processor": "P", "cores": 2, "threads": 1, "versions": {}, "commit": "c"}
    row = {
        "architecture": "C20",
        "n_rows": 1000,
        "n_columns": 7,
        "batch_size": 128,
        "n_parameters": 1234,
        "seconds": {"1 process": 3.0, "2 processes": 2.0},
        "loss": {"1 process": 1.0, "2 processes": 1.0002},
    }
    written = page.page({"processes": {"measured": [row], "made_with": made_with}})
    assert "| C20 | 1,234 | 3.00 s | 2.00 s | 2e-04 |" in written, written
    assert "1,000 random rows of 7 columns, batches of 128" in written


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


def test_the_page_tells_how_straight_a_line_in_p_the_times_are(page):
    def sentence(seconds):
        shapes = [[1, 1, p, 1, 1] for p in (4, 8, 16)]
        rows = [{"shape": s, "seconds": t} for s, t in zip(shapes, seconds, strict=True)]
        return page._line(rows)

    assert "line 1 ms + p * 2 ms is off by at most 0%" in sentence([0.009, 0.017, 0.033])
    assert "off by at most 0%" not in sentence([0.009, 0.017, 0.060])


@pytest.fixture
def pooling(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    yield importlib.import_module("bench_pooling")
    del sys.modules["bench_pooling"]


def test_the_page_on_pooling_is_current(pooling):
    assert pooling.PAGE.read_text() == pooling.page(json.loads(pooling.RESULTS.read_text()))


def test_slots_and_procrustes_are_right_for_a_turned_grid_and_notice_swapped_columns(
    benchmark_module,
):
    scores = benchmark_module("structure_scores")
    grid = np.stack(np.divmod(np.arange(35), 7), axis=1).astype(float)
    ends = np.zeros(2)
    turned = grid[:, ::-1] * [-1, 1] + 0.2
    assert scores.slots_right(turned, grid, ends, ends) == 1.0
    assert scores.procrustes_error(3 * turned, grid, ends, ends) == pytest.approx(0.0, abs=1e-12)
    turned[[8, 24]] = turned[[24, 8]]
    n_wrong = 32  # the 8 slots of both nodes, and the 8 slots that should hold each
    n_slots = 2 * (5 * 6 + 4 * 7 + 2 * 4 * 6)
    assert scores.slots_right(turned, grid, ends, ends) == pytest.approx(1 - n_wrong / n_slots)
    assert scores.procrustes_error(turned, grid, ends, ends) > 0.01


def test_slots_of_a_ring_go_round_wherever_it_is_cut(benchmark_module):
    scores = benchmark_module("structure_scores")
    sites = np.arange(9.0)[:, None]
    period, ends = np.array([9.0]), np.zeros(1)
    around = (4.5 - sites) % 9
    assert scores.slots_right(around, sites, period, period) == 1.0
    assert scores.procrustes_error(around, sites, period, period) == pytest.approx(0, abs=1e-12)
    assert scores.slots_right(around, sites, ends, period) == pytest.approx(16 / 18)


def test_channels_are_right_only_if_whole_groups_have_the_labels_of_most(benchmark_module):
    scores = benchmark_module("structure_scores")
    site, true = np.repeat([0, 1, 2, 3], 2), np.tile([0, 1], 4)
    node = np.array([5, 5, 1, 1, 2, 3, 7, 7])  # the third pair is split
    share, is_grouped = scores.groups_right(node, site)
    assert share == 0.75
    assert is_grouped.tolist() == [True] * 4 + [False] * 2 + [True] * 2
    channel = np.array([1, 0, 1, 0, 1, 0, 0, 1])  # the last pair is the other way round
    assert scores.labels_right(channel, true, site, is_grouped) == 0.5
