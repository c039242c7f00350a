"""The test rows of a report."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import scipy.sparse as sp
from sklearn.utils import _safe_indexing

from walkconv._samples import GraphSample
from walkconv.reports.summarizing.model import FittedModel, column_names
from walkconv.reports.summarizing.plain import plain_label, plain_number

MOST_NAMED = 10
"""Columns with missing values that are named."""


@dataclass(frozen=True, eq=False)
class TestRows:
    """Checked test samples and their targets.

    Attributes
    ----------
    X
        The samples as they were given, to predict for.
    table : array of shape (n_rows, n_columns) or (n_rows, n_columns, n_channels), or CSR, or None
        None if samples are graphs.
    graphs : sequence of GraphSample or None
    y : ndarray of shape (n_rows,) or (n_rows, n_outputs)
        The number of each row's class, or the values.
    """

    X: Any
    table: np.ndarray | sp.csr_array | None
    graphs: Sequence[GraphSample] | None
    y: np.ndarray

    def __len__(self) -> int:
        return len(self.y)

    def take(self, rows: np.ndarray, model: FittedModel) -> Any:
        """Return some samples as the model takes them: with the names of the columns."""
        if self.graphs is not None:
            return [self.graphs[row] for row in rows]
        assert self.table is not None  # samples are rows or graphs
        if getattr(model, "table_encoding_", None) is not None:
            return _safe_indexing(self.X, rows)  # a frame, with columns that are no numbers
        values = self.table[rows]
        values = values if isinstance(values, np.ndarray) else values.toarray()
        names = column_names(model)
        return values if names is None or values.ndim == 3 else pl.DataFrame(values, schema=names)


def summarize_rows(model: FittedModel, rows: TestRows) -> dict[str, Any]:
    """Return the numbers of rows, columns and missing values, and what the target is."""
    summary: dict[str, Any] = {"n_rows": len(rows), "missing": None, "graphs": None}
    if rows.graphs is not None:
        nodes = np.array([graph.n_nodes for graph in rows.graphs])
        edges = np.array([graph.graph.nnz / 2 for graph in rows.graphs])
        summary["graphs"] = {
            "nodes": [int(nodes.min()), plain_number(nodes.mean(), 3), int(nodes.max())],
            "edges": plain_number(edges.mean(), 3),
        }
    elif rows.table is not None:
        summary["missing"] = _missing(model, rows.table)
    classes = getattr(model, "classes_", None)
    if classes is not None:
        counts = np.bincount(rows.y, minlength=len(classes))
        summary["classes"] = [
            {"label": plain_label(label), "n": int(n)}
            for label, n in zip(classes, counts, strict=True)
        ]
    else:
        summary["values"] = [plain_number(each(rows.y)) for each in (np.min, np.mean, np.max)]
    return summary


def _missing(model: FittedModel, table: np.ndarray | sp.csr_array) -> dict[str, Any]:
    """Return how many values are missing, and the columns with most of them."""
    if isinstance(table, np.ndarray):
        if table.dtype.kind != "f":
            return {"n": 0, "n_columns": 0, "columns": []}
        axes = (0, 2) if table.ndim == 3 else 0
        n_missing = np.isnan(table).sum(axis=axes)
    else:
        absent = np.isnan(table.data)
        n_missing = np.bincount(table.indices[absent], minlength=table.shape[1])
    most = np.argsort(-n_missing, kind="stable")[:MOST_NAMED]
    names = column_names(model)
    return {
        "n": int(n_missing.sum()),
        "n_columns": int((n_missing > 0).sum()),
        "columns": [
            {"name": str(each) if names is None else names[each], "n": int(n_missing[each])}
            for each in most
            if n_missing[each]
        ],
    }
