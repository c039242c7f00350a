"""Figure 3, right: the squared correlation on the test rows of a Merck set, epoch by epoch.

It is drawn from the records of the paper's protocol, of which it reads this much:

    {"settings": {...}, "history": [{"member": 0, "epoch": 1, "test": 0.21}, ...]}
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.figures.style import INK, QUIET, panels, spread
from experiments.records import read_records
from experiments.rows import Row, read_rows

MERCK_SET, PROTOCOL = "METAB", "paper"
TWINS = ("-random", "-p1")
"""Rows that differ from another in the graph alone; the tables have them."""
OURS = ("#0f7c8c", "#d55e00", "#8a4f9e")
CONNECTED = (INK, QUIET)


@dataclass(frozen=True)
class Curve:
    """How a method did, epoch by epoch.

    Attributes
    ----------
    row : Row
    scores : ndarray of shape (n_seeds, n_epochs)
    """

    row: Row
    scores: np.ndarray

    @property
    def median(self) -> np.ndarray:
        """The middle seed of each epoch: one that learned nothing does not move it."""
        return np.median(self.scores, axis=0)

    @property
    def family(self) -> tuple[str, ...]:
        """The colours of its kind: with convolutions, or fully connected."""
        architecture = self.row.settings[PROTOCOL]["architecture"]
        return OURS if "C" in architecture.replace("FC", "") else CONNECTED

    @property
    def n_failed(self) -> int:
        """Seeds that learned nothing: in the end they predict the same for every molecule."""
        return int(np.count_nonzero(self.scores[:, -1] == 0))


def read_curves() -> list[Curve]:
    """Return a curve for every network of the table that has records, in the table's order."""
    curves = []
    for row in read_rows("merck", merck_set=MERCK_SET):
        if PROTOCOL not in row.settings or row.key.endswith(TWINS):
            continue
        records = read_records(row, PROTOCOL)
        found = [scores for scores in map(_scores, records) if scores]
        if found:
            n_epochs = min(map(len, found))
            curves.append(Curve(row, np.array([scores[:n_epochs] for scores in found])))
    return curves


def draw() -> Figure:
    """Return the figure; it needs records of the paper's protocol."""
    curves = read_curves()
    if not curves:
        raise FileNotFoundError("There is no record of it yet. Run `make reproduce-merck`.")
    return draw_curves(curves)


def draw_curves(curves: list[Curve]) -> Figure:
    """Return the figure of some curves: every seed thin, their median thick."""
    figure, axes = panels(1, 1, (7.6, 4.7))
    panel = axes[0, 0]
    used: dict[tuple[str, ...], int] = {}
    colors = []
    for curve in curves:
        place = used[curve.family] = used.get(curve.family, -1) + 1
        colors.append(curve.family[place % len(curve.family)])
        epochs = np.arange(1, curve.scores.shape[1] + 1)
        panel.plot(epochs, curve.scores.T, color=colors[-1], alpha=0.4, linewidth=0.7)
        style = "--" if curve.family is CONNECTED else "-"
        panel.plot(epochs, curve.median, style, color=colors[-1], linewidth=1.9)
        if curve.n_failed:
            said = f"{curve.n_failed} of {len(curve.scores)} seeds learned nothing"
            above = {"xytext": (-2, 4), "textcoords": "offset points", "ha": "right"}
            panel.annotate(said, (epochs[-1], 0), **above, color=colors[-1])
    panel.set_xlabel("epoch")
    panel.set_ylabel("squared correlation, test rows")
    panel.set_title(f"{MERCK_SET}, the paper's protocol")
    panel.grid(axis="y", color="#eceff2", linewidth=0.8)
    panel.set_axisbelow(True)
    panel.set_xlim(1, max(curve.scores.shape[1] for curve in curves))
    _name(panel, curves, colors)
    return figure


def _name(panel: Axes, curves: list[Curve], colors: list[str]) -> None:
    """Write the name of each curve at its end, none over another."""
    bottom, top = panel.get_ylim()
    ends = [curve.median[-1] for curve in curves]
    places = spread(ends, gap=0.055 * (top - bottom), highest=top)
    names = short_names([curve.row.name for curve in curves])
    for curve, name, end, place, color in zip(curves, names, ends, places, colors, strict=True):
        panel.annotate(
            name,
            xy=(curve.scores.shape[1], end),
            xytext=(1.04, (place - bottom) / (top - bottom)),
            textcoords="axes fraction",
            color=color,
            va="center",
            arrowprops={"arrowstyle": "-", "color": color, "linewidth": 0.7, "relpos": (0, 0.5)},
            annotation_clip=False,
        )
    panel.set_ylim(bottom, top)


def short_names(names: list[str]) -> list[str]:
    """Return each name up to its comma, where that tells it from the others."""
    short = [name.split(",")[0] for name in names]
    return [s if short.count(s) == 1 else name for s, name in zip(short, names, strict=True)]


def _scores(record: dict[str, Any]) -> list[float]:
    """Return the test score of every epoch of the first member."""
    epochs = [epoch for epoch in record["history"] if epoch.get("member", 0) == 0]
    return [epoch["test"] for epoch in epochs if "test" in epoch]
