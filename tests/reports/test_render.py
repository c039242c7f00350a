import json
import re
from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

import walkconv as wc

VOID = {"meta", "input", "br", "img", "link"}
MOST_BYTES = 5 * 2**20


class Page(HTMLParser):
    """Tags, identifiers, references and texts of a page, and the tags that are not balanced."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.ids, self.targets, self.unbalanced = [], [], [], [], []
        self.texts = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value)
            if name in ("href", "src", "xlink:href", "action", "data", "poster", "srcset"):
                self.targets.append(value)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.unbalanced.append(tag)

    def handle_data(self, data):
        if not self.open or self.open[-1] not in ("script", "style"):
            self.texts.append(data)


def test_the_page_is_sound_for_every_kind_of_sample(case):
    page = Page(wc.render_report(case.model.summarize(case.X, case.y)))
    assert not page.unbalanced
    assert not page.open
    assert len(page.ids) == len(set(page.ids))
    anchors = {target[1:] for target in page.targets if target.startswith("#")}
    assert anchors <= set(page.ids)


def test_the_page_needs_no_other_file(case):
    text = wc.render_report(case.model.summarize(case.X, case.y))
    page = Page(text)
    assert all(target.startswith("#") for target in page.targets)
    without_namespace = text.replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"https?://|@import|url\(", without_namespace)


def test_the_page_can_be_made_from_the_summary_as_json(case):
    summary = case.model.summarize(case.X, case.y)
    assert wc.render_report(json.loads(json.dumps(summary))) == wc.render_report(summary)


def test_hostile_names_stay_text(hostile):
    text = wc.render_report(hostile.model.summarize(hostile.X, hostile.y))
    page = Page(text)
    assert [tag for tag, _ in page.tags].count("script") == 2
    assert "img" not in [tag for tag, _ in page.tags]
    assert hostile.X.columns[2] in page.texts  # the one with missing values
    data = re.search(r'id="map-data">(.*?)</script>', text, flags=re.DOTALL)[1]
    assert json.loads(data)["names"] == hostile.X.columns
    assert not set("<>\u2028") & set(data)


def test_hostile_classes_stay_text():
    X = np.random.default_rng(0).normal(size=(60, 4))
    labels = np.array(["<b>bold</b>", "</table>"])
    y = labels[(X[:, 0] > 0).astype(int)]
    model = wc.GraphCNNClassifier("C2", max_iter=1, random_state=0).fit(X, y)
    page = Page(wc.render_report(model.summarize(X, y)))
    assert not page.unbalanced
    assert {"<b>bold</b>", "</table>"} <= {text.strip() for text in page.texts}


def test_the_script_and_the_style_are_those_that_the_policy_allows(hostile):
    from base64 import b64encode
    from hashlib import sha256

    text = wc.render_report(hostile.model.summarize())
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1].replace("&#39;", "'")
    assert policy.startswith("default-src 'none'")
    for tag in ("style", "script"):
        inside = re.search(rf"<{tag}>(.*?)</{tag}>", text, flags=re.DOTALL)[1]
        digest = b64encode(sha256(inside.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
    assert not re.search(r"<[^>]*\s(style|on\w+)=", text)


def test_twenty_thousand_columns_stay_below_five_megabytes():
    rng = np.random.default_rng(0)
    n = 20_000
    neighbors = wc.Neighbors(
        np.column_stack([np.arange(n), rng.integers(n, size=(n, 49))]),
        rng.random((n, 50)),
        np.ones((n, 50), dtype=np.int8),
        1,
    )
    X = rng.normal(size=(20, 6))
    model = wc.GraphCNNRegressor("C2", max_iter=1, n_members=1).fit(X, X[:, 0])
    model.positions_ = 100 * rng.random((n, 2))
    model.neighbors_ = neighbors
    model.feature_names_in_ = np.array([f"a column with a long name {i:06d}" for i in range(n)])
    model.scaling_ = type(model.scaling_)(rng.normal(size=(n, 1)), rng.random((n, 1)) + 1)
    text = wc.render_report(model.summarize())
    assert 2**20 < len(text.encode()) < MOST_BYTES
    assert text.count("<circle") < 10_000


def test_a_comparison_and_choices_are_shown(hostile):
    comparison = {"verdict": "The graph helps <a lot>.", "rows": [{"model": "twin", "error": 0.5}]}
    summary = hostile.model.summarize(comparison=comparison)
    summary["choices"] = [{"architecture": "C8", "score": 0.25}, {"architecture": "C16"}]
    page = Page(wc.render_report(summary))
    assert "The graph helps <a lot>." in page.texts
    assert {"twin", "0.5", "C16", "0.25"} <= set(page.texts)


def test_what_compare_returns_is_drawn_with_its_intervals(hostile):
    fields = {"contestant": "twin", "error": 12.0, "difference": 2.0, "low": 1.0, "high": 3.0}
    table = pl.DataFrame([fields | {"contestant": "model", "difference": 0.0}, fields])
    plain = {"verdict": "The graph helps.", "rows": table.to_dicts()}
    comparison = SimpleNamespace(to_plain=lambda: plain)
    text = wc.render_report(hostile.model.summarize(comparison=comparison))
    assert "Differences to the model" in text
    assert {"twin", "12"} <= set(Page(text).texts)


def test_a_comparison_of_another_form_is_refused(hostile):
    with pytest.raises(TypeError, match="comparison must be"):
        hostile.model.summarize(comparison=[1, 2])


def test_a_summary_of_another_form_is_refused(hostile):
    summary = hostile.model.summarize()
    for other in (
        None,
        [],
        {},
        dict.fromkeys(summary),
        {**summary, "settings": 3},
        {**summary, "training": [{}]},
        {**summary, "model": {**summary["model"], "graph": {}}},
    ):
        with pytest.raises(ValueError, match=r"summary must be what summarize .*; this one diff"):
            wc.render_report(other)


def test_the_report_is_written_whole_or_not_at_all(hostile, tmp_path, monkeypatch):
    page = tmp_path / "report.html"
    hostile.model.report(page, hostile.X, hostile.y)
    before = page.read_text(encoding="utf-8")
    monkeypatch.setattr("walkconv.reports.render.render_report", lambda _: "x" * 10 + "\ud800")
    with pytest.raises(UnicodeEncodeError):
        hostile.model.report(page)
    assert page.read_text(encoding="utf-8") == before
    assert [each.name for each in tmp_path.iterdir()] == ["report.html"]


def test_a_path_that_cannot_be_written_is_refused_before_any_work(hostile, tmp_path):
    with pytest.raises(FileNotFoundError, match="must be in a folder that exists"):
        hostile.model.report(tmp_path / "no" / "report.html", "not even a table", None)


def test_a_notebook_shows_the_map_of_a_fitted_model_without_a_script(hostile):
    page = hostile.model._repr_mimebundle_()["text/html"]
    names = re.findall(r"<title>([^<]*)</title>", page)
    assert "&lt;img src=x onerror=&#34;document.title=&#39;broken&#39;&#34;&gt;" in names
    assert names.count("plain 7") == 1
    assert "12 columns" in page


def test_a_notebook_does_not_wait_for_the_places_of_many_columns(hostile, monkeypatch):
    monkeypatch.setattr("walkconv.reports.notebook.MOST_PLACED", 11)
    page = hostile.model._repr_html_()
    assert "12 columns" in page
    assert "<title>" not in page


def test_a_notebook_shows_the_settings_alone_before_the_fit():
    model = wc.GraphCNNRegressor("C2")
    assert "<title>" not in model._repr_html_()
    assert "C2" in model._repr_mimebundle_()["text/plain"]
