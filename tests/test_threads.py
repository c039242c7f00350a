import gc
import os
import subprocess
import sys
import threading
import time
import weakref
from textwrap import dedent

import pytest

from walkconv import _threads
from walkconv._threads import available_threads, done_in_threads


@pytest.mark.parametrize(
    ("said", "expected"),
    [("1", 1), ("3", 3), ("9", 4), ("0", 4), ("-2", 4), ("two", 4), ("", 4), ("2,1", 4)],
)
def test_a_launcher_may_ask_for_fewer_threads_than_there_are_cores(said, expected, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2, 5}, raising=False)
    monkeypatch.setattr(_threads, "_ASKED", said)
    assert available_threads() == expected


@pytest.mark.parametrize(("began_with", "expected"), [("3", 3), (None, 4)])
def test_only_what_was_said_before_the_import_counts(began_with, expected):
    # dask sets the variable in the process that starts its workers, and leaves it so.
    program = """
        import os
        import walkconv
        os.environ["OMP_NUM_THREADS"] = "1"
        os.sched_getaffinity = lambda _: {0, 1, 2, 5}
        from walkconv._threads import available_threads
        print(available_threads())
    """
    environment = {k: v for k, v in os.environ.items() if k != "OMP_NUM_THREADS"}
    if began_with:
        environment["OMP_NUM_THREADS"] = began_with
    said = subprocess.run(
        [sys.executable, "-c", dedent(program)],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert int(said) == expected


@pytest.mark.parametrize("n_threads", [1, 2, 3, 9])
@pytest.mark.parametrize("n_items", [0, 1, 2, 50])
def test_every_item_is_worked_on_once(n_items, n_threads):
    done = list(done_in_threads(lambda item: item**2, range(n_items), n_threads))
    assert sorted(done) == [(item, item**2) for item in range(n_items)]


def test_the_calling_thread_and_its_helpers_work_at_the_same_time():
    together = threading.Barrier(3)

    def work(_):
        together.wait(timeout=30)
        return threading.get_ident()

    found = dict(done_in_threads(work, range(3), 3))
    assert len(set(found.values())) == 3
    assert threading.get_ident() in found.values()


@pytest.mark.parametrize("n_threads", [1, 3])
def test_an_error_ends_the_work_and_is_raised(n_threads):
    begun = []

    def work(item):
        begun.append(item)
        if item == 4:
            raise ValueError("the fourth")
        time.sleep(1e-3)

    with pytest.raises(ValueError, match="the fourth"):
        list(done_in_threads(work, range(1000), n_threads))
    assert len(begun) < 1000


def test_a_thread_that_cannot_be_started_leaves_none_at_work(monkeypatch):
    started, begun = [], []

    class Scarce(threading.Thread):
        def start(self):
            if len(started) == 2:
                raise RuntimeError("can't start new thread")
            started.append(self)
            super().start()

    def work(item):
        begun.append(item)
        time.sleep(1e-3)

    monkeypatch.setattr(_threads, "Thread", Scarce)
    with pytest.raises(RuntimeError, match="can't start"):
        list(done_in_threads(work, range(1000), 5))
    n_begun = len(begun)
    time.sleep(0.05)
    assert len(begun) == n_begun < 1000


@pytest.mark.parametrize("n_threads", [1, 2])
def test_what_the_work_held_is_free_after_an_error(n_threads):
    class Held:
        pass

    def fail_with(held):
        def work(item):
            raise ValueError(f"{item} of {held}")

        with pytest.raises(ValueError, match="of"):
            list(done_in_threads(work, range(3), n_threads))
        return weakref.ref(held)

    gc.disable()
    try:
        reference = fail_with(Held())
        assert reference() is None
    finally:
        gc.enable()


def test_whoever_stops_listening_leaves_no_thread_at_work():
    begun, ended = [], []

    def work(item):
        begun.append(item)
        time.sleep(1e-3)
        ended.append(item)

    results = done_in_threads(work, range(1000), 3)
    next(results)
    results.close()
    assert len(begun) == len(ended) < 1000
    time.sleep(0.05)
    assert len(begun) == len(ended)
