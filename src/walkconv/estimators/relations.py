"""The graph, the layout and the neighbours of the columns of a table, each found once.

Candidates of a search that differ in their network share them.
"""

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from walkconv.estimators.column_graph import Orientation, edges_wanted, find_graph, orient
from walkconv.estimators.lazy_rows import LazyRows
from walkconv.estimators.samples import Lesson
from walkconv.estimators.scaling import Scaling, learn_scaling, no_scaling
from walkconv.estimators.settings import Settings
from walkconv.networks.architecture import Pooling
from walkconv.networks.levels import Level, build_levels
from walkconv.tables import TableEncoding


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
            warnings.warn(
                f"shift={settings.shift} is not used: order='auto' chose visits because "
                f"{orientation.reason}.",
                UserWarning,
                stacklevel=2,
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
        # A table with channels, and a graph that the user chose, are laid out from the graph, and
        # so is a table that is not in memory.
        from_table = isinstance(settings.graph, str) and self.X.ndim == 2
        from_table = from_table and not isinstance(self.X, LazyRows)
        graph = None if from_table else self._graph(lesson)
        asked = (settings.order, settings.n_dims)
        for of_graph, known, orientation in self._layouts:
            # What "auto" decided is also the answer to who asks for just that.
            if of_graph is graph and (known == asked or orientation.order == settings.order):
                return orientation
        orientation = orient(
            self._graph(lesson) if graph is None else graph,
            self.X if from_table else None,
            order=settings.order,
            positions=in_column_order(settings.positions, self.names, "positions"),
            n_dims=settings.n_dims,
        )
        self._layouts.append((graph, asked, orientation))
        return orientation

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
