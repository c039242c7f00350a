import os
import subprocess
import sys
from textwrap import dedent

import pytest

from walkconv import _threads
from walkconv._threads import available_threads


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
