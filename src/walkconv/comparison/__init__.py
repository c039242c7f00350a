"""Does the graph help? A model beside its twins and beside simple models, on the same rows."""

from .contest import compare
from .verdict import Comparison, Difference

__all__ = ["Comparison", "Difference", "compare"]
