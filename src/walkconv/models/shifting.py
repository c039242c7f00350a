"""Rows shifted along a layout by chance: more to learn from, and a shift changes no digit."""

from typing import Any

import numpy as np
import torch

from walkconv._checks import check_integer
from walkconv.models.table import Table
from walkconv.models.whole_batch import draw_for_rows
from walkconv.walks import Neighbors, slot_offsets


class ShiftedTable(Table):
    """A table each of whose rows is shifted when it is asked for, at random.

    A slot of an oriented table of neighbours is a shift: every column takes the value of the
    column in that slot, and its own mean where the slot is empty.

    Parameters
    ----------
    X, scaling, clip, device
        As of `Table`.
    sources : ndarray of shape (n_nodes, n_shifts), int64
        From `shift_sources`: the column whose value each column takes, -1 for none.
    """

    def __init__(self, *table: Any, sources: np.ndarray):
        super().__init__(*table)
        self.sources = sources

    def values(self, rows: np.ndarray | slice) -> np.ndarray:
        """Return rows (m, n_nodes, n_channels) as they came but for their shifts."""
        values = super().values(rows)
        n_shifts = self.sources.shape[1]
        shift = draw_for_rows(len(values), lambda n_rows: torch.randint(n_shifts, (n_rows,)))
        source = self.sources.T[shift.numpy()][..., None]
        moved = np.take_along_axis(values, np.maximum(source, 0), axis=1)
        return np.where(source < 0, self.scaling.mean, moved)


def shift_sources(neighbors: Neighbors, n_dims: int, shift: int) -> np.ndarray:
    """Return the slots (n_nodes, n_shifts) of an oriented table that are at most `shift` steps.

    Examples
    --------
    >>> from walkconv import grid_graph, select_neighbors
    >>> from walkconv.models.shifting import shift_sources
    >>> line, places = grid_graph((4,)), [[0], [1], [2], [3]]
    >>> neighbors = select_neighbors(
    ...     line, n_neighbors=4, n_steps=3, order="direction", positions=places
    ... )
    >>> shift_sources(neighbors, 1, 1)
    array([[ 0, -1,  1],
           [ 1,  0,  2],
           [ 2,  1,  3],
           [ 3,  2, -1]])
    """
    shift = check_integer(shift, "shift", minimum=0)
    needed = (2 * shift + 1) ** n_dims
    if neighbors.n_neighbors < needed:
        raise ValueError(
            f"shift={shift} in {n_dims} dimension(s) needs n_neighbors of at least {needed}; "
            f"got {neighbors.n_neighbors}."
        )
    offsets = slot_offsets(neighbors.n_neighbors, n_dims=n_dims)
    return neighbors.index[:, np.abs(offsets).max(axis=1) <= shift]
