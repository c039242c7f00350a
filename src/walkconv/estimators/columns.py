"""What is learned about the columns before any weight: scaling, graph, levels."""

from typing import Any

from walkconv.estimators.graph_source import find_graph
from walkconv.estimators.settings import Settings
from walkconv.models.hierarchy import Level, build_levels
from walkconv.models.scaling import learn_scaling, no_scaling


def learn_columns(model: Any, X: Any, settings: Settings, seed: int) -> None:
    """Learn the columns of X (n_samples, n_nodes[, n_channels]) for a model.

    The graph and the levels are found where the architecture has C or P layers; `seed` decides
    ties by chance.
    """
    model.scaling_ = learn_scaling(X) if model.standardize else no_scaling(X)
    graph, levels = None, []
    if settings.needs_graph:
        names = getattr(model, "feature_names_in_", None)
        graph = find_graph(model.graph, X, model.scaling_, names)
        levels = build_levels(
            graph,
            settings.layers,
            n_neighbors=model.n_neighbors,
            n_steps=model.n_steps,
            ties=model.ties,
            random_state=seed,
        )
    keep_columns(model, graph, levels)


def keep_columns(model: Any, graph: Any, levels: list[Level]) -> None:
    """Set the fitted attributes of the graph and its levels."""
    model.graph_ = graph
    model.levels_ = levels
    model.neighbors_ = levels[0].neighbors if levels else None
