"""A graph becomes a layout: a place for every node."""

from .layout import Layout
from .place import layout_graph
from .quality import LayoutQuality, layout_quality

__all__ = ["Layout", "LayoutQuality", "layout_graph", "layout_quality"]
