"""Is there a plane at all? What a layout says about the graph, in three numbers."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from walkconv._adapters import as_graph
from walkconv._checks import as_array, describe
from walkconv.layouts.edges import TIE, similarity, strongest_weights
from walkconv.layouts.layout import Layout
from walkconv.layouts.nearest import nearest_places


@dataclass(frozen=True)
class LayoutQuality:
    """How well a layout shows a graph.

    Attributes
    ----------
    decay : float
        First eigenvalue that has no axis, as a share of the last that has one: near 0 where the
        graph has as many dimensions as the layout, near 1 where it has more or fewer.
    kept : float
        Share of the strongest edges of a node that lead to the nodes nearest to it in the layout,
        as many as touch its cell (8 in the plane), counted from what chance would give: 1 where
        neighbourhoods of the graph are neighbourhoods of the layout, about 0 where they are not.
    filled : float or None
        Share of the slots of an oriented table that hold a neighbour.
    """

    decay: float
    kept: float
    filled: float | None


def layout_quality(graph: Any, layout: Layout, *, index: Any = None) -> LayoutQuality:
    """Say how well a layout shows a graph, and how well it fills the slots of a table.

    Parameters
    ----------
    graph
        The graph that was laid out, in any form `as_graph` takes.
    layout : Layout
        From `layout_graph`.
    index : array of shape (n_nodes, n_neighbors), optional
        Neighbours in order of direction, -1 for none.

    Returns
    -------
    LayoutQuality

    Examples
    --------
    >>> from walkconv import grid_graph, layout_graph, layout_quality
    >>> grid = grid_graph((12, 8))
    >>> quality = layout_quality(grid, layout_graph(grid))
    >>> quality.decay < 0.1, quality.kept
    (True, 1.0)
    """
    if not isinstance(layout, Layout):
        raise TypeError(f"layout must come from layout_graph; got {describe(layout)}.")
    weight = similarity(as_graph(graph, n_nodes=layout.n_nodes))
    kept = _kept_neighborhoods(weight, layout)
    filled = None if index is None else float((as_array(index, "index") >= 0).mean())
    return LayoutQuality(layout.decay, kept, filled)


def _kept_neighborhoods(weight: sp.csr_array, layout: Layout) -> float:
    n_around = min(3**layout.n_dims, layout.n_nodes) - 1
    n_strong = np.minimum(np.diff(weight.indptr), n_around)
    if not n_strong.any():
        return 0.0
    nodes = np.arange(layout.n_nodes)
    least = strongest_weights(weight, n_around)[nodes, n_strong - 1] * (1.0 - TIE)
    source = np.repeat(nodes, np.diff(weight.indptr))
    is_strong = weight.data >= least[source]
    source, target = source[is_strong], weight.indices[is_strong]
    distance, _ = nearest_places(layout.positions, layout.period, n_around + 1)
    farthest = distance[nodes, n_strong] * (1.0 + TIE)
    step = layout.positions[target] - layout.positions[source]
    period = np.where(layout.period > 0, layout.period, np.inf)
    step -= np.where(layout.period > 0, layout.period * np.rint(step / period), 0.0)
    is_near = np.sqrt((step**2).sum(axis=1)) <= farthest[source]
    by_chance = n_strong[source].mean() / max(1, layout.n_nodes - 1)
    return float((is_near.mean() - by_chance) / (1.0 - by_chance)) if by_chance < 1 else 0.0
