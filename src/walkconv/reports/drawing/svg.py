"""SVG as markup. Every text and every attribute is escaped, so that names stay text."""

from collections.abc import Sequence

from markupsafe import Markup, escape


def element(tag: str, *children: str, **attributes: str | float | None) -> Markup:
    """Return an element. ``stroke_width=2`` becomes ``stroke-width="2"``; None is left out.

    Examples
    --------
    >>> from walkconv.reports.drawing.svg import element
    >>> element("text", "a < b", x=1.23456, class_="name")
    Markup('<text x="1.23" class="name">a &lt; b</text>')
    """
    given = Markup("").join(
        Markup(' {}="{}"').format(name.rstrip("_").replace("_", "-"), _plain(value))
        for name, value in attributes.items()
        if value is not None
    )
    inside = Markup("").join(escape(child) for child in children)
    return Markup("<{0}{1}>{2}</{0}>").format(Markup(tag), given, inside)


def picture(
    width: float, height: float, *children: str, title: str, class_: str = "chart"
) -> Markup:
    """Return an SVG of this size that a screen reader calls by its title."""
    return element(
        "svg",
        *children,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {_plain(width)} {_plain(height)}",
        width=width,
        height=height,
        role="img",
        aria_label=title,
        class_=class_,
    )


def path(points: Sequence[Sequence[float]]) -> str:
    """Return the `d` of a line through points."""
    return "M" + "L".join(f"{_plain(x)},{_plain(y)}" for x, y in points)


def _plain(value: str | float) -> str:
    if isinstance(value, str):
        return value
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
