"""Convolutional networks on features that have a graph but no grid."""

import sys
from importlib.metadata import version

import lazy_loader

from walkconv import _threads as _threads  # early: it notes how many threads were asked for

# The names stand in __init__.pyi. A room is loaded when its first name is used, so that what does
# not need torch starts without it.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__version__ = version("walkconv")

if "torch" in sys.modules:  # a program of `torch.export` that is loaded names this operator
    from walkconv.conv import graph_conv as graph_conv
