"""A graph of a summary as a drawing: nodes with the number of their type, and edges."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from markupsafe import Markup

from walkconv.reports.drawing.svg import element, path, picture

STEP, MARGIN = 26.0, 14.0
LARGEST = 260.0
N_COLORS = 7


def draw_graph(graph: Mapping[str, Any], tags: list[int]) -> Markup:
    """Return a drawing; `tags` are all node types of the report, so that colours are shared."""
    x, y = (np.asarray(graph[axis], dtype=float) for axis in ("x", "y"))
    x, y = x - x.min(), y - y.min()
    scale = min(STEP, LARGEST / max(float(x.max()), float(y.max()), 1.0))
    radius = min(8.0, 0.36 * scale)
    x, y = MARGIN + x * scale, MARGIN + y * scale
    lines = "".join(path([(x[a], y[a]), (x[b], y[b])]) for a, b in graph["edges"])
    parts = [element("path", d=lines, class_="edge")]
    shares = graph.get("shares")
    most = max(map(abs, shares), default=0.0) if shares else 0.0
    for node, (a, b) in enumerate(zip(x.tolist(), y.tolist(), strict=True)):
        tag = None if graph["tags"] is None else graph["tags"][node]
        parts.append(_node(a, b, radius, None if shares is None else shares[node], most, tag, tags))
        if tag is not None and radius > 5:
            parts.append(element("text", str(tag), x=a, y=b + 3, class_="tag"))
    width, height = float(x.max()) + MARGIN, float(y.max()) + MARGIN
    title = f"Graph of {len(x)} nodes and {len(graph['edges'])} edges"
    return picture(width, height, *parts, title=title, class_="graph")


def _node(
    x: float,
    y: float,
    radius: float,
    share: float | None,
    most: float,
    tag: int | None,
    tags: list[int],
) -> Markup:
    """Return a node, coloured by its share in the prediction, or else by its type."""
    if share is None:
        color = 0 if tag is None else tags.index(tag) % N_COLORS
        return element("circle", cx=x, cy=y, r=radius, class_=f"node type{color}")
    under = element("circle", cx=x, cy=y, r=radius, class_="node plain")
    over = element(
        "circle",
        element("title", f"moves the prediction by {share:+.3g}"),
        cx=x,
        cy=y,
        r=radius,
        class_="positive" if share > 0 else "negative",
        fill_opacity=round(0.75 * abs(share) / most, 3) if most else 0,
    )
    return under + over
