"""Draw the picture of the README: correlated columns, their neighbourhoods, one filter for all."""

from pathlib import Path

import matplotlib as mpl
import networkx as nx
import numpy as np
from matplotlib import pyplot as plt

import walkconv as wc

INK, PALE, FIRST, SECOND = "#22313f", "#c9d1d9", "#d1495b", "#00798c"
N_NEIGHBORS = 5


def related_columns(n_columns: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return a table (n_samples, n_columns) and the hidden places (n_columns, 2) behind it."""
    rng = np.random.default_rng(seed)
    side = int(np.sqrt(n_columns))
    places = np.stack(np.divmod(np.arange(side * side), side), axis=1) + rng.uniform(
        -0.28, 0.28, size=(side * side, 2)
    )
    gaps = np.linalg.norm(places[:, None] - places[None], axis=2)
    return rng.multivariate_normal(np.zeros(side * side), np.exp(-(gaps**2) / 2), size=2000), places


def draw_correlation(axes: plt.Axes, graph: np.ndarray) -> None:
    axes.imshow(graph, cmap="RdBu_r", vmin=-1, vmax=1)
    axes.set_title("columns that go together ...", color=INK)
    axes.set_xlabel("correlation of 25 columns, in no order", color=INK)
    axes.set(xticks=[], yticks=[])


def draw_walk(axes: plt.Axes, strong: nx.Graph, places: np.ndarray, index: np.ndarray) -> None:
    axes.set_title("... become a graph; a walk ranks neighbours ...", color=INK)
    nx.draw_networkx_edges(strong, places, ax=axes, edge_color=PALE, width=1.4)
    nx.draw_networkx_nodes(
        strong, places, ax=axes, node_color="white", edgecolors=PALE, node_size=210
    )
    for node, color in ((6, FIRST), (18, SECOND)):
        ranked = index[node]
        for rank, neighbor in enumerate(ranked, start=1):
            shade = 1 - 0.15 * (rank - 1)
            axes.scatter(*places[neighbor], s=300, color=color, alpha=shade, zorder=3, linewidths=0)
            axes.text(
                *places[neighbor],
                rank,
                ha="center",
                va="center",
                zorder=4,
                color="white",
                weight="bold",
            )
    axes.set_xlabel("numbers: order by expected visits", color=INK)
    axes.axis("equal")
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.set(xticks=[], yticks=[])
    axes.tick_params(left=False, bottom=False, labelleft=False, labelbottom=False)


def draw_filter(axes: plt.Axes) -> None:
    ranks = np.arange(1, N_NEIGHBORS + 1)
    weights = np.array([1.0, 0.62, -0.35, 0.28, -0.5])
    axes.bar(ranks, weights, color=INK, width=0.62)
    axes.axhline(0, color=INK, linewidth=0.8)
    axes.set_title("... and weights are shared by rank", color=INK)
    axes.tick_params(bottom=False)
    axes.set_xticks(ranks, [f"$w_{r}$" for r in ranks])
    axes.set_xlabel("the same filter at every node: red, blue and all others", color=INK)
    axes.set_yticks([])
    axes.set_ylim(-0.8, 1.25)
    for side in ("top", "right", "left", "bottom"):
        axes.spines[side].set_visible(False)


def main() -> None:
    mpl.rcParams.update(
        {"font.size": 10.5, "svg.hashsalt": "walkconv", "savefig.facecolor": "white"}
    )
    X, places = related_columns(25, seed=4)
    order = np.random.default_rng(0).permutation(25)
    graph = wc.correlation_graph(X)
    neighbors = wc.select_neighbors(graph, n_neighbors=N_NEIGHBORS)
    strong = nx.from_numpy_array(np.where(graph.toarray() > 0.45, 1.0, 0.0))
    strong.remove_edges_from(nx.selfloop_edges(strong))
    figure, axes = plt.subplots(1, 3, figsize=(12.6, 3.9), layout="constrained")
    draw_correlation(axes[0], graph.toarray()[np.ix_(order, order)])
    draw_walk(axes[1], strong, places[:, ::-1], neighbors.index)
    draw_filter(axes[2])
    figure.savefig(Path(__file__).with_suffix(".svg"), metadata={"Date": None})


if __name__ == "__main__":
    main()
