"""What the README says is executed."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
PROGRAMS = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)


@pytest.mark.slow
@pytest.mark.parametrize("program", PROGRAMS)
def test_programs_run(program, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(program, "README.md", "exec"), {"__name__": "readme"})


def test_there_are_programs():
    assert PROGRAMS


def test_commands_exist():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    commands = set(re.findall(r"^make ([a-z-]+)", README, flags=re.MULTILINE))
    assert commands
    assert commands <= targets


def test_scores_are_those_of_the_results_page():
    section = re.search(r"## When does it help\?\n(.*?)\n## ", README, flags=re.DOTALL)
    assert section
    scores = re.findall(r"\d\.\d{2,}", section[1])
    assert scores
    means = re.findall(r"(\d+\.\d+) ± ", (ROOT / "docs" / "results.md").read_text())
    assert set(scores) <= set(means)


def test_pictures_exist():
    pictures = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", README)
    assert pictures
    for picture in pictures:
        assert (ROOT / picture).is_file(), picture
