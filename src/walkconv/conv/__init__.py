"""The convolution: (x, neighbours, weight) -> y."""

from .engines import show_config
from .functional import graph_conv

__all__ = ["graph_conv", "show_config"]
