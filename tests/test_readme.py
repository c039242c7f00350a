"""What the README says is executed."""

import re
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
PROGRAMS = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)

HIDE = """
from importlib.machinery import PathFinder

find = PathFinder.find_spec
PathFinder.find_spec = lambda name, *where: None if name in {names!r} else find(name, *where)
"""


def needs(requirement):
    """Return the requirements of the distribution that a requirement names."""
    try:
        lines = metadata.requires(requirement.name) or []
    except metadata.PackageNotFoundError:  # for another system
        return []
    extras = requirement.extras or {""}
    found = [Requirement(line) for line in lines]
    return [
        need
        for need in found
        if need.marker is None or any(need.marker.evaluate({"extra": extra}) for extra in extras)
    ]


def installed_with(lines):
    """Return the names of all distributions that pip installs for these requirements."""
    found, waiting = set(), [Requirement(line) for line in lines]
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        if name not in found:
            found.add(name)
            waiting += needs(requirement)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("program", PROGRAMS)
def test_programs_run(program, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(program, "README.md", "exec"), {"__name__": "readme"})


@pytest.mark.slow
def test_the_first_program_runs_with_the_declared_dependencies_alone(tmp_path):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    declared = installed_with(project["dependencies"]) | {"walkconv"}
    undeclared = {
        module
        for module, names in metadata.packages_distributions().items()
        if declared.isdisjoint(canonicalize_name(name) for name in names)
    }
    run = subprocess.run(
        [sys.executable, "-c", HIDE.format(names=undeclared) + PROGRAMS[0]],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr


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
    page = (ROOT / "docs" / "results.md").read_text()
    assert set(scores) <= set(re.findall(r"(\d+\.\d+) ± ", page))


def test_deviations_are_those_of_the_results_page():
    scores = re.findall(r"\d\.\d+ ± \d\.\d+", README)
    assert scores
    page = (ROOT / "docs" / "results.md").read_text()
    assert set(scores) <= set(re.findall(r"\d\.\d+ ± \d\.\d+", page))


def test_pictures_exist():
    pictures = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", README)
    assert pictures
    for picture in pictures:
        assert (ROOT / picture).is_file(), picture
