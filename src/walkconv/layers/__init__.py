"""The layers: modules that hold filters, and pooling between them."""

from .conv import GraphConv
from .missing import convolve_present
from .pool import GraphPool
from .readout import GraphReadout

__all__ = ["GraphConv", "GraphPool", "GraphReadout", "convolve_present"]
