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
START = PAGES.pop("index.md")
WITH_PROGRAMS = [name for name, programs in PAGES.items() if programs]


def test_there_are_programs():
    assert len(WITH_PROGRAMS) >= 8


def test_the_site_begins_with_the_first_program_of_the_readme():
    readme = (DOCS.parent / "README.md").read_text()  # whose programs run in tests/test_readme.py
    (program,) = START
    first = re.search(r"```python\n(.*?)```", readme, re.DOTALL)
    assert first
    assert first[1] == program


def test_scores_on_the_first_page_are_those_of_the_results_page():
    start = (DOCS / "index.md").read_text().split("## Measured")[1]
    scores = set(re.findall(r"(?<!\d)\d\.\d{2,}", start))
    assert scores
    results = (DOCS / "results.md").read_text()
    assert scores <= set(re.findall(r"\d+\.\d+", results))


@pytest.mark.slow
@pytest.mark.parametrize("name", WITH_PROGRAMS)
def test_the_programs_of_a_page_run_one_after_another(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    scope = {"__name__": "page"}
    for program in PAGES[name]:
        exec(compile(program, name, "exec"), scope)
