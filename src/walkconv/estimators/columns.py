"""What is learned about the columns before any weight: scaling, graph, levels."""

from dataclasses import replace
from typing import Any

from walkconv._checks import check_integer
from walkconv.estimators.graph_source import Learning, edges_to_keep, find_graph
from walkconv.estimators.inputs import Rows
from walkconv.estimators.orientation import Orientation, orient
from walkconv.estimators.settings import Settings
from walkconv.estimators.teacher import TEACHER, TEACHING
from walkconv.models.architecture import Pooling
from walkconv.models.hierarchy import Level, build_levels
from walkconv.models.scaling import learn_scaling, no_scaling


def learn_columns(model: Any, rows: Rows, settings: Settings, seed: int) -> None:
    """Learn the columns of the training rows for a model.

    The graph and the levels are found where the architecture has C or P layers; `seed` decides
    ties by chance, and the weights of the network that a supervised graph is read from.
    """
    model.scaling_ = learn_scaling(rows.X) if model.standardize else no_scaling(rows.X)
    graph, levels, orientation = None, [], None
    if settings.needs_graph:
        names = getattr(model, "feature_names_in_", None)
        weighted = replace(rows, weight=model._loss_weight(rows))
        teacher = type(model)(
            TEACHER, graph=None, device=model.device, random_state=seed, **TEACHING
        )
        n_neighbors = check_integer(model.n_neighbors, "n_neighbors", minimum=1)
        n_edges = edges_to_keep(
            rows.X.shape[1], n_neighbors, is_ranked_at_once=_is_ranked_at_once(model, settings)
        )
        learning = Learning(weighted, model.scaling_, teacher, n_edges)
        graph = find_graph(model.graph, learning, names)
        orientation = orient(
            graph,
            order=model.order,
            positions=in_column_order(model.positions, names, "positions"),
            n_neighbors=n_neighbors,
            n_steps=model.n_steps,
        )
        levels = build_levels(
            graph,
            settings.layers,
            n_neighbors=n_neighbors,
            n_steps=model.n_steps,
            order=orientation.order,
            positions=orientation.positions,
            period=orientation.period,
            ties=in_column_order(model.ties, names, "ties"),
            random_state=seed,
        )
    keep_columns(model, graph, levels, orientation)


def _is_ranked_at_once(model: Any, settings: Settings) -> bool:
    """Tell whether nothing is used of the graph but whom a column is most correlated with.

    Other learners keep the nearest columns, which need not have the largest weights.
    """
    pools = any(isinstance(layer, Pooling) for layer in settings.layers)
    ties = model.ties if isinstance(model.ties, str) else "position"
    graph = model.graph if isinstance(model.graph, str) else "known"
    used = (graph, model.n_steps, model.order, ties, model.weighting)
    return not pools and used == ("correlation", 1, "visits", "index", "rank")


def in_column_order(values: Any, names: Any, what: str) -> Any:
    """Return a DataFrame whose rows have the names of the columns in the order of the columns."""
    if names is None or not hasattr(values, "loc"):
        return values
    index = values.index
    if not any(isinstance(label, str) for label in index):
        return values
    if len(index) != len(names) or set(index) != set(names):
        raise ValueError(
            f"The rows of {what} must have the names of the columns of X, or be an array in their "
            f"order; got {list(index)[:3]} ... for {list(names)[:3]} ..."
        )
    return values.loc[list(names)]


def keep_columns(
    model: Any, graph: Any, levels: list[Level], orientation: Orientation | None = None
) -> None:
    """Set the fitted attributes of the graph and its levels."""
    model.graph_ = graph
    model.levels_ = levels
    model.neighbors_ = levels[0].neighbors if levels else None
    model.orientation_ = orientation
    model.positions_ = None if orientation is None else orientation.positions
