"""What the inputs of a trained network contribute to its outputs."""

from .attribution import Attributions, Value, attribute

__all__ = ["Attributions", "Value", "attribute"]
