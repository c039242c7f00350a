"""The map of the columns as a small SVG without a script, for notebooks and for print."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from markupsafe import Markup

from walkconv.reports.drawing.svg import element, path, picture

MOST_DOTS = 2500
"""Columns that are drawn one by one; more are drawn as cells with a dot for each."""
MOST_LINKED = 1200
"""Columns up to which lines lead to the first neighbours."""
N_CELLS = 60
HEIGHT, MARGIN = 300.0, 10.0
RAMP = ("#c9d6df", "#9ebcd0", "#6a9fc4", "#3b7fb3", "#1d5c94", "#0d3b69")
"""From low to high. It can be told apart without colours, by how dark it is."""
UNEVEN = 0.03
"""Where the median lies lower than this between the ends, colours go by rank, as on the page."""
GREY = "#8a949c"


def draw_compact_map(summary: Mapping[str, Any], *, height: float = HEIGHT) -> Markup:
    """Return the map of a summary as an SVG, each column with its name as a tooltip.

    Parameters
    ----------
    summary : mapping
        The `map` of a summary.
    height : float, default 300
        Of the picture, in pixels.
    """
    x, y = (np.asarray(summary[axis], dtype=float) for axis in ("x", "y"))
    extent = max(x.max(), 1.0), max(y.max(), 1.0)
    scale = min((height - 2 * MARGIN) / extent[1], 2.2 * height / extent[0])
    x, y = MARGIN + x * scale, MARGIN + y * scale
    width, height = extent[0] * scale + 2 * MARGIN, extent[1] * scale + 2 * MARGIN
    title = f"Map of {summary['n_columns']:,} columns"
    if summary["n_columns"] > MOST_DOTS:
        return picture(width, height, _cells(x, y, width, height), title=title, class_="map")
    values = summary["values"][0] if summary["values"] else None
    parts = [_links(summary, x, y)] if summary["n_columns"] <= MOST_LINKED else []
    parts.append(_dots(summary, values, x, y, width * height))
    return picture(width, height, *parts, title=title, class_="map")


def _dots(
    summary: Mapping[str, Any],
    values: Mapping[str, Any] | None,
    x: np.ndarray,
    y: np.ndarray,
    area: float,
) -> Markup:
    radius = float(np.clip(0.36 * np.sqrt(area / len(x)), 1.2, 6.0))
    colors = [RAMP[3]] * len(x) if values is None else _colors(values["values"])
    names = summary["names"] or [f"column {number}" for number in range(len(x))]
    dots = [
        element("circle", element("title", name), cx=float(a), cy=float(b), r=radius, fill=color)
        for name, a, b, color in zip(names, x, y, colors, strict=True)
    ]
    return element("g", *dots)


def _links(summary: Mapping[str, Any], x: np.ndarray, y: np.ndarray) -> Markup:
    """Return thin lines to the first two neighbours of each column."""
    listed = summary["neighbors"]
    index = np.asarray(listed["index"]).reshape(len(x), listed["n_listed"])[:, 1:3]
    at = np.column_stack([x, y]).tolist()
    lines = [
        path([at[node], at[other]])
        for node, others in enumerate(index)
        for other in others
        if other >= 0
    ]
    return element("path", d="".join(lines), stroke=GREY, stroke_width=0.6, stroke_opacity=0.35)


def _cells(x: np.ndarray, y: np.ndarray, width: float, height: float) -> Markup:
    """Return a dot for each cell of the plane that holds columns, darker where there are more."""
    side = max(width, height) / N_CELLS
    cell, counts = np.unique(
        np.column_stack([x // side, y // side]).astype(int), axis=0, return_counts=True
    )
    dots = [
        element(
            "circle",
            element("title", f"{n:,} columns"),
            cx=float((a + 0.5) * side),
            cy=float((b + 0.5) * side),
            r=float(side * 0.46),
            fill=color,
        )
        for (a, b), n, color in zip(cell, counts, _colors(np.sqrt(counts)), strict=True)
    ]
    return element("g", *dots)


def _colors(values: Any) -> list[str]:
    given = np.array([np.nan if value is None else value for value in values], dtype=float)
    finite = given[np.isfinite(given)]
    low, high = np.quantile(finite, [0.01, 0.99]) if len(finite) else (0.0, 0.0)
    share = (given - low) / (high - low) if high > low else np.full(len(given), 0.5)
    if high > low and np.nanmedian(share) < UNEVEN:
        share = np.searchsorted(np.unique(finite), given) / max(len(np.unique(finite)) - 1, 1)
    step = np.clip(np.nan_to_num(share) * len(RAMP), 0, len(RAMP) - 1).astype(int)
    return [RAMP[each] if ok else GREY for each, ok in zip(step, np.isfinite(given), strict=True)]
