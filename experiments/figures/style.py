"""How the figures look, and how they become files."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

FOLDER = Path(__file__).parents[2] / "docs" / "figures"
INK, QUIET, FAINT = "#22313f", "#7d8894", "#d5dbe1"
DEEP = LinearSegmentedColormap.from_list(
    "deep", ["#ffffff", "#d3e8ec", "#8cc4cd", "#2f8f9e", "#0b4f5c", "#06262e"]
)
"""White is nothing; darker is more, also in grey and to the colour-blind."""
SETTINGS: dict[Any, Any] = {
    "font.size": 11,
    "axes.edgecolor": QUIET,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "axes.titlesize": 12,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "text.color": INK,
    "xtick.color": QUIET,
    "ytick.color": QUIET,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "savefig.facecolor": "white",
    "svg.hashsalt": "walkconv",
}


def panels(
    n_rows: int, n_columns: int, size: tuple[float, float], widths: Sequence[float] | None = None
) -> tuple[Figure, np.ndarray]:
    """Return a figure of `size` inches and its axes (n_rows, n_columns)."""
    figure = Figure(figsize=size, layout="constrained")
    return figure, figure.subplots(n_rows, n_columns, squeeze=False, width_ratios=widths)


def save(figure: Figure, name: str) -> None:
    """Write a figure as PNG and as SVG, the same bytes every time."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for suffix, metadata in (("png", {"Software": None}), ("svg", {"Date": None})):
        part = FOLDER / f"{name}.part.{suffix}"
        figure.savefig(part, dpi=160, metadata=metadata)
        part.replace(FOLDER / f"{name}.{suffix}")


def bare(axes: Axes) -> None:
    """Leave nothing of the axes but what is drawn on them."""
    axes.set(xticks=[], yticks=[])
    axes.spines[:].set_visible(False)


def spread(places: Sequence[float], *, gap: float, highest: float) -> np.ndarray:
    """Return places at least `gap` apart and none above `highest`, in the same order."""
    order = np.argsort(places, kind="stable")
    moved = np.asarray(places, dtype=float)[order]
    for _ in range(20 * len(moved)):
        for lower in np.flatnonzero(np.diff(moved) < gap):
            middle = moved[lower : lower + 2].mean()
            moved[lower : lower + 2] = middle - gap / 2, middle + gap / 2
    allowed = highest - gap * np.arange(len(moved))[::-1]
    result = np.empty_like(moved)
    result[order] = np.minimum(moved, allowed)
    return result
