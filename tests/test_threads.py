import os

import pytest

from walkconv._threads import available_threads


@pytest.mark.parametrize(
    ("said", "expected"),
    [(None, 4), ("1", 1), ("3", 3), ("9", 4), ("0", 4), ("-2", 4), ("two", 4), ("", 4), ("2,1", 4)],
)
def test_a_launcher_may_ask_for_fewer_threads_than_there_are_cores(said, expected, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2, 5}, raising=False)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    if said is not None:
        monkeypatch.setenv("OMP_NUM_THREADS", said)
    assert available_threads() == expected
