import json

from markdown_it import MarkdownIt

import walkconv as wc

from .test_render import Page


def html(card):
    """Return the card as a viewer of Markdown shows it that lets HTML through."""
    body = card.split("---\n", 2)[2]
    return MarkdownIt("commonmark", {"html": True}).enable("table").render(body)


def test_every_kind_of_model_has_a_card_with_its_scores(case):
    summary = case.model.summarize(case.X, case.y)
    card = wc.render_card(json.loads(json.dumps(summary)))
    assert card.startswith("---\nlibrary_name: walkconv\n")
    page = Page(html(card))
    assert not page.unbalanced
    texts = set(page.texts)
    assert {"How well it predicts", "How to use it", "To be added"} <= texts
    assert {score["name"] for score in summary["scores"]["scores"]} <= texts
    assert summary["digest"] in texts


def test_names_in_a_card_are_text_whatever_they_hold(hostile):
    page = Page(html(wc.render_card(hostile.model.summarize(hostile.X, hostile.y))))
    assert {"script", "img"}.isdisjoint(tag for tag, _ in page.tags)
    names = {" ".join(name.split()) for name in hostile.X.columns}
    (shown,) = [row for row in rows_of(page) if "moves a prediction by, on average" in row]
    assert len(names & set(shown)) == 10


def rows_of(page):
    """Return the texts of each table, without those of the space between cells."""
    tables, current = [], None
    for text in page.texts:
        if text.strip() in {"column", "measure"}:
            current = []
            tables.append(current)
        if current is not None:
            current.append(text)
    return tables


def test_a_model_without_test_rows_says_so(hostile):
    assert "Not measured." in wc.render_card(hostile.model.summarize())


def test_the_verdict_of_a_comparison_is_in_the_card(hostile):
    comparison = {"verdict": "The graph helps.", "rows": []}
    card = wc.render_card(hostile.model.summarize(comparison=comparison))
    assert "## Does the graph help?\n\nThe graph helps." in card


def test_a_report_whose_name_ends_in_md_is_a_card(hostile, tmp_path):
    hostile.model.report(tmp_path / "card.md", hostile.X, hostile.y)
    written = (tmp_path / "card.md").read_text(encoding="utf-8")
    assert written.startswith("---\nlibrary_name: walkconv\n")
    assert "\n# GraphCNNRegressor C4-P4-FC8\n" in written
