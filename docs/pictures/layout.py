"""Draw shuffled pixels, the layout found from their correlations, the true grid, and a filter.

MNIST is read by `load_mnist`: a folder that $WALKCONV_DATA names, the cache, or the network.
"""

from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib import pyplot as plt

import walkconv as wc
from walkconv.datasets import load_mnist

INK = "#22313f"
N_ROWS, DIGIT, SHOWN = 20_000, 5, 4


def aligned(positions: np.ndarray, sites: np.ndarray) -> np.ndarray:
    """Return the layout turned or mirrored to the true picture, for the eye alone."""
    centred = sites - sites.mean(axis=0)
    u, _, vt = np.linalg.svd(positions.T @ centred)
    return positions @ u @ vt


def draw_pixels(axes: plt.Axes, places: np.ndarray, values: np.ndarray, title: str) -> None:
    down, right = (places - np.median(places, axis=0)).T
    order = np.argsort(values, kind="stable")
    axes.scatter(
        right[order],
        -down[order],
        c=values[order],
        cmap="Greys",
        s=22,
        marker="s",
        vmin=-40,
        vmax=255,
        linewidths=0,
    )
    axes.set_title(title, color=INK)
    axes.set(aspect="equal", xlim=(-16, 16), ylim=(-16, 16))
    axes.axis("off")


def draw_filters(grid: list[plt.Axes], weight: np.ndarray) -> None:
    """Draw filters (25, n) as the 5 x 5 images they are, the most telling first."""
    offsets = wc.slot_offsets(25) + 2
    for axes, column in zip(grid, weight.T, strict=True):
        image = np.zeros((5, 5))
        image[offsets[:, 0], offsets[:, 1]] = column
        most = np.abs(image).max()
        axes.imshow(image, cmap="RdBu_r", vmin=-most, vmax=most)
        axes.set(xticks=[], yticks=[])


def main() -> None:
    mpl.rcParams.update({"font.size": 10.5, "savefig.facecolor": "white"})
    mnist = load_mnist()
    rows = np.random.default_rng(0).permutation(len(mnist.y_train))[:N_ROWS]
    X = mnist.X_train[rows]
    pixels = np.random.default_rng(1).permutation(np.flatnonzero((X[0] != X).any(axis=0)))
    X, sites = X[:, pixels].astype(np.float32), np.stack(np.divmod(pixels, 28), axis=1)
    model = wc.GraphCNNClassifier(
        "C8-P4-FC32",
        n_neighbors=25,
        order="auto",
        standardize=False,
        soft_clip=None,
        learning_rate=4e-3,
        batch_size=128,
        max_iter=2,
        random_state=0,
    ).fit(X / 255, mnist.y_train[rows])
    print(model.orientation_.order, "because", model.orientation_.reason)
    weight = model.module_.convolutions[0].weight.detach().numpy()[:, 0]
    strength = np.linalg.norm(weight, axis=0)
    weight = weight[:, np.argsort(-strength)[:SHOWN]]
    figure = plt.figure(figsize=(12.6, 3.5), layout="constrained")
    panels = figure.subfigures(1, 2, width_ratios=[3, 1.05])
    left = panels[0].subplots(1, 3)
    side = int(np.ceil(np.sqrt(len(pixels))))
    as_they_come = np.stack(np.divmod(np.arange(len(pixels)), side), axis=1)
    ink = X[np.flatnonzero(mnist.y_train[rows] == DIGIT)[0]]
    draw_pixels(left[0], as_they_come, ink, "pixels in no order ...")
    draw_pixels(
        left[1], aligned(model.positions_, sites), ink, "... laid out by their correlations"
    )
    draw_pixels(left[2], sites, ink, "the picture they came from")
    panels[1].suptitle("filters, each slot a direction", color=INK)
    draw_filters(list(panels[1].subplots(2, 2).ravel()), weight)
    figure.savefig(Path(__file__).with_suffix(".png"), dpi=110)


if __name__ == "__main__":
    main()
