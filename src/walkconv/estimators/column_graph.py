"""What `graph=` means: a learner by name, a callable, or a known graph."""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from walkconv._adapters import FORMS, as_graph, is_networkx
from walkconv._checks import closest
from walkconv.estimators.samples import Lesson
from walkconv.estimators.scaling import Scaling
from walkconv.graphs import edges_to_keep, heat_kernel_graph, knn_graph
from walkconv.graphs.correlation import correlate_columns

NEAREST = 10
"""Neighbours of a column in the graph that ``graph="knn"`` learns."""


def find_graph(X: Any, names: np.ndarray | None, scaling: Scaling, lesson: Lesson) -> sp.csr_array:
    """Return the graph of the columns: learned from the training rows, or given.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_nodes) or (n_samples, n_nodes, n_channels), or CSR
        The training rows.
    names : ndarray of shape (n_nodes,) of str, or None
    scaling : Scaling
        Of the columns.
    lesson : Lesson
        Its settings say which graph.

    Returns
    -------
    csr_array of shape (n_nodes, n_nodes)
    """
    graph: Any = lesson.settings.graph
    n_nodes = X.shape[1]
    if isinstance(graph, str) and graph in LEARNERS:
        if n_nodes == 1:
            return sp.csr_array(np.eye(1))
        return LEARNERS[graph](X, scaling, lesson, _edges_to_keep(n_nodes, lesson))
    if lesson.settings.graph_source in ("none", "name"):
        learners = ", ".join(repr(name) for name in LEARNERS)
        raise ValueError(
            f"An architecture with C layers needs a graph: {learners}, a callable, or {FORMS}; "
            f"got {graph!r}.{closest(graph, list(LEARNERS))}"
        )
    if lesson.settings.graph_source == "callable":
        graph = _call(lesson.settings.graph, X, scaling, lesson)
    return as_graph(graph, names=_order(graph, names, n_nodes), n_nodes=n_nodes)


def scaled_columns(X: Any, scaling: Scaling) -> np.ndarray:
    """Return the scaled table (n_samples, n_nodes, n_channels), means where values are missing."""
    values = X.toarray() if sp.issparse(X) else X
    return np.nan_to_num(scaling.scale(values.reshape(len(values), *scaling.mean.shape)))


def _correlation(X: Any, scaling: Scaling, lesson: Lesson, n_edges: int | None) -> sp.csr_array:
    # A constant column is harmless here: it is scaled to zero and has no edges.
    return correlate_columns(X if _is_plain(X) else _channels_as_rows(X, scaling), n_edges)[0]


def _knn(X: Any, scaling: Scaling, lesson: Lesson, n_edges: int | None) -> sp.csr_array:
    table = _channels_as_rows(X, scaling)
    return knn_graph(table, n_neighbors=min(NEAREST, table.shape[1] - 1))


def _heat_kernel(X: Any, scaling: Scaling, lesson: Lesson, n_edges: int | None) -> sp.csr_array:
    return heat_kernel_graph(_channels_as_rows(X, scaling), n_edges=n_edges)


def _supervised(X: Any, scaling: Scaling, lesson: Lesson, n_edges: int | None) -> sp.csr_array:
    from walkconv.estimators.supervised import supervised_graph  # it fits an estimator itself

    return supervised_graph(
        X,
        lesson.y,
        task="classification" if lesson.is_classification else "regression",
        n_edges=n_edges,
        sample_weight=lesson.weight,
        device=lesson.settings.device,
        random_state=lesson.seed,
    )


LEARNERS: dict[str, Callable[[Any, Scaling, Lesson, int | None], sp.csr_array]] = {
    "correlation": _correlation,
    "knn": _knn,
    "heat_kernel": _heat_kernel,
    "supervised": _supervised,
}


def _call(graph: Callable[..., Any], X: Any, scaling: Scaling, lesson: Lesson) -> Any:
    """Return the graph from a callable; it gets y and the weights if it has such parameters."""
    scaled = scaled_columns(X, scaling)
    table = scaled[:, :, 0] if scaled.shape[2] == 1 else scaled
    accepted = inspect.signature(graph).parameters.values()
    takes_all = any(each.kind is each.VAR_KEYWORD for each in accepted)
    names = {each.name for each in accepted}
    offered = {"y": lesson.y, "sample_weight": lesson.weight}
    return graph(table, **{k: v for k, v in offered.items() if takes_all or k in names})


def _channels_as_rows(X: Any, scaling: Scaling) -> np.ndarray:
    """Return the scaled table (n_samples * n_channels, n_nodes)."""
    scaled = scaled_columns(X, scaling)
    return scaled.swapaxes(1, 2).reshape(-1, scaled.shape[1])


def _edges_to_keep(n_nodes: int, lesson: Lesson) -> int | None:
    """Return the number of edges of a column to keep, None for all.

    Other learners than the correlation keep the nearest columns, which need not have the largest
    weights, so only there the neighbours can be read off the strongest edges.
    """
    settings = lesson.settings
    ties = settings.ties if isinstance(settings.ties, str) else "position"
    used = (settings.graph, settings.n_steps, settings.order, ties, settings.weighting)
    only_ranks = used == ("correlation", 1, "visits", "index", "rank") and not settings.pools
    return edges_to_keep(n_nodes, settings.n_neighbors, is_ranked_at_once=only_ranks)


def _is_plain(X: Any) -> bool:
    """Tell whether X is a table without channels or missing values."""
    values = X.data if sp.issparse(X) else X
    return X.ndim == 2 and not (values.dtype.kind == "f" and np.isnan(np.sum(values)))


def _order(graph: Any, names: np.ndarray | None, n_nodes: int) -> list | None:
    """Return the order of the nodes by label: the names of the columns, or their numbers."""
    labels = list(graph.nodes if is_networkx(graph) else getattr(graph, "columns", []))
    if sorted(labels, key=str) == sorted(range(n_nodes), key=str):
        return list(range(n_nodes))
    if names is None and is_networkx(graph) and len(labels) == n_nodes:
        raise ValueError(
            "X has no names (strings) to match the nodes of the networkx graph with (first: "
            f"{labels[0]!r}). Give X names, as a DataFrame has them, and the nodes the same, or "
            f"relabel the nodes to 0..{n_nodes - 1}."
        )
    return None if names is None or not labels else list(names)
