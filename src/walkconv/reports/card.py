"""A summary becomes a model card: one page of Markdown, to keep beside the model file."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from walkconv.reports.sentences import tell
from walkconv.reports.wording import number, percent

MARKUP = re.compile(r"([\\`*_\[\]<>&|~])")
MOST_COLUMNS = 10
TASKS = {"table": "tabular", "graphs": "graph"}
USE = """```python
import walkconv

model = walkconv.load("model.safetensors")
model.predict({})
```"""
TO_ADD = (
    "What the model is for, and what it must not be used for.",
    "Where the training rows come from, and whom or what they leave out.",
    "Known limits, and who answers questions.",
)


def render_card(summary: Mapping[str, Any]) -> str:
    """Return the model card (Markdown) of a summary that ``model.summarize`` returned.

    It has the facts that the library knows. A last section lists what only a person can add. Names
    of columns and classes are text, whatever they hold.

    Parameters
    ----------
    summary : mapping
        Plain values.

    Returns
    -------
    str

    Examples
    --------
    >>> import numpy as np, walkconv
    >>> X = np.random.default_rng(0).normal(size=(60, 6)).cumsum(axis=1)
    >>> model = walkconv.GraphCNNRegressor("C2", max_iter=2, n_members=1).fit(X[:40], X[:40, 3])
    >>> card = walkconv.render_card(model.summarize(X[40:], X[40:, 3]))
    >>> [line for line in card.splitlines() if line.startswith("#")][:3]
    ['# GraphCNNRegressor C2', '## How well it predicts', '## Most important columns']
    """
    model = summary["model"]
    kind = "classification" if model["is_classifier"] else "regression"
    samples = "X" if model["samples"] == "table" else "graphs"
    sections = {
        "How well it predicts": _scores(summary["scores"]),
        "Does the graph help?": _verdict(summary["comparison"]),
        "Most important columns": _importance(summary["importance"]),
        "How to use it": USE.format(samples),
        "How it was made": _settings(summary),
        "To be added": "\n".join(f"- {line}" for line in TO_ADD),
    }
    head = [
        f"---\nlibrary_name: walkconv\ntags:\n  - {TASKS[model['samples']]}-{kind}\n---",
        f"# {model['name']} {model['architecture']}".rstrip(),
        "\n".join(tell(summary)),
    ]
    body = [f"## {title}\n\n{text}" for title, text in sections.items() if text]
    return "\n\n".join([*head, *body]) + "\n"


def _scores(scores: Mapping[str, Any] | None) -> str:
    if scores is None:
        return "Not measured."
    rows = []
    for score in scores["scores"]:
        shown = percent if score["is_share"] else number
        ends = [] if score["low"] is None else [shown(score["low"]), shown(score["high"])]
        value = number(None) if score["value"] is None else shown(score["value"])
        rows.append((score["name"], value, " to ".join(ends)))
    return _table(("measure", "value", "95 % interval"), rows)


def _verdict(comparison: Mapping[str, Any] | None) -> str:
    return "" if comparison is None else _text(comparison["verdict"])


def _importance(ranking: Sequence[Mapping[str, Any]] | None) -> str:
    if not ranking:
        return ""
    rows = [(_text(row["column"]), number(row["importance"])) for row in ranking[:MOST_COLUMNS]]
    return _table(("column", "moves a prediction by, on average"), rows)


def _settings(summary: Mapping[str, Any]) -> str:
    changed = [each for each in summary["settings"] if not each["is_default"]]
    rows = [(_text(each["name"]), _text(each["value"])) for each in changed]
    rows += [(f"version of {_text(name)}", _text(v)) for name, v in summary["versions"].items()]
    rows.append(("card written", _text(summary["created"])))
    if summary["digest"] is not None:
        rows.append(("SHA-256 of the model file", summary["digest"]))
    return _table(("", ""), rows)


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _text(value: Any) -> str:
    """Return a value on one line, with what Markdown or HTML would read escaped."""
    return MARKUP.sub(r"\\\1", " ".join(str(value).split()))
