"""A table or a graph becomes a layout: a position for every node."""

from .from_graph import layout_graph
from .from_table import layout_columns
from .layout import Layout

__all__ = ["Layout", "layout_columns", "layout_graph"]
