"""A graph becomes a layout."""

from itertools import pairwise
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from walkconv._adapters import as_graph
from walkconv._checks import check_integer, check_option
from walkconv.layouts.edges import similarity
from walkconv.layouts.kind import check_dims, fewest_dims, kind_of
from walkconv.layouts.layout import Layout
from walkconv.layouts.search import Candidate, best_candidate, trials

TRIED_EDGES = (2, 4, 5, 6, 8, 12)
GAP = 3.0
"""Between components without a way from one to the other, in steps."""


def layout_graph(
    graph: Any,
    *,
    n_dims: int | Literal["auto"] = 2,
    n_edges: int | Literal["auto"] = "auto",
    n_landmarks: int = 256,
) -> Layout:
    """Give every node a place, from the graph alone.

    Strong edges that both ends count among their strongest make a sparse graph. The likeness of
    short walks from two nodes is a distance between them. Distances along paths become positions
    by classical scaling (Isomap) and by least stress. The axes are turned so that steps to
    nearest nodes point along them, and the nodes move towards a lattice. Several numbers of edges
    are tried, and the layout whose nearest nodes are related most often is kept.

    Parameters
    ----------
    graph
        Similarity (n_nodes, n_nodes) in any form `as_graph` takes. Negative edges are left out,
        and the stronger direction of a directed edge counts.
    n_dims : 1, 2, 3 or "auto", default 2
        Axes of the layout. With one, a ring is recognised, and the axis has a period. "auto" takes
        the fewest that are adequate for the largest component, or a plane if none are.
    n_edges : int or "auto", default "auto"
        Strongest edges of a node that say who is near. With few there are gaps to go round, with
        many short cuts. "auto" tries several.
    n_landmarks : int, default 256
        Nodes from which distances are measured: more cost more time and memory.

    Returns
    -------
    Layout
        Components without a way from one to the other are laid out one by one, beside each other.
        The kind and the stress are those of the largest.

    Examples
    --------
    >>> from walkconv import graph_from_edges, layout_graph
    >>> order = [3, 6, 0, 4, 1, 7, 5, 2]  # a path through eight nodes
    >>> path = graph_from_edges([order[:-1], order[1:]])
    >>> places = layout_graph(path, n_dims=1).positions
    >>> places[order].round(1).ravel().tolist()
    [-3.5, -2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 3.5]
    """
    dims = check_dims(n_dims)
    n_landmarks = check_integer(n_landmarks, "n_landmarks", minimum=max(dims) + 2)
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
    best = fewest_dims([largest], dims=dims, tried=tried, n_landmarks=n_landmarks)
    n_axes = best.positions.shape[1]
    n_larger = max(1, int((sizes > 2).sum()))
    positions = np.zeros((len(order), n_axes))
    positions[order[: ends[0]]] = best.positions
    end = best.positions[:, 0].max()
    for start, stop in pairwise(ends[:n_larger]):
        within = sp.csr_array(grouped[start:stop, start:stop])
        starts = trials([within], tried=tried, n_landmarks=n_landmarks)
        places = best_candidate(starts, n_dims=n_axes, n_landmarks=n_landmarks).positions
        places[:, 0] += end + GAP - places[:, 0].min()
        end = places[:, 0].max()
        positions[order[start:stop]] = places
    # Lone nodes and pairs need no layout: they stand on the first axis, a pair one step apart.
    gaps_before = np.repeat(np.arange(len(sizes) - n_larger), sizes[n_larger:])
    steps = np.arange(len(gaps_before)) + (GAP - 1.0) * gaps_before
    positions[order[ends[n_larger - 1] :], 0] = end + GAP + steps
    nodes = np.arange(len(positions))
    return layout_of(best, positions, nodes, np.zeros_like(nodes))


def layout_of(
    best: Candidate, positions: np.ndarray, node: np.ndarray, channel: np.ndarray
) -> Layout:
    """Return the record of the best candidate, with the positions of all nodes."""
    kind, reason = kind_of(best)
    return Layout(positions, best.period, kind, best.stress, best.kept, reason, node, channel)


def _by_component(weight: sp.csr_array) -> tuple[np.ndarray, np.ndarray]:
    """Return the nodes (n_nodes,) by component, the largest first, and the components' sizes.

    Equal ones stand in the order of their first nodes.
    """
    _, part = connected_components(weight, directed=False)
    sizes = np.bincount(part)
    by_size = np.argsort(-sizes, kind="stable")
    rank = np.argsort(by_size)
    return np.argsort(rank[part], kind="stable"), sizes[by_size]
