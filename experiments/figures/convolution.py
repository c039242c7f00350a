"""Figure 1: a convolution of size 5 on a small graph, after walks of one and of two steps."""

import networkx as nx
import numpy as np
import scipy.sparse as sp
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.figures.style import DEEP, FAINT, INK, QUIET, bare, panels
from walkconv import graph_from_edges, select_neighbors

N_NEIGHBORS = 5
SHADES = [DEEP(share) for share in (0.88, 0.7, 0.55, 0.42, 0.3)]
"""Of the ranks, nearest first."""


def small_graph(seed: int = 3) -> tuple[sp.csr_array, np.ndarray]:
    """Return a graph of 24 places in the plane, near ones strongly joined, and the places (24, 2).

    Two places are joined where no third is nearer to both.
    """
    rng = np.random.default_rng(seed)
    places = np.stack(np.divmod(np.arange(24), 4), axis=1) + rng.uniform(-0.33, 0.33, (24, 2))
    gap = np.linalg.norm(places[:, None] - places, axis=2)
    nearest_third = np.maximum(gap[:, None], gap[None]).min(
        axis=2, initial=np.inf, where=_third(24)
    )
    pairs = np.argwhere(np.triu(gap <= nearest_third, k=1)).T
    return graph_from_edges(pairs, np.exp(-(gap[*pairs] ** 2)), n_nodes=24), places


def _third(n_nodes: int) -> np.ndarray:
    """Tell of nodes (a, b, c) whether c is neither a nor b."""
    other = ~np.eye(n_nodes, dtype=bool)
    return other[:, None] & other[None]


def draw() -> Figure:
    """Return the figure: a node with four neighbours, and one that has to go further."""
    graph, places = small_graph()
    figure, axes = panels(1, 3, (11, 3.6), widths=(1, 1, 0.5))
    _draw_neighbors(axes[0, 0], graph, places, _central(graph, places, 4), n_steps=1)
    axes[0, 0].set_title("one step")
    _draw_neighbors(axes[0, 1], graph, places, _central(graph, places, 2), n_steps=2)
    axes[0, 1].set_title("two steps")
    _draw_filter(axes[0, 2])
    return figure


def _central(graph: sp.csr_array, places: np.ndarray, degree: int) -> int:
    """Return the node of a degree that is nearest to the centre."""
    candidates = np.flatnonzero(np.diff(graph.indptr) == degree)
    away = np.linalg.norm(places[candidates] - places.mean(axis=0), axis=1)
    return int(candidates[away.argmin()])


def _draw_neighbors(
    axes: Axes, graph: sp.csr_array, places: np.ndarray, node: int, *, n_steps: int
) -> None:
    ranked = select_neighbors(graph, n_neighbors=N_NEIGHBORS, n_steps=n_steps).index[node]
    network = nx.from_scipy_sparse_array(graph)
    for a, b in network.edges:
        axes.plot(*places[[a, b]].T, color=FAINT, linewidth=1.6, zorder=1)
    for neighbor in ranked:
        path = nx.shortest_path(network, node, neighbor)
        axes.plot(*places[path].T, color=QUIET, linewidth=2.2, zorder=2, solid_joinstyle="round")
    axes.scatter(*places.T, s=130, color="white", edgecolors=QUIET, linewidths=1.1, zorder=3)
    for rank, neighbor in enumerate(ranked, start=1):
        is_far = nx.shortest_path_length(network, node, neighbor) > 1
        axes.scatter(*places[neighbor], s=430, color="white", linewidths=0, zorder=4)
        axes.scatter(
            *places[neighbor],
            s=380,
            color=SHADES[rank - 1],
            edgecolors=INK if is_far else "none",
            linestyle="--",
            linewidths=1.3,
            zorder=5,
        )
        _write_rank(axes, *places[neighbor], rank=rank)
    axes.set_aspect("equal", anchor="N")  # so that all titles stand at one height
    axes.margins(0.07)
    bare(axes)


def _draw_filter(axes: Axes) -> None:
    """Draw what the ranks mean: one weight each, the same at every node."""
    for rank, shade in enumerate(SHADES, start=1):
        axes.scatter(0, -rank, s=380, color=shade, linewidths=0)
        _write_rank(axes, 0, -rank, rank)
        axes.text(0.42, -rank, f"$\\times\\; w_{rank}$", va="center_baseline", fontsize=13)
    axes.scatter(0, -6.1, s=300, color="white", edgecolors=INK, linestyle="--", linewidths=1.3)
    axes.text(0.42, -6.1, "two steps away", va="center_baseline")
    axes.set_title("one filter for all nodes")
    axes.set(xlim=(-0.4, 2.2), ylim=(-6.7, -0.4))
    bare(axes)


def _write_rank(axes: Axes, x: float, y: float, rank: int) -> None:
    color = "white" if rank < 4 else INK
    text = axes.text(x, y, str(rank), color=color, weight="bold", zorder=6)
    text.set(ha="center", va="center_baseline")
