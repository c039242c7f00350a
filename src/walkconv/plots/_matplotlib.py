"""What all plots share: matplotlib, imported when it is needed, and new axes."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BLUE, ORANGE, GREY = "#1f6fa8", "#b8500b", "#9aa7b0"
"""Can be told apart by people who are colour-blind, and in print."""


def axes_or_new(ax: "Axes | None", size: tuple[float, float] = (6.0, 4.0)) -> "Axes":
    """Return the axes given, or those of a new figure."""
    return new_axes(1, size)[0] if ax is None else ax


def new_axes(n_axes: int, size: tuple[float, float], per_row: int = 1) -> "list[Axes]":
    """Return the axes of a new figure, in rows; those that are left over are hidden."""
    try:
        from matplotlib import pyplot as plt
    except ImportError:
        raise ImportError("Plots need matplotlib: pip install walkconv[plots]") from None
    n_rows = -(-n_axes // per_row)
    _, grid = plt.subplots(n_rows, per_row, figsize=size, layout="constrained", squeeze=False)
    every = list(grid.ravel())
    for spare in every[n_axes:]:
        spare.set_visible(False)
    return every[:n_axes]


def bare(ax: "Axes") -> None:
    """Take away what carries no information: the frame above and on the right."""
    ax.spines[["top", "right"]].set_visible(False)
