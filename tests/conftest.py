"""Graphs and settings that the tests share."""

import os
import subprocess
import sys

import hypothesis
import numpy as np
import pytest
import scipy.sparse as sp

from walkconv import _native
from walkconv.conv import engines, native, tiled

hypothesis.settings.register_profile("walkconv", deadline=None, derandomize=True)
hypothesis.settings.load_profile("walkconv")


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def lopsided():
    """Five nodes: a negative edge, a tie, a self-loop, a dangling node (3), an isolated one (4)."""
    return sp.csr_array(
        np.array(
            [
                [0.0, 1.0, -2.0, 1.0, 0.0],
                [1.0, 0.0, 1.0, 0.0, 0.0],
                [-2.0, 1.0, 1.0, 0.0, 0.0],
                [0.0, 0.0, 0.0, 0.0, 0.0],
                [0.0, 0.0, 0.0, 0.0, 0.0],
            ]
        )
    )


@pytest.fixture(scope="session")
def run_together():
    """Run a script, or a module after "-m", in two or more processes; returns what they said."""

    def run(*arguments, n_processes=2, **streams):
        command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
        command += ["--nproc-per-node", n_processes, *arguments]
        process = subprocess.Popen(
            [str(word) for word in command],
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            text=True,
            **(streams or {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}),
        )
        try:
            said = process.communicate(timeout=300)
        except BaseException:
            process.terminate()  # and it ends the others
            process.wait(timeout=60)
            raise
        return subprocess.CompletedProcess(process.args, process.returncode, *said)

    return run


def _chosen(name):
    engine = tiled if name == "torch" else native.NativeEngine(name)
    return engines.Choice(name, engine, "chosen by a test")


@pytest.fixture(params=("torch", *native.supported()))
def each_engine(request, monkeypatch):
    """Run the test with every engine in turn."""
    chosen = _chosen(request.param)
    monkeypatch.setattr(engines, "choose", lambda: chosen)
    return request.param


@pytest.fixture(params=native.supported())
def each_native_engine(request, monkeypatch):
    """Run the test with every instruction set of the kernel."""
    chosen = _chosen(request.param)
    monkeypatch.setattr(engines, "choose", lambda: chosen)
    return request.param


@pytest.fixture
def without_library(monkeypatch):
    """Run the test as if the native library had not been built; torch keeps its engine."""
    monkeypatch.setattr(_native, "library", lambda: None)
