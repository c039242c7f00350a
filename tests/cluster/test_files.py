"""What is large goes to workers on this machine, and back, in files that are gone afterwards."""

import gc
import os
import pickle
import resource
import subprocess
import sys
import tempfile
import time

import numpy as np
import pytest

from walkconv import _cluster
from walkconv._cluster import Spread, pack

pytestmark = pytest.mark.slow


@pytest.fixture
def files(tmp_path, monkeypatch):
    """The folder for files, which is empty."""
    folder = tmp_path / "files"
    folder.mkdir()
    monkeypatch.setattr(_cluster, "MEMORY", folder)
    monkeypatch.setattr(_cluster, "ROOM", 0)
    return folder


THREES = np.full(2**18, 3.0)


def larger():
    """Return work for the workers; being local it is sent as code: they cannot import this file."""
    return lambda content, item: content + item


def assert_larger(results):
    results = list(results)
    assert sorted(item for item, _ in results) == list(range(9))
    for item, result in results:
        np.testing.assert_array_equal(result, np.full(2**18, 3.0 + item))


def assert_nothing_is_left(client, files):
    patience = time.monotonic() + 20  # dask lets go a little later
    while (left := [*files.iterdir(), *client.futures]) and time.monotonic() < patience:
        gc.collect()
        time.sleep(0.05)
    assert not left


def test_a_folder_of_a_dead_process_is_removed_and_that_of_a_running_one_stays(files):
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    dead, running = files / f"walkconv-{child.pid}-a", files / f"walkconv-{os.getpid()}-b"
    others = files / "walkconv-notes-c"
    for folder in (dead, running, others):
        folder.mkdir()
        (folder / "x").write_text("x")
    new = _cluster.new_folder()
    assert set(files.iterdir()) == {running, others, new}


def test_where_memory_has_no_room_the_usual_folder_is_taken(files, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(_cluster, "ROOM", 2**80)
    assert _cluster.new_folder().parent == tmp_path
    monkeypatch.setattr(_cluster, "ROOM", 0)
    monkeypatch.setattr(_cluster, "MEMORY", tmp_path / "nowhere")
    assert _cluster.new_folder().parent == tmp_path


def test_large_arrays_go_by_files_that_are_gone_afterwards(client, files, monkeypatch):
    parcels, scatter = [], client.scatter

    def look_and_send(data, **settings):
        parcels.extend(map(pickle.dumps, data))
        return scatter(data, **settings)

    monkeypatch.setattr(client, "scatter", look_and_send)
    spread = Spread(client, THREES)
    assert_larger(spread.done(larger(), range(9)))
    (folder,) = files.iterdir()
    assert len(list(folder.iterdir())) == 1  # the content: results are read once
    assert [len(parcel) < 1000 for parcel in parcels] == [True]
    del spread
    assert_nothing_is_left(client, files)


def test_workers_that_cannot_read_the_file_are_sent_its_content(client, files, monkeypatch):
    def pack_and_hide(thing, folder):
        mapped = pack(thing, folder)
        mapped.path.rename(folder / "elsewhere")
        return mapped

    monkeypatch.setattr("walkconv._cluster.pack", pack_and_hide)
    assert_larger(Spread(client, THREES).done(larger(), range(9)))
    assert_nothing_is_left(client, files)


def test_without_room_for_a_file_the_content_is_sent(client, files):
    spread = Spread(client, THREES)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2**20, limits[1]))
    try:
        assert_larger(spread.done(larger(), range(9)))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert [list(folder.iterdir()) for folder in files.iterdir()] == [[]]  # not half a file either


def test_without_a_folder_for_files_the_content_is_sent(client, files):
    files.rmdir()
    assert_larger(Spread(client, THREES).done(larger(), range(9)))


def test_answers_in_files_survive_the_death_of_all_workers(
    mortals, files, die_once, monkeypatch, tmp_path
):
    die_once(mortals, monkeypatch, tmp_path / "died", mortals.run(os.getpid).values())
    assert_larger(Spread(mortals, THREES).done(larger(), range(9)))
    assert (tmp_path / "died").exists()
    assert_nothing_is_left(mortals, files)


def test_work_that_fails_or_is_abandoned_leaves_nothing(client, files):
    def fail(content, item):
        raise ArithmeticError

    with pytest.raises(ArithmeticError):
        list(Spread(client, THREES).done(fail, range(9)))
    assert_nothing_is_left(client, files)
    done = Spread(client, THREES).done(larger(), range(9))
    next(done)
    done.close()
    del done
    assert_nothing_is_left(client, files)
