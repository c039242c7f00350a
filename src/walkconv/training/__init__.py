"""Networks are trained: the loop, its solvers, its checkpoints and its processes."""

from .loop import InterruptedFitWarning
from .processes import join_processes

__all__ = ["InterruptedFitWarning", "join_processes"]
