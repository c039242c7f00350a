import doctest
import importlib
import inspect
import re
import tomllib
from pathlib import Path

import pytest

import walkconv
from walkconv.training import loop

ROOT = Path(__file__).parents[1]
SECTIONS = re.split(r"^## ", (ROOT / "docs" / "reference.md").read_text(), flags=re.MULTILINE)[1:]
REFERENCE = {
    section.splitlines()[0]: re.findall(r"^\| `(\w+)` \| \S", section, flags=re.MULTILINE)
    for section in SECTIONS
}


def is_error(thing):
    return inspect.isclass(thing) and issubclass(thing, Exception)


def test_every_public_name_loads_and_is_documented_with_an_example_but_for_errors():
    assert walkconv.__all__
    for name in walkconv.__all__:
        thing = getattr(walkconv, name)
        documentation = inspect.getdoc(thing) or ""
        assert documentation.splitlines()[0].endswith("."), name
        assert is_error(thing) or ">>>" in documentation, name


@pytest.mark.parametrize("room", REFERENCE)
def test_every_function_and_class_of_the_reference_has_an_example_that_runs(room):
    # What the examples print is compared by --doctest-modules.
    for name in REFERENCE[room]:
        thing = getattr(importlib.import_module(room), name)
        if inspect.ismodule(thing) or is_error(thing) or not callable(thing):
            continue
        examples = doctest.DocTestParser().get_examples(inspect.getdoc(thing) or "")
        assert [each for each in examples if doctest.SKIP not in each.options], name


def test_what_load_raises_and_fit_warns_of_can_be_caught_by_public_names(tmp_path):
    (tmp_path / "model.safetensors").write_text("no model")
    with pytest.raises(walkconv.ModelFileError, match=r"model\.safetensors"):
        walkconv.load(tmp_path / "model.safetensors")
    assert walkconv.InterruptedFitWarning is loop.InterruptedFitWarning


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="graph_cnn"):
        _ = walkconv.graph_cnn


def test_the_version_is_that_of_the_project():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert walkconv.__version__ == project["version"]


@pytest.mark.parametrize("room", REFERENCE)
def test_the_reference_lists_each_public_name_of_a_room_once(room):
    assert sorted(REFERENCE[room]) == sorted(importlib.import_module(room).__all__)


def test_every_public_room_is_in_the_reference():
    public = [getattr(walkconv, name) for name in walkconv.__all__]
    rooms = {thing.__name__ for thing in public if inspect.ismodule(thing)}
    assert rooms
    assert rooms | {"walkconv"} <= set(REFERENCE)
