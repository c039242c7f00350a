"""Disks that fail, power that fails, processes that are killed: the old file or the new one."""

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from walkconv import GraphCNNRegressor, grid_graph, load, select_neighbors
from walkconv.io import write_table_parts
from walkconv.persistence import read_file, write_file

X = np.random.default_rng(0).normal(size=(40, 4))
MODEL = GraphCNNRegressor("FC4", n_members=1, max_iter=3, random_state=0)


def failing(monkeypatch, name, number, after=0):
    """Let a call of the system fail, after some that succeed."""
    call, calls = getattr(os, name), []

    def fail(*arguments, **settings):
        calls.append(arguments)
        if len(calls) > after:
            raise OSError(number, os.strerror(number))
        return call(*arguments, **settings)

    monkeypatch.setattr(os, name, fail)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO, errno.EDQUOT])
@pytest.mark.parametrize("name", ["fsync", "replace", "open"])
def test_a_disk_that_fails_leaves_the_old_file(tmp_path, monkeypatch, name, number):
    path = tmp_path / "a"
    write_file(path, "note", {}, {"old": True})
    with monkeypatch.context() as patch:
        failing(patch, name, number)
        with pytest.raises(OSError, match=os.strerror(number)):
            write_file(path, "note", {}, {"old": False})
    assert read_file(path, "note") == ({}, {"old": True})
    assert os.listdir(tmp_path) == ["a"]


@pytest.mark.parametrize("after", range(4))
def test_a_fit_whose_disk_fails_is_continued(tmp_path, monkeypatch, after):
    expected = MODEL.fit(X, X[:, 0]).predict(X)
    with monkeypatch.context() as patch:
        failing(patch, "fsync", errno.ENOSPC, after)
        with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
            MODEL.fit(X, X[:, 0], checkpoint=tmp_path / "c")
    found = MODEL.fit(X, X[:, 0], checkpoint=tmp_path / "c").predict(X)
    np.testing.assert_array_equal(found, expected)
    assert os.listdir(tmp_path) == ["c"]


@pytest.mark.parametrize("after", [2, 3, 5])
def test_a_selection_whose_disk_fails_is_continued(tmp_path, monkeypatch, after):
    graph, settings = grid_graph((9, 9)), {"n_neighbors": 5, "block_size": 9, "n_threads": 1}
    with monkeypatch.context() as patch:
        failing(patch, "fsync", errno.EIO, after)
        with pytest.raises(OSError, match=os.strerror(errno.EIO)):
            select_neighbors(graph, checkpoint=tmp_path / "c", **settings)
    found = select_neighbors(graph, checkpoint=tmp_path / "c", **settings)
    np.testing.assert_array_equal(found.index, select_neighbors(graph, **settings).index)


FULL = """
import resource, sys
import walkconv

model = walkconv.load(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
try:
    model.save(sys.argv[1])
except OSError as error:
    print(type(error).__name__, error.strerror)
"""


@pytest.mark.skipif(os.name == "nt", reason="limits of the system")
def test_a_disk_that_is_full_in_the_middle_of_a_write_leaves_the_old_file(tmp_path):
    MODEL.fit(X, X[:, 0]).save(tmp_path / "m")
    content = (tmp_path / "m").read_bytes()
    command = [sys.executable, "-c", FULL, tmp_path / "m", str(len(content) // 2)]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    assert run.stdout == f"OSError {os.strerror(errno.EFBIG)}\n"
    assert (tmp_path / "m").read_bytes() == content
    assert os.listdir(tmp_path) == ["m"]


@pytest.mark.skipif(os.name == "nt", reason="limits of the system")
@pytest.mark.parametrize("n_parts", [1, 2])
def test_a_table_for_which_the_disk_has_no_room_is_not_written(tmp_path, n_parts):
    import resource

    parts = [pl.DataFrame({"x": np.random.default_rng(0).normal(size=2000)})] * n_parts
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    for name in ("t.csv", "t.parquet"):
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))
        try:
            with pytest.raises(OSError, match=os.strerror(errno.EFBIG)):
                write_table_parts(parts, tmp_path / name)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a timer")
def test_calls_that_signals_interrupt_go_on(tmp_path):
    graph, settings = grid_graph((30, 30)), {"n_neighbors": 5, "block_size": 9, "n_threads": 1}
    expected = MODEL.fit(X, X[:, 0]).predict(X)
    wanted = select_neighbors(graph, **settings).index
    came = []
    before = signal.signal(signal.SIGALRM, lambda *_: came.append(1))
    signal.setitimer(signal.ITIMER_REAL, 1e-3, 1e-3)
    try:
        model = MODEL.fit(X, X[:, 0], checkpoint=tmp_path / "c")
        model.save(tmp_path / "m")
        found = select_neighbors(graph, checkpoint=tmp_path / "s", **settings).index
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert came
    np.testing.assert_array_equal(model.predict(X), expected)
    np.testing.assert_array_equal(load(tmp_path / "m").predict(X), expected)
    np.testing.assert_array_equal(found, wanted)


def test_power_that_fails_at_any_byte_of_a_selection_loses_only_what_was_not_written(tmp_path):
    graph, settings = grid_graph((4, 5)), {"n_neighbors": 3, "block_size": 4}
    path = tmp_path / "c"
    expected = select_neighbors(graph, checkpoint=path, **settings)
    content = path.read_bytes()
    first_line = content.index(b"\n") + 1  # it is on the disk before the file has its name
    for length in range(first_line, len(content), 41):
        path.write_bytes(content[:length])
        found = select_neighbors(graph, checkpoint=path, **settings)
        np.testing.assert_array_equal(found.index, expected.index)
        path.write_bytes(content[:length] + bytes(len(content) - length))  # never written: zeros
        found = select_neighbors(graph, checkpoint=path, **settings)
        np.testing.assert_array_equal(found.index, expected.index)


def test_power_that_fails_between_any_two_steps_of_a_save_leaves_a_whole_file(
    tmp_path, monkeypatch
):
    path, steps = tmp_path / "a", []
    write_file(path, "note", {}, {"old": True})

    def record(name, call):
        def recorded(*arguments, **settings):
            steps.append((name, path.read_bytes(), arguments[:1]))
            return call(*arguments, **settings)

        return recorded

    with monkeypatch.context() as patch:
        for name in ("fsync", "replace"):
            patch.setattr(os, name, record(name, getattr(os, name)))
        write_file(path, "note", {}, {"old": False})
    # The data is forced to the disk before the name is, and the folder after it.
    assert [name for name, *_ in steps] == ["fsync", "replace", "fsync"]
    for _, content, _ in steps:
        (tmp_path / "then").write_bytes(content)
        assert "old" in read_file(tmp_path / "then", "note")[1]


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_few_killed_processes_leave_whole_files_and_equal_bits():
    command = [sys.executable, "-m", "tests.hostile.kills", "--kills", "8"]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert run.returncode == 0, run.stderr
    assert "no torn file, equal bits" in run.stdout


TOGETHER = """
import sys
import numpy as np
from walkconv import GraphCNNRegressor

X = np.random.default_rng(0).normal(size=(40, 4))
model = GraphCNNRegressor("FC4", n_members=1, max_iter=40, random_state=int(sys.argv[1]))
try:
    model.fit(X, X[:, 0], checkpoint="c")
except BlockingIOError:
    print("refused")
except ValueError as error:
    assert "belongs to another fit" in str(error)
    print("refused")
else:
    model.save("m")
    print("done")
"""


@pytest.mark.slow
def test_two_processes_on_the_same_paths_leave_whole_files(tmp_path):
    command = [sys.executable, "-c", TOGETHER]
    running = [
        subprocess.Popen([*command, str(seed)], cwd=tmp_path, stdout=subprocess.PIPE, text=True)
        for seed in (1, 2)
    ]
    said = [each.communicate(timeout=200)[0].strip() for each in running]
    assert sorted(said) == ["done", "refused"]
    assert sorted(os.listdir(tmp_path)) == ["c", "m"]
    read_file(tmp_path / "m", "model")


@pytest.mark.skipif(os.name == "nt" or os.getuid() == 0, reason="root may write anywhere")
def test_a_read_only_folder_is_refused_before_the_fit(tmp_path):
    folder = Path(tmp_path, "kept")
    folder.mkdir(mode=0o500)
    with pytest.raises(OSError, match="must be in a folder that can be written to"):
        MODEL.fit(X, X[:, 0], checkpoint=folder / "c")
