"""The filters of a summary: pictures where slots are directions, bars where they are ranks.

Ranks of several channels are a table of coloured cells, a row for each channel.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from markupsafe import Markup

from walkconv.reports.drawing.svg import element, picture

SIDE = 92.0
BAR_WIDTH, BAR_HEIGHT = 150.0, 72.0
CELL = 15.0
MOST_PICTURES = 48


def draw_filters(summary: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the ``name`` and the ``picture`` of each filter; all share one scale of colours.

    Parameters
    ----------
    summary : mapping
        The `filters` of a summary.
    """
    offsets = summary["offsets"]
    is_plane = offsets is not None and len(offsets[0]) == 2
    most = max(
        (abs(w) for each in summary["filters"] for row in each["weights"] for w in row if w),
        default=1.0,
    )
    drawn = []
    for each in summary["filters"]:
        name, channels = f"Filter {each['number']}", each["weights"]
        if len(channels) > 1 and not is_plane:
            order = _order(len(channels[0]), offsets)
            table = [[weights[slot] for slot in order] for weights in channels]
            drawn.append({"name": name, "picture": _table(table, most, name)})
            continue
        for number, weights in enumerate(channels, start=1):
            title = name if len(channels) == 1 else f"{name}, channel {number}"
            picture_of = _plane if is_plane else _bars
            drawn.append({"name": title, "picture": picture_of(weights, offsets, most, title)})
    return drawn[:MOST_PICTURES]


def _order(n_slots: int, offsets: Sequence[Sequence[int]] | None) -> list[int]:
    """Return the slots by rank, or from one end of the layout to the other."""
    slots = list(range(n_slots))
    return slots if offsets is None else sorted(slots, key=lambda slot: tuple(offsets[slot]))


def _table(rows: Sequence[Sequence[float]], most: float, title: str) -> Markup:
    """Return a coloured cell for each channel (down) and slot (across)."""
    cells = [
        _cell(across * CELL, down * CELL, CELL, weight, most)
        for down, row in enumerate(rows)
        for across, weight in enumerate(row)
    ]
    width, height = len(rows[0]) * CELL, len(rows) * CELL
    return picture(width, height, *cells, _edge(width, height), title=title, class_="filter")


def _cell(x: float, y: float, size: float, weight: float, most: float) -> Markup:
    return element(
        "rect",
        element("title", f"{weight:.3g}"),
        x=x,
        y=y,
        width=size,
        height=size,
        class_="positive" if weight > 0 else "negative",
        fill_opacity=round(abs(weight) / most, 3),
    )


def _edge(width: float, height: float) -> Markup:
    return element("rect", x=0.5, y=0.5, width=width - 1, height=height - 1, class_="outline")


def _plane(
    weights: Sequence[float], offsets: Sequence[Sequence[int]] | None, most: float, title: str
) -> Markup:
    """Return a cell for each direction, coloured by its weight."""
    steps = np.asarray(offsets)  # as the map: the first axis across, the second downwards
    low = steps.min(axis=0)
    n_cells = steps.max(axis=0) - low + 1
    size = float(SIDE / n_cells.max())
    cells = [
        _cell(float(across * size), float(down * size), size, weight, most)
        for (across, down), weight in zip(steps - low, weights, strict=False)
    ]
    width, height = (float(n * size) for n in n_cells)
    return picture(width, height, *cells, _edge(width, height), title=title, class_="filter")


def _bars(
    weights: Sequence[float], offsets: Sequence[Sequence[int]] | None, most: float, title: str
) -> Markup:
    """Return a bar for each rank, or for each step along a line, in order."""
    width = BAR_WIDTH / max(len(weights), 6)
    middle = BAR_HEIGHT / 2
    bars = []
    for place, slot in enumerate(_order(len(weights), offsets)):
        weight = weights[slot]
        height = abs(weight) / most * (middle - 2)
        step = None if offsets is None else ", ".join(map(str, offsets[slot]))
        label = f"rank {slot + 1}" if step is None else f"step {step}"
        bars.append(
            element(
                "rect",
                element("title", f"{label}: {weight:.3g}"),
                x=place * width + 0.5,
                y=middle - height if weight > 0 else middle,
                width=max(width - 1.0, 0.6),
                height=height,
                class_="positive" if weight > 0 else "negative",
            )
        )
    zero = element("line", x1=0, x2=BAR_WIDTH, y1=middle, y2=middle, class_="axis")
    return picture(BAR_WIDTH, BAR_HEIGHT, *bars, zero, title=title, class_="filter")
