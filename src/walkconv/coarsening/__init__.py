"""A graph becomes a smaller one: groups of nodes that belong together."""

from .coarsen import Coarsening, coarsen, coarsen_checked
from .grids import Grid, coarsen_grid, find_grid

__all__ = ["Coarsening", "Grid", "coarsen", "coarsen_checked", "coarsen_grid", "find_grid"]
