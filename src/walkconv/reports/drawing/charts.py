"""Charts as SVG. Colours are classes, so that the page decides them for light, dark and print."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup

from walkconv.reports.drawing.svg import element, path, picture
from walkconv.reports.wording import number

WIDTH, HEIGHT = 440.0, 280.0
LEFT, RIGHT, TOP, BOTTOM = 56.0, 14.0, 12.0, 44.0
DIFFERENCE_WIDTH, ROW = 560.0, 30.0
MOST_POINTS = 2000
"""Points of a scatter chart. Of more, a chart shows this number, evenly chosen."""


@dataclass(frozen=True)
class Line:
    """One line of a chart.

    Attributes
    ----------
    x, y : sequence of float
        Of the same length; a y that is not finite is left out.
    class_ : str
        How it looks: "first", "second", "faint" or "guide".
    """

    x: Sequence[float]
    y: Sequence[float]
    class_: str = "first"


@dataclass(frozen=True)
class Frame:
    """The axes of a chart: from values to places in the picture.

    Attributes
    ----------
    x, y : pair of float
        The ends of each axis.
    x_label, y_label : str
    counts_x : bool
        Whether x is a whole number.
    """

    x: tuple[float, float]
    y: tuple[float, float]
    x_label: str
    y_label: str
    counts_x: bool = False

    def at(self, x: float, y: float) -> tuple[float, float]:
        """Return where a pair of values is drawn."""
        across = (x - self.x[0]) / (self.x[1] - self.x[0])
        up = (y - self.y[0]) / (self.y[1] - self.y[0])
        return LEFT + across * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - up * (
            HEIGHT - TOP - BOTTOM
        )

    def draw(self) -> Markup:
        """Return the grid, the numbers and the names of the axes."""
        parts = []
        for value in nice_ticks(*self.y):
            place = self.at(self.x[0], value)[1]
            parts.append(
                element("line", x1=LEFT, x2=WIDTH - RIGHT, y1=place, y2=place, class_="grid")
            )
            parts.append(element("text", _tick(value), x=LEFT - 8, y=place + 4, class_="tick end"))
        for value in nice_ticks(*self.x, least=1.0 if self.counts_x else 0.0):
            place = self.at(value, self.y[0])[0]
            bottom = HEIGHT - BOTTOM
            parts.append(
                element("line", x1=place, x2=place, y1=bottom, y2=bottom + 4, class_="axis")
            )
            parts.append(
                element("text", _tick(value), x=place, y=bottom + 17, class_="tick middle")
            )
        parts.append(
            element(
                "line",
                x1=LEFT,
                x2=WIDTH - RIGHT,
                y1=HEIGHT - BOTTOM,
                y2=HEIGHT - BOTTOM,
                class_="axis",
            )
        )
        middle = (LEFT + WIDTH - RIGHT) / 2
        parts.append(element("text", self.x_label, x=middle, y=HEIGHT - 6, class_="label middle"))
        up = (TOP + HEIGHT - BOTTOM) / 2
        parts.append(
            element(
                "text",
                self.y_label,
                transform=f"translate(13 {up:g}) rotate(-90)",
                class_="label middle",
            )
        )
        return Markup("").join(parts)


def nice_ticks(low: float, high: float, *, wanted: int = 5, least: float = 0.0) -> list[float]:
    """Return round numbers between two values, at least so far from each other.

    Examples
    --------
    >>> from walkconv.reports.drawing.charts import nice_ticks
    >>> nice_ticks(0.0, 0.93)
    [0.0, 0.2, 0.4, 0.6, 0.8]
    """
    step = max((high - low) / wanted, least)
    power = 10.0 ** math.floor(math.log10(step))
    step = next(power * unit for unit in (1, 2, 5, 10) if power * unit >= step * 0.999)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(step * each, 12) for each in range(first, last + 1)]


def _tick(value: float) -> str:
    """Return a number that fits beside an axis."""
    is_large = abs(value) >= 10_000 and value % 1000 == 0
    return f"{number(value / 1000)}k" if is_large else number(value)


def span(values: Sequence[float], *, margin: float = 0.04) -> tuple[float, float]:
    """Return a range that holds all values, never empty."""
    finite = np.asarray(values, dtype=float)
    finite = finite[np.isfinite(finite)]
    low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 1.0)
    if high - low < 1e-12 * max(1.0, abs(high)):
        low, high = low - 0.5, high + 0.5
    pad = margin * (high - low)
    return low - pad, high + pad


def line_chart(lines: Sequence[Line], *, title: str, x_label: str, y_label: str) -> Markup:
    """Return lines over an axis of whole numbers, such as epochs."""
    x = span([value for line in lines for value in line.x], margin=0.0)
    y = span([value for line in lines for value in line.y])
    frame = Frame(x, y, x_label, y_label, counts_x=True)
    drawn = [_line(frame, line) for line in lines]
    return picture(WIDTH, HEIGHT, frame.draw(), *drawn, title=title)


def _line(frame: Frame, line: Line) -> Markup:
    points = [
        frame.at(x, y) for x, y in zip(line.x, line.y, strict=True) if y is not None and y == y
    ]
    if len(points) == 1:
        return element(
            "circle", cx=points[0][0], cy=points[0][1], r=3.5, class_=f"dot {line.class_}"
        )
    return element("path", d=path(points), class_=f"line {line.class_}") if points else Markup("")


def scatter_chart(
    x: Sequence[float], y: Sequence[float], *, title: str, x_label: str, y_label: str
) -> Markup:
    """Return points around the diagonal, on which x and y agree."""
    x_range = y_range = span([*x, *y])
    frame = Frame(x_range, y_range, x_label, y_label)
    diagonal = _line(frame, Line(x_range, y_range, "guide"))
    chosen = np.unique(np.linspace(0, len(x) - 1, min(len(x), MOST_POINTS)).astype(int))
    opacity = max(0.12, min(0.7, 60 / math.sqrt(len(chosen) + 1) / 6))
    dots = []
    for each in chosen:
        across, up = frame.at(x[each], y[each])
        dots.append(element("circle", cx=round(across, 1), cy=round(up, 1), r=2.4))
    cloud = element("g", *dots, class_="cloud", fill_opacity=opacity)
    return picture(WIDTH, HEIGHT, frame.draw(), diagonal, cloud, title=title)


def histogram(
    edges: Sequence[float], counts: Sequence[int], *, title: str, x_label: str, y_label: str
) -> Markup:
    """Return bars between the edges."""
    frame = Frame((edges[0], edges[-1]), (0.0, max(1, *counts) * 1.05), x_label, y_label)
    bars = []
    for low, high, value in zip(edges[:-1], edges[1:], counts, strict=True):
        left, top = frame.at(low, value)
        right, bottom = frame.at(high, 0)
        bars.append(
            element(
                "rect", x=left + 0.5, y=top, width=max(0.5, right - left - 1), height=bottom - top
            )
        )
    return picture(WIDTH, HEIGHT, frame.draw(), element("g", *bars, class_="bars"), title=title)


def difference_chart(rows: Sequence[Mapping[str, Any]], *, title: str) -> Markup:
    """Return a line for each contestant, with its difference to the model and the interval of it.

    Parameters
    ----------
    rows : sequence of mapping
        With ``contestant``, ``difference``, ``low`` and ``high``.
    title : str
    """
    ends = span([0.0, *(row[key] for row in rows for key in ("low", "high", "difference"))])
    left, right, bottom = 170.0, DIFFERENCE_WIDTH - 16.0, TOP + ROW * len(rows)

    def across(value: float) -> float:
        return left + (value - ends[0]) / (ends[1] - ends[0]) * (right - left)

    parts = []
    for value in nice_ticks(*ends):
        place = across(value)
        parts.append(element("line", x1=place, x2=place, y1=TOP, y2=bottom, class_="grid"))
        parts.append(element("text", _tick(value), x=place, y=bottom + 17, class_="tick middle"))
    zero = across(0.0)
    parts.append(element("line", x1=zero, x2=zero, y1=TOP, y2=bottom, class_="axis"))
    for place, row in enumerate(rows):
        y = TOP + ROW * (place + 0.5)
        low, high, middle = (across(row[key]) for key in ("low", "high", "difference"))
        text = element("text", str(row["contestant"]), x=left - 14, y=y + 4, class_="label end")
        line = element("line", x1=low, x2=high, y1=y, y2=y, class_="line first")
        parts += [text, line, element("circle", cx=middle, cy=y, r=4.5, class_="dot first")]
    label = "Error minus that of the model, in points"
    at = (left + right) / 2
    parts.append(element("text", label, x=at, y=bottom + 38, class_="label middle"))
    return picture(DIFFERENCE_WIDTH, bottom + 46, *parts, title=title)


def calibration_chart(
    expected: Sequence[float], found: Sequence[float], counts: Sequence[int], *, title: str
) -> Markup:
    """Return the share that was right over the probability that was given.

    The area of a dot is the number of rows.
    """
    frame = Frame((0.0, 1.0), (0.0, 1.0), "Probability given", "Share that was right")
    diagonal = _line(frame, Line((0, 1), (0, 1), "guide"))
    order = np.argsort(expected)
    line = _line(frame, Line([expected[i] for i in order], [found[i] for i in order], "first"))
    most = max(1, *counts)
    dots = []
    for each in order:
        across, up = frame.at(expected[each], found[each])
        radius = 2.5 + 6.5 * math.sqrt(counts[each] / most)
        text = f"{counts[each]:,} rows: {expected[each]:.3f} given, {found[each]:.3f} right"
        dots.append(
            element(
                "circle", element("title", text), cx=across, cy=up, r=radius, class_="dot first"
            )
        )
    return picture(WIDTH, HEIGHT, frame.draw(), diagonal, line, *dots, title=title)
