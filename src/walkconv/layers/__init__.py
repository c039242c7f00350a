"""The layers: modules that hold filters."""

from .conv import GraphConv

__all__ = ["GraphConv"]
