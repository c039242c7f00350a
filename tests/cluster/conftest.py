"""A cluster of two worker processes, and how they die."""

import os
import signal
import time
from contextlib import contextmanager

import pytest


@contextmanager
def two_workers():
    from distributed import Client, LocalCluster

    settings = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0"}
    with LocalCluster(processes=True, **settings) as cluster, Client(cluster) as client:
        yield client


@pytest.fixture(scope="module")
def client():
    with two_workers() as client:
        yield client


@pytest.fixture
def mortals():
    """A cluster of its own for a test that kills workers: dask may give up those that died.

    Both would be restarted now: while they start they would not.
    """
    with two_workers() as client:
        patience = time.monotonic() + 60
        while any(nanny.status.name != "running" for nanny in client.cluster.workers.values()):
            assert time.monotonic() < patience
            time.sleep(0.05)
        yield client


@pytest.fixture(scope="session")
def die_once():
    """Return a function that lets workers die in the middle of their work."""
    return let_die_once


def killer(pids):
    """Return a function that kills these processes and its own, which comes last.

    Being local it is sent to the workers as code: they cannot import this file.
    """

    def kill():
        for pid in [*(set(pids) - {os.getpid()}), os.getpid()]:
            os.kill(pid, signal.SIGKILL)

    return kill


def let_die_once(client, monkeypatch, marker, others=()):
    """Let the third task that starts kill its worker, and others: the rest is for their heirs.

    The file `marker` is there afterwards.
    """
    kill, submit, started = killer(others), client.submit, marker.with_suffix(".started")

    def perhaps_die(work, *arguments):
        with started.open("a") as file:
            file.write(".")
        if started.stat().st_size >= 3 and not marker.exists():
            marker.touch()
            kill()
        return work(*arguments)

    def submit_it(*arguments, **settings):
        return submit(perhaps_die, *arguments, **settings)

    monkeypatch.setattr(client, "submit", submit_it)
