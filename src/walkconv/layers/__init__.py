"""The layers: modules that hold filters."""

from .conv import GraphConv
from .missing import convolve_present

__all__ = ["GraphConv", "convolve_present"]
