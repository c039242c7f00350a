"""A graph becomes neighbours: the nodes a random walk visits most, in order."""

from .definition import expected_visits, transition_matrix
from .diagnosis import diagnose
from .neighbors import Neighbors
from .refinement import refine_colors
from .select import select_checked, select_neighbors
from .slots import slot_offsets

__all__ = [
    "Neighbors",
    "diagnose",
    "expected_visits",
    "refine_colors",
    "select_checked",
    "select_neighbors",
    "slot_offsets",
    "transition_matrix",
]
