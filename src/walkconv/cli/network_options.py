"""What `fit` and `compare` say about a network: the choices, and the estimator made from them."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from walkconv import GraphCNNClassifier, GraphCNNRegressor

LEARNED_GRAPHS = ("correlation", "knn", "heat_kernel", "supervised")
"""Graphs that the estimators learn from the rows, by name."""


class TaskChoice(StrEnum):
    """Classes or quantities."""

    auto = "auto"
    classification = "classification"
    regression = "regression"


class OrderChoice(StrEnum):
    """The meaning of the slots of a filter."""

    visits = "visits"
    direction = "direction"
    auto = "auto"


def graph_file(graph: str | None) -> str | None:
    """Return the file that --graph names, None if it names a graph that is learned."""
    if graph is None or graph in LEARNED_GRAPHS:
        return None
    if not Path(graph).is_file():
        names = ", ".join(LEARNED_GRAPHS)
        raise ValueError(f"--graph must be a file or one of {names}; got {graph!r}.")
    return graph


def make_model(task: str, **settings: Any) -> "GraphCNNClassifier | GraphCNNRegressor":
    """Return an estimator; settings that are None keep their defaults."""
    import walkconv

    given = {name: value for name, value in settings.items() if value is not None}
    if task == "classification":
        return walkconv.GraphCNNClassifier(**given)
    return walkconv.GraphCNNRegressor(**given)
