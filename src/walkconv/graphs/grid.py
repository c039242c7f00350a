"""The graph of a regular grid."""

from collections.abc import Sequence
from itertools import product

import numpy as np
import scipy.sparse as sp

from walkconv._checks import check_integer


def grid_graph(shape: Sequence[int], *, connectivity: int | None = None) -> sp.csr_array:
    """Return the graph that joins each cell of a grid to its adjoining cells.

    Parameters
    ----------
    shape : sequence of int
        Cells along each axis. Node numbers run along the last axis first.
    connectivity : int, optional
        How many cells an interior cell is joined to: 2 in one dimension; 4 (shared side) or 8
        (or corner) in two; 6 (shared face), 18 (or edge) or 26 (or corner) in three. By default
        all that touch: 2, 8, 26.

    Returns
    -------
    csr_array of shape (n_cells, n_cells), float64
        Symmetric, all weights 1, no self-loops.

    Examples
    --------
    >>> from walkconv import grid_graph
    >>> grid_graph((2, 2), connectivity=4).toarray()
    array([[0., 1., 1., 0.],
           [1., 0., 0., 1.],
           [1., 0., 0., 1.],
           [0., 1., 1., 0.]])
    """
    if isinstance(shape, str) or not hasattr(shape, "__iter__"):
        raise TypeError(f"shape must be a sequence of integers such as (28, 28); got {shape!r}.")
    shape = tuple(check_integer(side, "each side of shape", minimum=1) for side in shape)
    if not shape:
        raise ValueError("shape must have at least one side; got ().")
    offsets = _offsets(len(shape), connectivity)
    cells = np.arange(int(np.prod(shape))).reshape(shape)
    pairs = [
        np.stack([cells[_shifted(shape, -offset)].ravel(), cells[_shifted(shape, offset)].ravel()])
        for offset in offsets
    ]
    sources, targets = np.concatenate(pairs, axis=1)
    ones = np.ones(len(sources))
    return sp.csr_array((ones, (sources, targets)), shape=(cells.size, cells.size))


def _offsets(n_axes: int, connectivity: int | None) -> np.ndarray:
    """Return the steps to adjoining cells (connectivity, n_axes): those that change few axes."""
    steps = np.array([step for step in product((-1, 0, 1), repeat=n_axes) if any(step)])
    n_changed = np.abs(steps).sum(axis=1)
    by_count = {int((n_changed <= most).sum()): most for most in range(1, n_axes + 1)}
    if connectivity is None:
        return steps
    if not isinstance(connectivity, int) or connectivity not in by_count:
        listed = ", ".join(str(count) for count in by_count)
        raise ValueError(
            f"connectivity in {n_axes} dimension(s) must be one of {listed}; got {connectivity!r}."
        )
    return steps[n_changed <= by_count[connectivity]]


def _shifted(shape: tuple[int, ...], offset: np.ndarray) -> tuple[slice, ...]:
    """Return the cells that lie `offset` away from another cell of the grid."""
    return tuple(
        slice(max(0, step), side + min(0, step)) for step, side in zip(offset, shape, strict=True)
    )
