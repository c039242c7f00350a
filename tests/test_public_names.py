import inspect
import tomllib
from pathlib import Path

import pytest

import walkconv
from walkconv.models import members


def is_error(thing):
    return inspect.isclass(thing) and issubclass(thing, Exception)


def test_every_public_name_loads_and_is_documented_with_an_example_but_for_errors():
    assert walkconv.__all__
    for name in walkconv.__all__:
        thing = getattr(walkconv, name)
        documentation = inspect.getdoc(thing) or ""
        assert documentation.splitlines()[0].endswith("."), name
        assert is_error(thing) or ">>>" in documentation, name


def test_what_load_raises_and_fit_warns_of_can_be_caught_by_public_names(tmp_path):
    (tmp_path / "model.safetensors").write_text("no model")
    with pytest.raises(walkconv.ModelFileError, match=r"model\.safetensors"):
        walkconv.load(tmp_path / "model.safetensors")
    assert walkconv.InterruptedFitWarning is members.InterruptedFitWarning


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="graph_cnn"):
        _ = walkconv.graph_cnn


def test_the_version_is_that_of_the_project():
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    assert walkconv.__version__ == project["version"]
