"""What a release says in several places is the same everywhere."""

import re
import tomllib
from pathlib import Path

import yaml
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
RECIPE = yaml.safe_load((ROOT / "recipe" / "recipe.yaml").read_text())
CONDA_NAMES = {"lazy-loader": "lazy_loader", "torch": "pytorch"}


def test_the_recipe_the_citation_and_the_changelog_name_the_version():
    assert RECIPE["context"]["version"] == PROJECT["version"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["version"] == PROJECT["version"]
    changelog = (ROOT / "CHANGELOG.md").read_text()
    assert PROJECT["version"] in re.findall(r"^## (\S+)$", changelog, flags=re.MULTILINE)


def test_the_recipe_needs_what_the_project_needs():
    needed = {f"python {PROJECT['requires-python']}"}
    for line in PROJECT["dependencies"]:
        requirement = Requirement(line)
        name = CONDA_NAMES.get(requirement.name, requirement.name)
        needed.add(f"{name} {requirement.specifier}")
    assert set(RECIPE["requirements"]["run"]) == needed


def test_the_recipe_starts_the_same_command():
    (command,) = RECIPE["build"]["python"]["entry_points"]
    name, target = command.split(" = ")
    assert PROJECT["scripts"] == {name: target}
