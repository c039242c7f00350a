"""Is there a plane at all? What a layout says about the graph, in three numbers."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from walkconv._adapters import as_graph
from walkconv._checks import as_array, describe
from walkconv.layouts.edges import mutual_edges, similarity, strongest_weights
from walkconv.layouts.layout import Layout


@dataclass(frozen=True)
class LayoutQuality:
    """How well a layout shows a graph.

    Attributes
    ----------
    decay : float
        First eigenvalue that has no axis, as a share of the last that has one: near 0 where the
        graph has as many dimensions as the layout, near 1 where it has more or fewer.
    kept : float
        Share of the strong edges, those the layout was made from, whose ends lie near each other:
        within a block of sites that holds twice as many nodes as a node has strong edges.
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
    best = strongest_weights(weight, layout.n_edges)
    edges = sp.coo_array(mutual_edges(weight, best, layout.n_edges))
    displacement = layout.positions[edges.col] - layout.positions[edges.row]
    period = np.where(layout.period > 0, layout.period, np.inf)
    displacement -= np.where(layout.period > 0, layout.period * np.rint(displacement / period), 0.0)
    side = np.ceil((2 * layout.n_edges + 1) ** (1 / layout.n_dims) - 1e-9)
    is_near = (np.abs(displacement) <= (side + 1) // 2).all(axis=1)
    kept = float(is_near.mean()) if len(is_near) else 0.0
    filled = None if index is None else float((as_array(index, "index") >= 0).mean())
    return LayoutQuality(layout.decay, kept, filled)
