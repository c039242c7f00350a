"""The convolution: (x, neighbours, weight) -> y."""

from .op import graph_conv

__all__ = ["graph_conv"]
