"""The door of this room: a graph becomes a layout."""

from dataclasses import replace
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from walkconv._adapters import as_graph
from walkconv._checks import check_integer, check_option
from walkconv.layouts.axes import fixed_axes
from walkconv.layouts.edges import similarity
from walkconv.layouts.isomap import scale_distances
from walkconv.layouts.lattice import evened
from walkconv.layouts.layout import Layout
from walkconv.layouts.ring import unrolled
from walkconv.layouts.routes import Recipe, best_recipe, find_routes

TRIED_EDGES = (2, 4, 5, 6, 8, 12)
GAP = 3.0
"""Between components without a way from one to the other, in steps."""


def layout_graph(
    graph: Any,
    *,
    n_dims: int = 2,
    n_edges: int | Literal["auto"] = "auto",
    n_landmarks: int = 256,
) -> Layout:
    """Give every node a place, from the graph alone.

    Strong edges that both ends count among their strongest make a sparse graph; the likeness of
    the short walks from two nodes is a distance between them; distances along paths become
    places by classical scaling (Isomap). The axes are turned so that steps to nearest nodes point
    along them, for on a grid only then do slots have a direction, and the nodes are moved towards
    a lattice, which undoes what short cuts and holes have bent.

    Parameters
    ----------
    graph
        Similarity (n_nodes, n_nodes) in any form `as_graph` takes. Negative edges are left out,
        and the stronger direction of a directed edge counts.
    n_dims : 1, 2 or 3, default 2
        Axes of the layout. With one, a ring is recognised, and the axis has a period.
    n_edges : int or "auto", default "auto"
        Strongest edges of a node that say who is near; with fewer there are no false short cuts,
        with more no gaps. "auto" takes the most after which the eigenvalues fall off about as
        steeply behind the last axis as they ever do.
    n_landmarks : int, default 256
        Nodes from which distances are measured: more cost more time and memory.

    Returns
    -------
    Layout
        `positions` (n_nodes, n_dims), `eigenvalues`, `n_edges` and `period`. Components without a
        way from one to the other are laid out one by one, beside each other.

    Examples
    --------
    >>> from walkconv import graph_from_edges, layout_graph
    >>> order = [3, 6, 0, 4, 1, 7, 5, 2]  # a path through eight nodes
    >>> path = graph_from_edges([order[:-1], order[1:]])
    >>> places = layout_graph(path, n_dims=1).positions
    >>> places[order].round(1).ravel().tolist()
    [-3.5, -2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 3.5]
    """
    n_dims = check_integer(n_dims, "n_dims", minimum=1, maximum=3)
    n_landmarks = check_integer(n_landmarks, "n_landmarks", minimum=n_dims + 2)
    if isinstance(n_edges, str):
        check_option(n_edges, "n_edges", ["auto"])
        tried = TRIED_EDGES
    else:
        tried = (check_integer(n_edges, "n_edges", minimum=1),)
    weight = similarity(as_graph(graph))
    order, sizes = _by_component(weight)
    grouped = sp.csr_array(weight[order][:, order])
    ends = np.cumsum(sizes)
    largest = sp.csr_array(grouped[: ends[0], : ends[0]])
    recipe = best_recipe(largest, tried, n_dims)
    first = _lay_out(largest, recipe, n_dims, n_landmarks)
    n_larger = max(1, int((sizes > 2).sum()))
    positions = np.zeros((len(order), n_dims))
    positions[order[: ends[0]]] = first.positions
    end = first.positions[:, 0].max()
    for start, stop in pairwise(ends[:n_larger]):
        within = sp.csr_array(grouped[start:stop, start:stop])
        places = _lay_out(within, recipe, n_dims, n_landmarks).positions
        places[:, 0] += end + GAP - places[:, 0].min()
        end = places[:, 0].max()
        positions[order[start:stop]] = places
    # Lone nodes and pairs need no layout: they stand on the first axis, a pair one step apart.
    gaps_before = np.repeat(np.arange(len(sizes) - n_larger), sizes[n_larger:])
    steps = np.arange(len(gaps_before)) + (GAP - 1.0) * gaps_before
    positions[order[ends[n_larger - 1] :], 0] = end + GAP + steps
    return replace(first, positions=positions)


def _by_component(weight: sp.csr_array) -> tuple[np.ndarray, np.ndarray]:
    """Return the nodes (n_nodes,) by component, the largest first, and the components' sizes.

    Equal ones stand in the order of their first nodes.
    """
    _, part = connected_components(weight, directed=False)
    sizes = np.bincount(part)
    by_size = np.argsort(-sizes, kind="stable")
    rank = np.argsort(by_size)
    return np.argsort(rank[part], kind="stable"), sizes[by_size]


def _lay_out(weight: sp.csr_array, recipe: Recipe, n_dims: int, n_landmarks: int) -> Layout:
    """Lay out a connected graph."""
    routes = find_routes(weight, recipe)
    scaling = scale_distances(routes, n_landmarks)
    shares = scaling.eigenvalues / (scaling.spread or 1.0)
    if n_dims == 1:
        ring = unrolled(scaling.positions(2))
        if ring is not None:
            return Layout(ring[0], shares, recipe.n_edges, np.array([ring[1]]))
    places = evened(fixed_axes(scaling.positions(n_dims)), routes)
    return Layout(fixed_axes(places), shares, recipe.n_edges, np.zeros(n_dims))
