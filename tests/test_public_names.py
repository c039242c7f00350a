import inspect
import tomllib
from pathlib import Path

import pytest

import walkconv


def test_every_public_name_loads_and_is_documented_with_an_example():
    assert walkconv.__all__
    for name in walkconv.__all__:
        thing = getattr(walkconv, name)
        documentation = inspect.getdoc(thing) or ""
        assert documentation.splitlines()[0].endswith("."), name
        assert ">>>" in documentation, name


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="graph_cnn"):
        _ = walkconv.graph_cnn


def test_the_version_is_that_of_the_project():
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    assert walkconv.__version__ == project["version"]
