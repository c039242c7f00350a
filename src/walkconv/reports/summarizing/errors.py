"""The rows that the model predicts worst, and samples that are graphs."""

from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse as sp

from walkconv._checks import is_missing
from walkconv._samples import GraphSample
from walkconv.reports.summarizing.graph_places import MOST_NODES, place_nodes
from walkconv.reports.summarizing.model import FittedModel
from walkconv.reports.summarizing.plain import plain_label, plain_number, plain_numbers
from walkconv.reports.summarizing.rows import TestRows
from walkconv.tables.cells import text_of

MOST_ERRORS = 8
MOST_GRAPHS = 12
MOST_REASONS = 6
MOST_LETTERS = 40
"""Letters of a cell of text that are shown."""

Explain = Callable[[Any], Any]
"""From samples to a table of attributions, one row for each and one column for each column."""


def worst_classes(
    model: FittedModel, rows: TestRows, probability: np.ndarray, classes: np.ndarray
) -> list[dict[str, Any]]:
    """Return the wrong rows whose true class was given the smallest probability."""
    given = probability[np.arange(len(rows)), rows.y]
    predicted = probability.argmax(axis=1)
    order = np.argsort(given, kind="stable")
    wrong = order[predicted[order] != rows.y[order]][:MOST_ERRORS]
    return [
        {
            "row": int(row),
            "actual": plain_label(classes[rows.y[row]]),
            "predicted": plain_label(classes[predicted[row]]),
            "probability": plain_number(probability[row, predicted[row]]),
            "probability_of_actual": plain_number(given[row], 3),
        }
        for row in wrong
    ]


def worst_values(rows: TestRows, predicted: np.ndarray) -> list[dict[str, Any]]:
    """Return the rows with the largest errors; of several outputs the mean squared error counts."""
    y, found = (np.asarray(a, dtype=float).reshape(len(rows), -1) for a in (rows.y, predicted))
    error = np.sqrt(((found - y) ** 2).mean(axis=1))
    worst = np.argsort(-error, kind="stable")[:MOST_ERRORS]
    is_single = y.shape[1] == 1
    return [
        {
            "row": int(row),
            "actual": plain_number(y[row, 0], 5) if is_single else None,
            "predicted": plain_number(found[row, 0], 5) if is_single else None,
            "error": plain_number(found[row, 0] - y[row, 0] if is_single else error[row]),
        }
        for row in worst
    ]


def add_reasons(
    errors: list[dict[str, Any]], model: FittedModel, rows: TestRows, explain: Explain
) -> None:
    """Add to each error the columns that moved its prediction most."""
    numbers = np.array([error["row"] for error in errors])
    assert rows.table is not None  # the caller has looked
    samples = rows.take(numbers, model)
    table = explain(samples)
    names, shares = [str(name) for name in table.columns], table.to_numpy()
    values = _values_of(samples, names)
    for error, share, value in zip(errors, shares, values, strict=True):
        first = np.argsort(-np.abs(share), kind="stable")[:MOST_REASONS]
        error["reasons"] = [
            {
                "name": names[each],
                "share": plain_number(share[each], 3),
                "value": value[each],
            }
            for each in first
            if share[each] != 0
        ]


def _values_of(samples: Any, names: list[str]) -> list[list[float | str | None]]:
    """Return the value of each column in each row: a number, text, or None for several channels."""
    if hasattr(samples, "columns"):
        order = list(samples.columns)
        if all(isinstance(name, str) for name in order):
            order = names  # the columns of a frame may come in any order
        cells = [list(samples[name]) for name in order]
        return [[_value(cell) for cell in row] for row in zip(*cells, strict=True)]
    if samples.ndim == 3:
        return [[None] * len(names) for _ in samples]
    return [[plain_number(cell) for cell in row] for row in samples]


def _value(cell: Any) -> float | str | None:
    """Return a cell of a table as a number or as text, None if it is missing."""
    if is_missing(cell):
        return None
    is_number = isinstance(cell, Real) and not isinstance(cell, bool)
    return plain_number(cell) if is_number else text_of(cell)[:MOST_LETTERS]


def summarize_graph(graph: GraphSample) -> dict[str, Any] | None:
    """Return a graph as places, edges and node types, None if it is too large to draw."""
    if graph.n_nodes > MOST_NODES:
        return None
    edges = graph.graph.tocoo()
    ones = sp.csr_array((np.ones(edges.nnz), (edges.row, edges.col)), shape=graph.graph.shape)
    places = place_nodes(sp.csr_array(ones.maximum(ones.T)))
    both = sp.triu(ones.maximum(ones.T), k=1).tocoo()
    return {
        "x": [plain_number(value) for value in places[:, 0]],
        "y": [plain_number(value) for value in places[:, 1]],
        "edges": np.column_stack([both.row, both.col]).tolist(),
        "tags": None if graph.tags is None else graph.tags.tolist(),
    }


def summarize_gallery(
    rows: TestRows, errors: list[dict[str, Any]], texts: list[str], explain: Explain | None
) -> list[dict[str, Any]]:
    """Return graphs to draw: the worst first, then others, each with its text."""
    assert rows.graphs is not None  # the caller has looked
    worst = [error["row"] for error in errors]
    others = [row for row in range(len(rows)) if row not in set(worst)]
    gallery = []
    for row in [*worst, *others]:
        drawn = summarize_graph(rows.graphs[row])
        if drawn is not None:
            is_error = row in set(worst)
            gallery.append({"row": row, "text": texts[row], "is_error": is_error, **drawn})
        if len(gallery) == MOST_GRAPHS:
            break
    if explain is not None and gallery:
        table = explain([rows.graphs[graph["row"]] for graph in gallery])
        of_sample, shares = table["sample"].to_numpy(), table["attribution"].to_numpy()
        for number, graph in enumerate(gallery):
            graph["shares"] = plain_numbers(shares[of_sample == number], 3)
    return gallery
