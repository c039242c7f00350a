"""A short run of hostile files; ``make fuzz`` is the long one."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.hostile.bases import BASES
from tests.hostile.campaign import stored_cases
from tests.hostile.mutate import mutate
from tests.hostile.worker import Worker

FEW = 12
"""Cases of each kind; each takes some hundredths of a second."""
CORPUS = stored_cases()


@pytest.fixture(scope="module")
def worker():
    worker = Worker()
    yield worker
    worker.close()


@pytest.fixture(scope="module")
def bases():
    return {kind: make() for kind, make in BASES.items()}


@pytest.mark.parametrize("kind", BASES)
def test_valid_files_are_taken(worker, bases, kind):
    for base in bases[kind]:
        outcome = worker.run(kind, base)
        assert not outcome.is_finding, outcome.detail
    assert "ok" in {worker.run(kind, base).what for base in bases[kind]}


@pytest.mark.parametrize("kind", BASES)
def test_hostile_files_are_refused_or_harmless(worker, bases, kind):
    @settings(max_examples=FEW)
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
        assert [own.run(what, b"").what for what in PROGRAMS] == list(PROGRAMS)
    finally:
        own.close()
