"""All that a report shows, as one dict of plain values. A report can be made from it alone."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, cast

import numpy as np
from sklearn.base import is_classifier

from walkconv.reports.summarizing.errors import (
    Explain,
    add_reasons,
    summarize_gallery,
    worst_classes,
    worst_values,
)
from walkconv.reports.summarizing.filters import summarize_filters
from walkconv.reports.summarizing.model import (
    FittedClassifier,
    FittedModel,
    column_names,
    n_columns,
)
from walkconv.reports.summarizing.plain import plain_label, plain_number, plain_numbers
from walkconv.reports.summarizing.rows import TestRows, summarize_rows
from walkconv.reports.summarizing.scores import score_classes, score_values
from walkconv.reports.summarizing.settings import (
    summarize_settings,
    summarize_training,
    summarize_versions,
)
from walkconv.reports.summarizing.structure import summarize_map
from walkconv.reports.wording import number

FORMAT = 1
MOST_IMPORTANT = 20
"""Columns in the list of the most important ones."""


def summarize(
    model: FittedModel,
    rows: TestRows | None = None,
    *,
    importance: Any = None,
    explain: Explain | None = None,
    comparison: Mapping[str, Any] | None = None,
    digest: str | None = None,
) -> dict[str, Any]:
    """Return the summary of a fitted model, and of its predictions for test rows.

    Parameters
    ----------
    model : FittedModel
    rows : TestRows, optional
    importance : table, optional
        With ``column``, ``importance`` and ``spread``, most important first.
    explain : callable, optional
        From samples to a table of attributions: a column for each column, or for graphs a row for
        each node with ``sample`` and ``attribution``.
    comparison : mapping, optional
        With ``verdict``, a sentence, and ``rows``, a list of dicts of plain values.
    digest : str, optional
        Of the model file.
    """
    scores, errors, gallery = None, [], None
    if rows is not None:
        scores, errors, texts = _score(model, rows)
        if rows.graphs is not None:
            gallery = summarize_gallery(rows, errors, texts, explain)
        elif explain is not None and errors and errors[0]["actual"] is not None:
            add_reasons(errors, model, rows, explain)
    ranking = None if importance is None else _ranking(importance)
    return {
        "format": FORMAT,
        "created": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "model": _facts(model),
        "data": None if rows is None else summarize_rows(model, rows),
        "scores": scores,
        "map": summarize_map(model, map_values(model, ranking, scores)),
        "importance": None if ranking is None else ranking[:MOST_IMPORTANT],
        "filters": summarize_filters(model),
        "training": summarize_training(model),
        "errors": errors,
        "gallery": gallery,
        "comparison": None if comparison is None else _plain(comparison),
        "choices": _plain(getattr(model, "choices_", None)),
        "settings": summarize_settings(model),
        "versions": summarize_versions(),
        "digest": digest,
    }


def _facts(model: FittedModel) -> dict[str, Any]:
    neighbors, orientation = model.neighbors_, model.orientation_
    return {
        "name": type(model).__name__,
        "is_classifier": is_classifier(model),
        "architecture": model.architecture_,
        "samples": "table" if model.encoding_ is None else "graphs",
        "graph": _graph_name(model),
        "n_columns": n_columns(model),
        "n_channels": None if model.scaling_ is None else model.scaling_.mean.shape[1],
        "n_outputs": _n_outputs(model),
        "n_parameters": int(model.n_parameters_),
        "n_members": len(model.modules_),
        "n_epochs": int(model.n_iter_),
        "n_neighbors": None if neighbors is None else neighbors.n_neighbors,
        "order": None if orientation is None else orientation.order,
        "reason": None if orientation is None else orientation.reason,
    }


def _graph_name(model: FittedModel) -> str | None:
    if model.graph is None or isinstance(model.graph, str):
        return model.graph
    return "given"


def _n_outputs(model: FittedModel) -> int:
    if is_classifier(model):
        return len(cast(FittedClassifier, model).classes_)
    return len(cast(Any, model).target_scaling_.mean)


def _score(
    model: FittedModel, rows: TestRows
) -> tuple[dict[str, Any], list[dict[str, Any]], list[str]]:
    """Return the scores, the largest errors, and a text about each row."""
    X = rows.X
    if is_classifier(model):
        classifier = cast(FittedClassifier, model)
        probability = classifier.predict_proba(X)
        labels = [plain_label(label) for label in classifier.classes_]
        texts = [
            f"actual {labels[y]}, predicted {labels[best]}"
            for y, best in zip(rows.y, probability.argmax(axis=1), strict=True)
        ]
        scores = score_classes(classifier.classes_, probability, rows.y)
        return scores, worst_classes(model, rows, probability, classifier.classes_), texts
    predicted = model.predict(X)
    texts = [""] * len(rows)
    if predicted.ndim == 1:
        texts = [
            f"actual {number(float(y))}, predicted {number(float(found))}"
            for y, found in zip(rows.y, predicted, strict=True)
        ]
    return score_values(predicted, rows.y), worst_values(rows, predicted), texts


def _ranking(importance: Any) -> list[dict[str, Any]]:
    """Return the rows of the table as plain values."""
    return [
        {
            "column": str(row["column"]),
            "importance": plain_number(row["importance"]),
            "spread": None if row["spread"] is None else plain_number(row["spread"]),
        }
        for row in importance.to_dicts()
    ]


def _columns_of_nodes(model: FittedModel, names: list[str]) -> list[str]:
    """Return the name of the column that each node comes from; `names` are those of the nodes."""
    encoding = getattr(model, "table_encoding_", None)
    if encoding is None:
        return names
    return [encoding.labels[column] for column in encoding.column_of_node]


def map_values(
    model: FittedModel,
    ranking: Sequence[Mapping[str, Any]] | None,
    scores: Mapping[str, Any] | None,
) -> list[dict[str, Any]]:
    """Return what the map can be coloured by, the most telling first."""
    if model.scaling_ is None:
        return []
    n_nodes = len(model.scaling_.mean)
    names = column_names(model) or [str(each) for each in range(n_nodes)]
    values: list[dict[str, Any]] = []
    outputs = None if scores is None else scores["outputs"]
    if outputs is not None and len(outputs["r2"]) == n_nodes:
        values.append(
            {
                "label": "R² of the prediction at the node",
                "caption": "How well the value of each node was predicted: 1 is perfect.",
                "values": [np.nan if value is None else value for value in outputs["r2"]],
            }
        )
    if ranking is not None:
        given = {row["column"]: row["importance"] for row in ranking}
        values.append(
            {
                "label": "Importance",
                "caption": "How far the column moves the predictions on average.",
                "values": [given.get(name) or 0.0 for name in _columns_of_nodes(model, names)],
            }
        )
    if _is_scaled(model):
        values.append(
            {
                "label": "Mean",
                "caption": "The mean of the column over the training rows.",
                "values": model.scaling_.mean.mean(axis=1),
            }
        )
        values.append(
            {
                "label": "Standard deviation",
                "caption": "The standard deviation of the column over the training rows.",
                "values": model.scaling_.deviation.mean(axis=1),
            }
        )
    return values


def _is_scaled(model: FittedModel) -> bool:
    scaling = model.scaling_
    return bool((scaling.mean != 0).any() or (scaling.deviation != 1).any())


def _plain(value: Any) -> Any:
    """Return a value as JSON holds it; what it does not know becomes text."""
    if value is None:
        return None
    return json.loads(json.dumps(value, default=_as_plain))


def _as_plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    return plain_numbers(value) if isinstance(value, np.ndarray) else str(value)
