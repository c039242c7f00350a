"""How the columns of a table are related: what `graph=`, `order=` and the C and P layers mean.

A graph is learned by name, comes from a callable, or is known. Slots are ranks or directions. The
graph, the layout and the neighbours are each found once: candidates of a search that differ in
their network share them.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from walkconv._adapters import FORMS, as_graph, is_networkx
from walkconv._checks import as_real, check_option, check_positions, closest
from walkconv._warnings import warn_user
from walkconv.estimators.samples import Lesson
from walkconv.estimators.settings import Settings
from walkconv.graphs import edges_to_keep, heat_kernel_graph, knn_graph
from walkconv.graphs.correlation import correlate_columns
from walkconv.layouts import Layout, layout_columns, layout_graph
from walkconv.networks.architecture import Pooling
from walkconv.networks.levels import Level, build_levels
from walkconv.tables import TableEncoding
from walkconv.tables.lazy_rows import LazyRows
from walkconv.tables.scaling import Scaling, learn_scaling, no_scaling

NEAREST = 10
"""Neighbours of a column in the graph that ``graph="knn"`` learns."""


@dataclass(frozen=True, eq=False)
class Orientation:
    """What a slot means.

    Attributes
    ----------
    order : "visits" or "direction"
    reason : str
        Why.
    positions : ndarray of shape (n_nodes, n_dims) or None
        Positions of the columns; None in order of visits.
    period : ndarray of shape (n_dims,) or None
        Length of an axis that runs round a ring, 0 for an axis with two ends; None in order of
        visits.
    """

    order: Literal["visits", "direction"]
    reason: str
    positions: np.ndarray | None = None
    period: np.ndarray | None = None

    def to_plain(self) -> dict[str, Any]:
        """Return the order, the reason and the period for a file; level 0 holds the positions."""
        period = [] if self.period is None else self.period.tolist()
        return {"order": self.order, "reason": self.reason, "period": period}

    @classmethod
    def from_plain(cls, plain: Any, positions: np.ndarray | None) -> "Orientation":
        """Return the orientation that `to_plain` wrote, or raise an error if it is not whole."""
        if not isinstance(plain["reason"], str):
            raise TypeError("the reason for the order must be text.")
        if check_option(plain["order"], "order", ["visits", "direction"]) == "visits":
            return cls("visits", plain["reason"])
        if positions is None:
            raise ValueError("an order of direction must come with positions.")
        period = as_real(np.array(plain["period"]), "period").astype(np.float64)
        if period.shape != (positions.shape[1],) or not (period >= 0).all():
            raise ValueError(f"period must have a length for each axis; got {period.tolist()}.")
        return cls("direction", plain["reason"], positions, period)


@dataclass(frozen=True, eq=False)
class Related:
    """How the columns are related, for one network.

    Attributes
    ----------
    graph : csr_array of shape (n_nodes, n_nodes)
    orientation : Orientation
    levels : list of Level
    """

    graph: sp.csr_array
    orientation: Orientation
    levels: list[Level]


@dataclass(eq=False)
class Relations:
    """What is found about the columns of a table, kept for the next network that asks.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_nodes) or (n_samples, n_nodes, n_channels), or CSR
        The rows that graphs and layouts are learned from.
    names : ndarray of shape (n_nodes,) of str, or None
    scaling : Scaling, optional
        Of the columns as they are, if it is known.
    encoding : TableEncoding, optional
        How columns became nodes, if not all hold numbers.
    """

    X: Any
    names: np.ndarray | None
    scaling: Scaling | None = None
    encoding: TableEncoding | None = None
    _graphs: list[tuple[Any, Any, sp.csr_array]] = field(default_factory=list)
    _layouts: list[tuple[sp.csr_array | None, Any, Orientation]] = field(default_factory=list)
    _levels: list[tuple[Any, sp.csr_array, Orientation, list[Level]]] = field(default_factory=list)

    def of(self, lesson: Lesson) -> Related:
        """Return the relations that the settings of a lesson ask for."""
        settings = lesson.settings
        graph = self._graph(lesson)
        orientation = self.orientation(lesson)
        if settings.shift and orientation.order == "visits":
            warn_user(
                f"shift={settings.shift} is not used: order='auto' chose visits because "
                f"{orientation.reason}.",
            )
        slots = (_skeleton(settings), settings.n_neighbors, settings.n_steps)
        for known, of_graph, of_orientation, levels in self._levels:
            if known == slots and of_graph is graph and of_orientation is orientation:
                return Related(graph, orientation, levels)
        levels = build_levels(
            graph,
            settings.layers,
            n_neighbors=settings.n_neighbors,
            n_steps=settings.n_steps,
            order=orientation.order,
            positions=orientation.positions,
            period=orientation.period,
            ties=in_column_order(settings.ties, self.names, "ties"),
            random_state=lesson.seed,
        )
        self._levels.append((slots, graph, orientation, levels))
        return Related(graph, orientation, levels)

    def orientation(self, lesson: Lesson) -> Orientation:
        """Return what slots mean, and the layout if that is a direction."""
        settings = lesson.settings
        # A table with channels, and a graph that the user chose, are laid out from the graph.
        from_table = isinstance(settings.graph, str) and self.X.ndim == 2
        graph = None if from_table else self._graph(lesson)
        asked = (settings.order, settings.n_dims)
        for of_graph, known, orientation in self._layouts:
            # What "auto" decided is also the answer to who asks for just that.
            if of_graph is graph and (known == asked or orientation.order == settings.order):
                return orientation
        orientation = orient(
            self._graph(lesson) if graph is None else graph,
            self._table(lesson) if from_table and settings.order != "visits" else None,
            order=settings.order,
            positions=in_column_order(settings.positions, self.names, "positions"),
            n_dims=settings.n_dims,
        )
        self._layouts.append((graph, asked, orientation))
        return orientation

    def _table(self, lesson: Lesson) -> np.ndarray | sp.csr_array:
        """Return the table to lay out: of one that is not in memory, a part of its rows."""
        return self.X[self.X.sampled(lesson.seed)] if isinstance(self.X, LazyRows) else self.X

    def _graph(self, lesson: Lesson) -> sp.csr_array:
        asked = edges_wanted(self.X.shape[1], lesson)
        for source, n_edges, graph in self._graphs:
            if source is lesson.settings.graph and n_edges == asked:
                return graph
        if self.scaling is None:
            is_scaled = lesson.settings.standardize
            self.scaling = learn_scaling(self.X) if is_scaled else no_scaling(self.X)
        graph = find_graph(self.X, self.names, self.scaling, lesson, self.encoding)
        self._graphs.append((lesson.settings.graph, asked, graph))
        return graph


def in_column_order(values: Any, names: np.ndarray | None, what: str) -> Any:
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


def _skeleton(settings: Settings) -> tuple[Any, ...]:
    """Return what the levels depend on: where convolutions are, and the sizes of the groups."""
    return tuple(layer.sides if isinstance(layer, Pooling) else "C" for layer in settings.nodewise)


def orient(
    graph: sp.csr_array,
    table: np.ndarray | sp.csr_array | None = None,
    *,
    order: str,
    positions: Any,
    n_dims: int | Literal["auto"] = "auto",
) -> Orientation:
    """Decide what slots mean, and lay the columns out if no positions are given.

    Parameters
    ----------
    graph : csr_array of shape (n_nodes, n_nodes)
    table : array of shape (n_samples, n_nodes), optional
        The layout comes from its columns if it is given, else from the graph.
    order : "visits", "direction" or "auto"
        "auto" takes direction if the layout is of a kind other than "none". "direction" warns
        about such a layout.
    positions : array of shape (n_nodes, n_dims) or None
        Known positions.
    n_dims : 1, 2, 3 or "auto", default "auto"
        Axes of the layout.
    """
    if order == "visits":
        return Orientation("visits", "it was asked for")
    if positions is not None:
        given = check_positions(positions, "positions", graph.shape[0])
        none = np.zeros(given.shape[1])
        return Orientation("direction", "positions were given", given, none)
    layout = _layout(graph, table, n_dims)
    if order == "auto" and layout.kind == "none":
        return Orientation("visits", layout.reason)
    if layout.kind == "none":
        warn_user(
            f"order='direction' uses a poor layout: {layout.reason}. order='auto' would take "
            "visits here.",
        )
    return Orientation("direction", layout.reason, layout.positions, layout.period)


def _layout(
    graph: sp.csr_array, table: np.ndarray | sp.csr_array | None, n_dims: int | Literal["auto"]
) -> Layout:
    if table is None:
        return layout_graph(graph, n_dims=n_dims)
    return layout_columns(table, n_dims=n_dims, channels=False)


def find_graph(
    X: Any,
    names: np.ndarray | None,
    scaling: Scaling,
    lesson: Lesson,
    encoding: TableEncoding | None = None,
) -> sp.csr_array:
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
    encoding : TableEncoding, optional
        If nodes come from columns of text, categories or dates. A graph that is given is then one
        of the columns: each node gets the edges of its column, and the nodes of one column are
        joined by edges of the largest weight.

    Returns
    -------
    csr_array of shape (n_nodes, n_nodes)
    """
    graph: Any = lesson.settings.graph
    n_nodes = X.shape[1]
    if isinstance(X, LazyRows):
        refuse_stored(X, lesson.settings)
    if isinstance(graph, str) and graph in LEARNERS:
        if n_nodes == 1:
            return sp.csr_array(np.eye(1))
        return LEARNERS[graph](X, scaling, lesson, edges_wanted(n_nodes, lesson))
    if lesson.settings.graph_source in ("none", "name"):
        learners = ", ".join(repr(name) for name in LEARNERS)
        raise ValueError(
            f"An architecture with C layers needs a graph: {learners}, a callable, or {FORMS}; "
            f"got {graph!r}.{closest(graph, list(LEARNERS))}"
        )
    if lesson.settings.graph_source == "callable":
        graph = _call(lesson.settings.graph, X, scaling, lesson)
    elif encoding is not None and getattr(graph, "shape", None) != (n_nodes, n_nodes):
        n_columns = len(encoding.columns)
        known = None if encoding.names is None else np.array(encoding.names, dtype=object)
        of_columns = as_graph(graph, names=_order(graph, known, n_columns), n_nodes=n_columns)
        return spread_graph(of_columns, encoding.column_of_node)
    return as_graph(graph, names=_order(graph, names, n_nodes), n_nodes=n_nodes)


def refuse_stored(X: LazyRows, settings: Settings) -> None:
    """Refuse a graph that needs the whole table in memory."""
    if settings.graph_source == "given" or (settings.graph == "correlation" and X.ndim == 2):
        return
    shown = settings.graph if isinstance(settings.graph, str) else "a callable"
    raise ValueError(
        "The graph of a table that is not in memory must be given, or 'correlation' of a table "
        f"without channels; got {shown} for a table of shape {X.shape}. Learn the graph on some "
        "rows that fit into memory, and give it."
    )


def spread_graph(graph: sp.csr_array, column: np.ndarray) -> sp.csr_array:
    """Return the graph of nodes that belong to the columns of another graph.

    Parameters
    ----------
    graph : csr_array of shape (n_columns, n_columns)
    column : ndarray of shape (n_nodes,), int64
        The column of each node.

    Examples
    --------
    >>> import numpy as np
    >>> from walkconv import as_graph
    >>> from walkconv.estimators.relations import spread_graph
    >>> line = as_graph(np.array([[0, 3, 0], [3, 0, 2], [0, 2, 0]]))
    >>> spread_graph(line, np.array([0, 1, 1, 2])).toarray()  # column 1 has two nodes
    array([[0., 3., 3., 0.],
           [3., 0., 3., 2.],
           [3., 3., 0., 2.],
           [0., 2., 2., 0.]])
    """
    places = column, np.arange(len(column))
    belongs = sp.csr_array((np.ones(len(column)), places), shape=(graph.shape[0], len(column)))
    largest = np.abs(graph.data).max(initial=0) or 1.0
    siblings = sp.coo_array(belongs.T @ belongs)
    is_other = siblings.row != siblings.col
    ends = siblings.row[is_other], siblings.col[is_other]
    joined = sp.csr_array((np.full(len(ends[0]), largest), ends), shape=siblings.shape)
    spread = sp.csr_array(belongs.T @ graph @ belongs)
    # A self-loop of a column stays one: it does not lead from one of its nodes to another.
    return as_graph(spread - spread.multiply(joined != 0) + joined)


def scaled_columns(X: Any, scaling: Scaling) -> np.ndarray:
    """Return the scaled table (n_samples, n_nodes, n_channels), means where values are missing."""
    values = X.toarray() if sp.issparse(X) else X
    return np.nan_to_num(scaling.scale(values.reshape(len(values), *scaling.mean.shape)))


def _correlation(X: Any, scaling: Scaling, lesson: Lesson, n_edges: int | None) -> sp.csr_array:
    # A constant column is harmless here: it is scaled to zero and has no edges.
    return correlate_columns(X if X.ndim == 2 else _channels_as_rows(X, scaling), n_edges)[0]


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


def edges_wanted(n_nodes: int, lesson: Lesson) -> int | None:
    """Return the number of edges of a column to keep, None for all.

    Other learners than the correlation keep the nearest columns, which need not have the largest
    weights, so only there the neighbours can be read off the strongest edges.
    """
    settings = lesson.settings
    ties = settings.ties if isinstance(settings.ties, str) else "position"
    name = settings.graph if isinstance(settings.graph, str) else None
    used = (name, settings.n_steps, settings.order, ties, settings.weighting)
    only_ranks = used == ("correlation", 1, "visits", "index", "rank") and not settings.pools
    return edges_to_keep(n_nodes, settings.n_neighbors, is_ranked_at_once=only_ranks)


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
