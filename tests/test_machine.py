"""What a record says of the code it was made by."""

import subprocess

import pytest

from benchmarks import machine


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A repository with one commit, in which the module believes to lie."""
    for name in ("benchmarks/machine.py", "experiments/results/mnist/c20.json", "docs/results.md"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("as committed\n")
    git = ["git", "-c", "user.name=x", "-c", "user.email=x@example.org"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "all"]):
        subprocess.run([*git, *words], cwd=tmp_path, check=True)
    monkeypatch.setattr(machine, "__file__", str(tmp_path / "benchmarks" / "machine.py"))
    return tmp_path


def test_code_that_was_changed_is_marked_and_records_are_not(repository):
    plain = machine.provenance()["commit"]
    assert plain.isalnum()
    (repository / "experiments" / "results" / "mnist" / "c20.json").unlink()
    (repository / "docs" / "results.md").write_text("anew\n")
    assert machine.provenance()["commit"] == plain
    (repository / "benchmarks" / "machine.py").write_text("changed\n")
    assert machine.provenance()["commit"] == f"{plain}+"
