"""A short run of hostile files; ``make fuzz`` is the long one."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.hostile.bases import BASES
from tests.hostile.campaign import SLOW, stored_cases
from tests.hostile.mutate import mutate
from tests.hostile.worker import Worker

FEW = 12
"""Cases of each kind; each takes some hundredths of a second."""
VERY_SLOW = 0.1
"""How often a kind is drawn whose cases take some tenths of a second or more."""
CORPUS = stored_cases()


@pytest.fixture(scope="module")
def worker():
    worker = Worker()
    yield worker
    worker.close()


@pytest.fixture(scope="module")
def bases(worker):
    return {kind: worker.bases(kind) for kind in BASES}


@pytest.mark.parametrize("kind", BASES)
def test_valid_files_are_taken(worker, bases, kind):
    for base in bases[kind]:
        outcome = worker.run(kind, base)
        assert outcome.what == "ok", outcome.detail


def test_a_worker_is_the_same_whatever_the_environment(monkeypatch, bases):
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.setenv(name, "2")
    for name, value in {"RANK": "0", "WORLD_SIZE": "2", "WALKCONV_ENGINE": "torch"}.items():
        monkeypatch.setenv(name, value)
    own = Worker()
    try:
        outcome = own.run("fit checkpoint", bases["fit checkpoint"][0])
    finally:
        own.close()
    assert outcome.what == "ok", outcome.detail


@pytest.mark.parametrize("kind", BASES)
def test_hostile_files_are_refused_or_harmless(worker, bases, kind):
    @settings(max_examples=2 if SLOW.get(kind, 1) <= VERY_SLOW else FEW)
    @given(st.integers(0, 2**32))
    def run(seed):
        draw = Random(seed)
        outcome = worker.run(kind, mutate(draw, kind, draw.choice(bases[kind])))
        assert not outcome.is_finding, outcome.detail

    run()


@pytest.mark.skipif(not CORPUS, reason="no findings are stored")
@pytest.mark.parametrize(("kind", "path"), CORPUS, ids=lambda value: str(value)[-20:])
def test_what_once_was_a_finding_is_none_now(worker, kind, path):
    outcome = worker.run(kind, path.read_bytes())
    assert not outcome.is_finding, outcome.detail


PROGRAMS = {
    "memory": "x = b'a' * (300 * 2**20)",
    "raw": "raise ValueError('of another module')",
    "wrong": "raise targets.WrongAnswerError",
    "crash": "import os; os.abort()",
    "hang": "while True: pass",
}


def test_the_worker_finds_what_it_looks_for(monkeypatch, tmp_path):
    lines = ["import tests.hostile.targets as targets"]
    for what, program in PROGRAMS.items():
        lines += [
            f"def run(path):\n    {program}",
            f"targets.TARGETS[{what!r}] = run, (ValueError,)",
        ]
    (tmp_path / "sitecustomize.py").write_text("\n".join(lines))
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:.")
    own = Worker()
    try:
        for what in PROGRAMS:
            if what == "hang":
                monkeypatch.setattr("tests.hostile.worker.SECONDS", 1)
            assert own.run(what, b"").what == what
    finally:
        own.close()
