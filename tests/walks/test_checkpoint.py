"""A selection that was killed continues from its file and ends where it would have ended."""

import os
import signal
import subprocess
import sys
import time
from hashlib import sha256

import numpy as np
import pytest

from walkconv import grid_graph, select_neighbors
from walkconv._files import only_user
from walkconv.walks.block_file import HEAD
from walkconv.walks.select import ENGINES

SETTINGS = {"n_neighbors": 7, "n_steps": 3, "ties": "random", "random_state": 5}


def assert_same(found, expected):
    np.testing.assert_array_equal(found.index, expected.index)
    np.testing.assert_array_equal(found.sign, expected.sign)
    np.testing.assert_allclose(found.visits, expected.visits, rtol=1e-12)


@pytest.mark.parametrize("method", ENGINES)
def test_finished_rows_are_not_done_again(tmp_path, monkeypatch, method):
    graph, path = grid_graph((12, 11)), tmp_path / "rows"
    expected = select_neighbors(graph, **SETTINGS)
    first = select_neighbors(graph, checkpoint=path, method=method, block_size=10, **SETTINGS)
    assert_same(first, expected)

    def refuse(*_):
        raise AssertionError("a finished row was done again")

    monkeypatch.setattr("walkconv.walks.block_file.BlockFile.append", refuse)
    assert_same(select_neighbors(graph, checkpoint=path, method=method, **SETTINGS), expected)


@pytest.mark.parametrize("n_bytes", [1, 5, 100, 1000, 5000])
def test_a_file_cut_short_is_continued(tmp_path, n_bytes):
    graph, path = grid_graph((12, 11)), tmp_path / "rows"
    expected = select_neighbors(graph, checkpoint=path, block_size=10, n_threads=2, **SETTINGS)
    whole = path.stat().st_size
    os.truncate(path, whole - n_bytes)
    found = select_neighbors(graph, checkpoint=path, block_size=7, **SETTINGS)
    assert_same(found, expected)
    again = select_neighbors(graph, checkpoint=path, **SETTINGS)
    assert_same(again, expected)


def test_a_changed_block_is_done_anew(tmp_path):
    graph, path = grid_graph((12, 11)), tmp_path / "rows"
    expected = select_neighbors(graph, checkpoint=path, block_size=10, **SETTINGS)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 255
    path.write_bytes(content)
    assert_same(select_neighbors(graph, checkpoint=path, **SETTINGS), expected)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_steps": 2}, "n_steps was 3 and is 2"),
        ({"n_neighbors": 8}, "n_neighbors was 7 and is 8"),
        ({"ties": "index"}, "rule of ties was 'random' and is 'index'"),
        ({"random_state": 6}, "seed of ties was"),
        ({"graph": grid_graph((11, 12))}, "graph has changed"),
    ],
)
def test_the_file_of_another_selection_is_refused(tmp_path, change, message):
    path = tmp_path / "rows"
    select_neighbors(grid_graph((12, 11)), checkpoint=path, **SETTINGS)
    settings = {"graph": grid_graph((12, 11)), **SETTINGS, **change}
    with pytest.raises(ValueError, match=f"rows belongs to another selection: {message}"):
        select_neighbors(settings.pop("graph"), checkpoint=path, **settings)


@pytest.mark.parametrize("content", [b"", b"source,target\n1,2\n", b"{}\n", b"\xff\x00" * 50])
def test_a_file_of_something_else_is_refused_and_kept(tmp_path, content):
    path = tmp_path / "rows"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="it is something else"):
        select_neighbors(grid_graph((3, 3)), n_neighbors=2, checkpoint=path)
    assert path.read_bytes() == content


def forge(path, rows, index, visits):
    """Write a block of any values as the only one, with its digest right."""
    first_line = path.read_bytes().split(b"\n")[0] + b"\n"
    content = b"".join(
        a.astype(t).tobytes() for a, t in ((rows, "<i8"), (index, "<i8"), (visits, "<f8"))
    )
    digest = sha256(sha256(first_line).digest() + content).digest()
    path.write_bytes(first_line + HEAD.pack(len(rows), digest) + content)


FORGED = {
    "far": lambda rows, index, visits: (rows, index + 10**9, visits),
    "negative": lambda rows, index, visits: (rows, index - 3, visits),
    "rows": lambda rows, index, visits: (rows + 10**9, index, visits),
    "negative rows": lambda rows, index, visits: (rows - 5, index, visits),
    "visits": lambda rows, index, visits: (rows, index, visits * np.nan),
}


@pytest.mark.parametrize("forged", FORGED)
@pytest.mark.parametrize("order", ["visits", "direction"])
def test_a_block_that_leads_out_of_the_graph_is_done_again(tmp_path, forged, order):
    graph, path = grid_graph((8, 9)), tmp_path / "rows"
    settings = {"n_neighbors": 5, "n_steps": 2, "order": order, "checkpoint": path}
    if order == "direction":
        settings["positions"] = np.stack(np.divmod(np.arange(72), 9), axis=1)
    expected = select_neighbors(graph, **settings)
    n_columns = 40 if order == "direction" else 5
    index, visits = np.zeros((72, n_columns)), np.ones((72, n_columns))
    forge(path, *FORGED[forged](np.arange(72), index, visits))
    assert_same(select_neighbors(graph, **settings), expected)


def test_a_block_of_another_selection_is_done_again(tmp_path):
    one, other = tmp_path / "one", tmp_path / "other"
    expected = select_neighbors(grid_graph((8, 9)), n_neighbors=5, checkpoint=one)
    select_neighbors(grid_graph((9, 8)), n_neighbors=5, checkpoint=other)
    first_line = one.read_bytes().split(b"\n")[0]
    one.write_bytes(first_line + b"\n" + other.read_bytes().split(b"\n", 1)[1])
    again = select_neighbors(grid_graph((8, 9)), n_neighbors=5, checkpoint=one)
    assert_same(again, expected)


def test_a_second_selection_on_one_checkpoint_is_refused(tmp_path):
    path = tmp_path / "rows"
    with only_user(path), pytest.raises(BlockingIOError, match="rows must have one user at a time"):
        select_neighbors(grid_graph((3, 3)), n_neighbors=2, checkpoint=path)
    select_neighbors(grid_graph((3, 3)), n_neighbors=2, checkpoint=path)


def test_without_a_bar_no_lock_is_shared_with_forked_processes(monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("a bar was made")

    monkeypatch.setattr("walkconv.walks.plan.tqdm", refuse)
    select_neighbors(grid_graph((3, 3)), n_neighbors=2)


VICTIM = """
import sys, time
import walkconv
from walkconv.walks.block_file import BlockFile

append = BlockFile.append
def append_slowly(*block):
    append(*block)
    time.sleep(0.05)

BlockFile.append = append_slowly
walkconv.select_neighbors(
    walkconv.grid_graph((40, 40)), n_neighbors=5, n_steps=2, block_size=10, checkpoint=sys.argv[1]
)
"""


@pytest.mark.slow
def test_a_killed_selection_continues(tmp_path):
    path = tmp_path / "rows"
    victim = subprocess.Popen([sys.executable, "-c", VICTIM, str(path)])
    patience = time.monotonic() + 120
    while not path.exists() or path.stat().st_size < 10_000:
        assert victim.poll() is None
        assert time.monotonic() < patience
        time.sleep(0.01)
    victim.send_signal(signal.SIGKILL)
    assert victim.wait() == -signal.SIGKILL
    n_bytes = path.stat().st_size
    settings = {"n_neighbors": 5, "n_steps": 2}
    expected = select_neighbors(grid_graph((40, 40)), **settings)
    assert n_bytes < 1600 * 8 * 11
    assert_same(select_neighbors(grid_graph((40, 40)), checkpoint=path, **settings), expected)
    rows = path.read_bytes()
    assert n_bytes < len(rows) < 1600 * 8 * 11 + 12_000  # each row once


def test_a_bar_counts_the_nodes_where_someone_looks(capsys, monkeypatch, tmp_path):
    graph, path = grid_graph((12, 11)), tmp_path / "rows"
    select_neighbors(graph, n_neighbors=3, verbose=1)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    for _ in range(2):
        select_neighbors(graph, n_neighbors=3, verbose=1, checkpoint=path, block_size=10)
        assert "132/132" in capsys.readouterr().err
    select_neighbors(graph, n_neighbors=3)
    assert capsys.readouterr().err == ""


def test_ties_by_chance_need_a_seed_to_be_continued(tmp_path):
    with pytest.raises(ValueError, match="needs a random_state"):
        select_neighbors(
            grid_graph((4, 4)), n_neighbors=3, ties="random", checkpoint=tmp_path / "rows"
        )
    assert not (tmp_path / "rows").exists()


def test_a_head_that_promises_too_much_is_cut_off(tmp_path):
    graph, path = grid_graph((12, 11)), tmp_path / "rows"
    expected = select_neighbors(graph, checkpoint=path, block_size=10, **SETTINGS)
    with path.open("ab") as file:
        file.write(b"\xff" * 40)
    assert_same(select_neighbors(graph, checkpoint=path, **SETTINGS), expected)
