"""Figure 2: a row of ``Q^(k)`` on the grid of 28 x 28 pixels, for a pixel near the centre."""

import numpy as np
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from experiments.figures.style import DEEP, FAINT, INK, panels
from walkconv import expected_visits, grid_graph

SIDE, CENTRE, STEPS = 28, (14, 14), (1, 2, 3, 4)
SHOWN = slice(8, 21)
"""Rows and columns of the grid that are drawn: the walk of four steps, and a rim."""

SCALE = LogNorm(1e-4, 2)


def visits_from_centre(n_steps: int) -> np.ndarray:
    """Return the expected visits (28, 28) to every pixel from the one near the centre."""
    grid = grid_graph((SIDE, SIDE))
    visits = expected_visits(grid, n_steps=n_steps)
    return visits[np.ravel_multi_index(CENTRE, (SIDE, SIDE))].reshape(SIDE, SIDE)


def draw() -> Figure:
    """Return the figure: one panel for each number of steps, one scale for all."""
    figure, axes = panels(1, len(STEPS), (11, 3.25))
    for panel, n_steps in zip(axes[0], STEPS, strict=True):
        visits = visits_from_centre(n_steps)
        shown = np.where(visits > 0, visits, np.nan)[SHOWN, SHOWN]
        panel.pcolormesh(shown, norm=SCALE, cmap=DEEP, edgecolors=FAINT, linewidth=0.4)
        panel.set_aspect("equal")
        panel.invert_yaxis()
        panel.set(xticks=[], yticks=[])
        panel.spines[:].set(visible=True, color=FAINT)
        panel.set_title(f"$Q^{{({n_steps})}}$")
        panel.set_xlabel(f"{np.count_nonzero(visits)} pixels reached", color=INK)
    bar = figure.colorbar(ScalarMappable(SCALE, DEEP), ax=axes, shrink=0.8, pad=0.015, aspect=22)
    bar.set_label("expected visits")
    bar.outline.set_visible(False)
    return figure
