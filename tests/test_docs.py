"""The programs of the documentation pages run."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
PAGES = {
    str(path.relative_to(DOCS)): re.findall(r"```python\n(.*?)```", path.read_text(), re.DOTALL)
    for path in sorted(DOCS.rglob("*.md"))
    if "_build" not in path.parts and path.name != "results.md"
}
WITH_PROGRAMS = [name for name, programs in PAGES.items() if programs]


def test_there_are_programs():
    assert len(WITH_PROGRAMS) >= 6


@pytest.mark.slow
@pytest.mark.parametrize("name", WITH_PROGRAMS)
def test_the_programs_of_a_page_run_one_after_another(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    scope = {"__name__": "page"}
    for program in PAGES[name]:
        exec(compile(program, name, "exec"), scope)
