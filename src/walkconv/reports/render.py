"""A summary becomes one HTML page that needs no other file and no network."""

import base64
import hashlib
import json
import os
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, TemplateRuntimeError
from markupsafe import Markup

from walkconv._files import whole_file
from walkconv.reports.card import render_card
from walkconv.reports.drawing.charts import (
    Line,
    calibration_chart,
    difference_chart,
    histogram,
    line_chart,
    scatter_chart,
)
from walkconv.reports.drawing.compact_map import draw_compact_map
from walkconv.reports.drawing.filters import draw_filters
from walkconv.reports.drawing.graphs import draw_graph
from walkconv.reports.sentences import tell
from walkconv.reports.wording import aligned, count, number, percent, probability

N_SHADES = 8
CHARTS = (
    "scatter",
    "residuals",
    "calibration",
    "loss",
    "validation",
    "filters",
    "map",
    "differences",
)
INTERVAL = {"contestant", "difference", "low", "high"}
"""Fields of a comparison that can be drawn."""


def render_report(summary: Mapping[str, Any]) -> str:
    """Return the page (HTML) of a summary that ``model.summarize`` returned.

    The summary is all that is needed: a report can be made again from it, also from one that was
    kept as JSON. The names in it are text, whatever they hold: the page runs only its own script.

    Parameters
    ----------
    summary : mapping
        Plain values.

    Returns
    -------
    str

    Examples
    --------
    >>> import json, numpy as np, walkconv
    >>> X = np.random.default_rng(0).normal(size=(60, 6)).cumsum(axis=1)
    >>> model = walkconv.GraphCNNRegressor("C2", max_iter=2, n_members=1).fit(X, X[:, 3])
    >>> summary = json.loads(json.dumps(model.summarize(X, X[:, 3])))
    >>> walkconv.render_report(summary).splitlines()[0]
    '<!doctype html>'
    """
    try:
        return _render(summary)
    except _FAULTS as error:
        raise ValueError(
            "summary must be what summarize of an estimator returned, or the same read from JSON; "
            f"this one differs ({type(error).__name__}: {error}). Summarize the model again."
        ) from error


_FAULTS = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError)
_FAULTS += (TemplateRuntimeError,)
"""What other values than those of `summarize` raise somewhere in the page."""


def _render(summary: Mapping[str, Any]) -> str:
    style, script = _asset("report.css"), _asset("report.js")
    page = _environment().get_template("report.html.jinja")
    return page.render(
        summary=summary,
        title=_title(summary),
        sentences=tell(summary),
        charts=_charts(summary),
        confusion=_shaded(summary),
        gallery=_gallery(summary),
        style=Markup(style),
        script=Markup(script),
        policy=_policy(style, script),
        embedded=_embedded(summary["map"]),
    )


def write_report(summary: Mapping[str, Any], path: str | os.PathLike[str]) -> None:
    """Write the page of a summary to a file, whole or not at all; to a .md file its model card."""
    is_card = Path(path).suffix.lower() == ".md"
    page = render_card(summary) if is_card else render_report(summary)
    with whole_file(path) as part:
        part.write_text(page, encoding="utf-8")


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("walkconv.reports"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"number": number, "percent": percent, "probability": probability}
    environment.globals |= {"count": count, "aligned": aligned}
    return environment


@cache
def _asset(name: str) -> str:
    return files("walkconv.reports").joinpath("templates", name).read_text(encoding="utf-8")


def _policy(style: str, script: str) -> str:
    """Return a policy under which nothing is loaded, and only our own style and script count."""
    hashes = [
        base64.b64encode(hashlib.sha256(t.encode()).digest()).decode() for t in (style, script)
    ]
    return (
        f"default-src 'none'; style-src 'sha256-{hashes[0]}'; script-src 'sha256-{hashes[1]}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _embedded(data: Any) -> Markup:
    """Return JSON that cannot end the element it stands in."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False)
    for mark in "<>&\u2028\u2029":
        text = text.replace(mark, f"\\u{ord(mark):04x}")
    return Markup(text)


def _title(summary: Mapping[str, Any]) -> str:
    model = summary["model"]
    return f"{model['name']} {model['architecture']}".strip()


def _charts(summary: Mapping[str, Any]) -> dict[str, Any]:
    """Return every picture of the page by name, None where there is nothing to show."""
    charts: dict[str, Any] = dict.fromkeys(CHARTS)
    scores, training = summary["scores"], summary["training"]
    if scores is not None and scores["residuals"] is not None:
        residuals = scores["residuals"]
        charts["scatter"] = scatter_chart(
            residuals["actual"],
            residuals["predicted"],
            title="Predicted values over actual values",
            x_label="Actual",
            y_label="Predicted",
        )
        charts["residuals"] = histogram(
            residuals["edges"],
            residuals["counts"],
            title="Histogram of the errors",
            x_label="Predicted minus actual",
            y_label="Rows",
        )
    if scores is not None and scores["calibration"] is not None:
        bins = scores["calibration"]["bins"]
        given, right, n = ([each[key] for each in bins] for key in ("given", "right", "n"))
        charts["calibration"] = calibration_chart(given, right, n, title="Calibration")
    for name, label in (("loss", "Training loss"), ("validation", "Validation score")):
        curves = [member[name] for member in training if any(v is not None for v in member[name])]
        if curves:
            charts[name] = line_chart(
                _curves(curves), title=f"{label} by epoch", x_label="Epoch", y_label=label
            )
    rows = [] if summary["comparison"] is None else summary["comparison"]["rows"]
    if len(rows) > 1 and all(row.keys() >= INTERVAL for row in rows):
        charts["differences"] = difference_chart(rows[1:], title="Differences to the model")
    if summary["filters"] is not None:
        charts["filters"] = draw_filters(summary["filters"])
    if summary["map"] is not None:
        charts["map"] = draw_compact_map(summary["map"])
    return charts


def _curves(curves: list[list[float]]) -> list[Line]:
    """Return the members' curves, faint, with their mean; a single one alone."""
    lines = [Line(range(1, len(curve) + 1), curve, "faint") for curve in curves]
    if len(curves) == 1:
        return [Line(lines[0].x, lines[0].y, "first")]
    shortest = min(map(len, curves))
    mean = [
        sum(values) / len(values) if None not in values else float("nan")
        for values in zip(*(curve[:shortest] for curve in curves), strict=True)
    ]
    return [*lines, Line(range(1, shortest + 1), mean, "first")]


def _shaded(summary: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """Return the rows of the confusion matrix, each cell with a shade for its share of the row."""
    scores = summary["scores"]
    if scores is None or scores["confusion"] is None or scores["confusion"]["counts"] is None:
        return None
    labels, rows = scores["confusion"]["labels"], []
    for number_of, counts in enumerate(scores["confusion"]["counts"]):
        total = sum(counts)
        cells = [
            {
                "n": n,
                # The root makes few mistakes visible beside many right answers.
                "shade": round(N_SHADES * (n / total) ** 0.5) if total else 0,
                "is_right": place == number_of,
            }
            for place, n in enumerate(counts)
        ]
        share = counts[number_of] / total if total else None
        rows.append({"label": labels[number_of], "cells": cells, "share": share})
    return rows


def _gallery(summary: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    if summary["gallery"] is None:
        return None
    tags = sorted({tag for graph in summary["gallery"] for tag in graph["tags"] or []})
    return [
        {
            "row": graph["row"],
            "text": graph["text"],
            "is_error": graph["is_error"],
            "picture": draw_graph(graph, tags),
        }
        for graph in summary["gallery"]
    ]
