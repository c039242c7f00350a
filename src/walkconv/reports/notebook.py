"""What a notebook shows of a fitted model: a sentence and a small map."""

from markupsafe import Markup

from walkconv.reports.drawing.compact_map import draw_compact_map
from walkconv.reports.drawing.svg import element
from walkconv.reports.summarizing.model import FittedModel
from walkconv.reports.summarizing.structure import summarize_map
from walkconv.reports.summarizing.summary import map_values
from walkconv.reports.wording import count

HEIGHT = 260.0
MOST_PLACED = 3000
"""Columns up to which places are computed: who looks at a model should not wait."""
REPORT = "model.report('report.html', X_test, y_test) writes a page to explore."
ROOM = "display:block;max-width:100%;font-family:system-ui,sans-serif;font-size:13px;margin:8px 0"


def notebook_map(model: FittedModel) -> Markup:
    """Return the map of the columns with a line below it, nothing without a convolution on them."""
    neighbors = model.neighbors_
    if neighbors is None:
        return Markup("")
    if model.positions_ is None and neighbors.n_nodes > MOST_PLACED:
        text = f"{count(neighbors.n_nodes, 'column')}. {REPORT}"
        return element("div", text, style=ROOM)
    summary = summarize_map(model, map_values(model, None, None))
    assert summary is not None  # there are neighbours
    colored = f", coloured by {summary['values'][0]['label'].lower()}"  # there is always a value
    text = (
        f"{count(summary['n_columns'], 'column')}{colored}. Places: {summary['origin']}. {REPORT}"
    )
    line = element("div", text, style="opacity:0.75;max-width:60em")
    return element("div", draw_compact_map(summary, height=HEIGHT), line, style=ROOM)
