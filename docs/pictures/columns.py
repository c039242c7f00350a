"""Draw what is found from anonymous columns: the plane of CIFAR-10, and the axis of a spectrum.

CIFAR-10 is read by `load_cifar10`; the spectra come from the suite in `benchmarks`.
"""

import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib import pyplot as plt

import walkconv as wc

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from structure_scores import aligned
from structure_tables import TABLES

INK = "#22313f"
N_ROWS, SHOWN = 10_000, 4
IMAGE, SPECTRA = "CIFAR-10 colour", "fermentation spectra"


def draw_image(left: plt.Axes, middle: plt.Axes, right: plt.Axes) -> None:
    """Draw one image in the order of the table, by the layout found, and as it was taken."""
    table = next(table for table in TABLES if table.name == IMAGE).read()
    layout = wc.layout_columns(table.X[:N_ROWS])
    print(IMAGE, layout, layout.reason)
    places = layout.positions[layout.node]
    if places.shape[1] == 2:
        places = aligned(places, table.sites)
    row = table.X[SHOWN] / 255
    channel = np.eye(3)[table.channel]
    width = int(np.ceil(np.sqrt(len(row))))
    in_order = np.stack(np.divmod(np.arange(len(row)), width), axis=1)
    # Light adds up: each column is a dot of its colour, on black.
    for axes, at, title in (
        (left, in_order, "3,072 columns in no order ..."),
        (middle, places[:, :2], "... laid out by their values alone"),
        (right, table.sites, "the photograph they came from"),
    ):
        rows, columns = at[:, 0] - at[:, 0].min(), at[:, 1] - at[:, 1].min()
        n_cells = np.rint([rows.max(), columns.max()]).astype(int) + 1
        image = np.zeros((*n_cells, 3))
        cell = np.rint(rows).astype(int), np.rint(columns).astype(int)
        np.maximum.at(image, cell, row[:, None] * channel)
        axes.imshow(image)
        axes.set_title(title, color=INK)
        axes.axis("off")


def draw_spectra(left: plt.Axes, right: plt.Axes) -> None:
    """Draw spectra in the order of the table, and along the line that was found."""
    table = next(table for table in TABLES if table.name == SPECTRA).read()
    layout = wc.layout_columns(table.X)
    print(SPECTRA, layout, layout.reason)
    along = layout.positions[layout.node][:, 0]
    if np.corrcoef(along, table.sites[:, 0])[0, 1] < 0:
        along = -along
    rows = table.X[:: len(table.X) // 5]
    left.plot(rows.T, linewidth=0.4)
    left.set_title("1,047 wavelengths in no order ...", color=INK)
    right.plot(np.sort(along), rows[:, np.argsort(along)].T, linewidth=1.2)
    right.set_title("... along the line that was found", color=INK)
    for axes in (left, right):
        axes.set(xticks=[], yticks=[])


def main() -> None:
    mpl.rcParams.update({"font.size": 10.5, "savefig.facecolor": "white"})
    figure = plt.figure(figsize=(9.6, 6), layout="constrained")
    top, bottom = figure.subfigures(2, 1, height_ratios=[1.35, 1])
    draw_spectra(*bottom.subplots(1, 2))
    draw_image(*top.subplots(1, 3))
    figure.savefig(Path(__file__).with_suffix(".png"), dpi=110)


if __name__ == "__main__":
    main()
