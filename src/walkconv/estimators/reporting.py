"""A fitted estimator and test rows become the summary of a report."""

import hashlib
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from sklearn.base import is_classifier

from walkconv._checks import describe
from walkconv.estimators.fitting import read_rows
from walkconv.estimators.graph_samples import GraphSamples
from walkconv.estimators.records import Fitted
from walkconv.estimators.table_samples import TableSamples
from walkconv.reports.summarizing.rows import TestRows
from walkconv.reports.summarizing.summary import summarize

MOST_EXPLAINED = 128
"""Test rows that the importance of the columns is averaged over."""

if TYPE_CHECKING:
    from walkconv.estimators.answers import Answers  # it calls this module


@runtime_checkable
class Describable(Protocol):
    """What `walkconv.compare` returns: this room is below the one that compares."""

    def to_plain(self) -> dict[str, Any]:
        """Return a verdict and rows as plain values."""
        ...


def summarize_model(
    model: "Answers", fitted: Fitted, X: Any, y: Any, comparison: Any, target_checks: Any
) -> dict[str, Any]:
    """Return the summary of a fitted estimator; see `GraphCNN.summarize`."""
    if (X is None) != (y is None):
        missing, given = ("y", "X") if y is None else ("X", "y")
        raise ValueError(
            f"X and y must be given together; got {given} without {missing}. Give both, or neither "
            "for a report without scores."
        )
    rows = None if X is None else _test_rows(model, fitted, X, y, target_checks)
    return summarize(
        model,
        rows,
        importance=None if rows is None else model.importance(X, max_samples=MOST_EXPLAINED),
        explain=model.explain,
        comparison=_as_mapping(comparison),
        digest=file_digest(model),
    )


def file_digest(model: "Answers") -> str | None:
    """Return the SHA-256 of the file that `save` writes, None if the model can't be saved.

    Equal fits write equal files, so the file need not exist yet.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.safetensors")
        try:
            model.save(path)
        except TypeError:  # a class that `load` does not know, or classes that are no text
            return None
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()


def _test_rows(model: "Answers", fitted: Fitted, X: Any, y: Any, checks: Any) -> TestRows:
    """Return the checked test rows; labels that the model does not know are refused."""
    rows = read_rows(X, y, None, fitted.learned.read, **checks)
    fitted.learned.check(rows.samples)
    codes = fitted.target.encode(rows.y)  # also for values: it refuses another number of outputs
    y = codes if is_classifier(model) else rows.y
    samples = rows.samples
    table = samples.X if isinstance(samples, TableSamples) else None
    graphs = samples.graphs if isinstance(samples, GraphSamples) else None
    return TestRows(X, table, graphs, y)


def _as_mapping(comparison: Any) -> Mapping[str, Any] | None:
    """Return a comparison as its verdict and its rows."""
    if comparison is None or isinstance(comparison, Mapping):
        return comparison
    if isinstance(comparison, Describable):
        return comparison.to_plain()
    raise TypeError(
        "comparison must be what walkconv.compare returned, or a dict with a verdict and rows; "
        f"got {describe(comparison)}."
    )
