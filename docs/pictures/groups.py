"""Draw the groups that pooling makes of MNIST's pixels, whose places it never saw."""

from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib import pyplot as plt

import walkconv as wc

INK = "#22313f"
SIDE = 28
COLORS = np.array(
    [
        mpl.colors.to_rgb(c)
        for c in ("#d1495b", "#edae49", "#00798c", "#66a182", "#8d96a3", "#5f4b8b")
    ]
)


def colored(groups: np.ndarray) -> np.ndarray:
    """Return a picture (28, 28, 3) in which touching groups differ; -1 stays white."""
    image = np.ones((SIDE, SIDE, 3))
    table = groups.reshape(SIDE, SIDE)
    touching: dict[int, set[int]] = {group: set() for group in np.unique(groups[groups >= 0])}
    for a, b in ((table[:-1], table[1:]), (table[:, :-1], table[:, 1:])):
        for one, other in zip(a.ravel(), b.ravel(), strict=True):
            if one >= 0 and other >= 0 and one != other:
                touching[one].add(other)
                touching[other].add(one)
    chosen: dict[int, int] = {}
    for group in touching:
        taken = {chosen.get(other) for other in touching[group]}
        free = [c for c in range(len(COLORS)) if c not in taken]
        chosen[group] = free[group % len(free)] if free else group % len(COLORS)
        image[table == group] = COLORS[chosen[group]]
    return image


def main() -> None:
    mpl.rcParams.update(
        {"font.size": 10.5, "svg.hashsalt": "walkconv", "savefig.facecolor": "white"}
    )
    X = wc.datasets.load_mnist().X_train.reshape(-1, SIDE * SIDE)
    pixels = np.flatnonzero(np.ptp(X, axis=0) > 0)
    graph = wc.correlation_graph(X[:, pixels])
    figure, axes = plt.subplots(1, 3, figsize=(12.6, 4.6), layout="constrained")
    grid = wc.coarsen(wc.grid_graph((SIDE, SIDE)))
    axes[0].imshow(colored(grid.groups))
    axes[0].set_title("P4 on the grid: the 2 x 2 blocks", color=INK)
    first = wc.coarsen(graph)
    groups = np.full(SIDE * SIDE, -1)
    groups[pixels] = first.groups
    axes[1].imshow(colored(groups))
    axes[1].set_title(
        f"P4 without the grid: {len(pixels)} pixels, {first.n_groups} groups", color=INK
    )
    second = wc.coarsen(first.graph)
    groups[pixels] = second.groups[first.groups]
    axes[2].imshow(colored(groups))
    axes[2].set_title(f"P4 again: {second.n_groups} groups", color=INK)
    for panel in axes:
        panel.set(xticks=[], yticks=[])
    figure.savefig(Path(__file__).with_suffix(".svg"), metadata={"Date": None})


if __name__ == "__main__":
    main()
