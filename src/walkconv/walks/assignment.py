"""The definition of slots that are directions: which candidate each slot holds.

The loops of `_native/graphs/slots.c` add and compare in this order, so their answer is the same.
"""

import numpy as np


def local_spacing(candidates: np.ndarray, positions: np.ndarray, period: np.ndarray) -> np.ndarray:
    """Return the usual distance (n_nodes,) to the nearest nodes around each node.

    First the mean distance of each node to its nearest candidates, one for each axis: the corner of
    a grid has no more that are one step away. Then the median over its candidates. The
    spacing is 0 if all candidates have the same position as the node.
    """
    n_nodes, n_dims = positions.shape
    own, spacing = np.zeros(n_nodes), np.zeros(n_nodes)
    for node in range(n_nodes):
        others = candidates[node][candidates[node] >= 0]
        gaps = np.sqrt((displacements(node, others, positions, period) ** 2).sum(axis=1))
        if (gaps > 0).any():
            own[node] = np.sort(gaps[gaps > 0])[:n_dims].mean()
    # A median, so that a few nodes far from all others do not widen the spacing around them.
    for node in range(n_nodes):
        around = own[candidates[node][candidates[node] >= 0]]
        if (around > 0).any():
            spacing[node] = np.median(around[around > 0])
    return spacing


def orient_row(
    node: int,
    candidates: np.ndarray,
    positions: np.ndarray,
    period: np.ndarray,
    spacing: float,
    offsets: np.ndarray,
    reach: float,
) -> np.ndarray:
    """Return the candidate that each slot (n_slots,) holds; -1 for an empty or the first slot.

    The sum of squared misfits is least. An empty slot costs as much as a candidate that is just out
    of reach. Slot 0 is for the node itself.
    """
    held = np.full(len(offsets), -1)
    if spacing == 0:
        return held
    others = np.flatnonzero((candidates >= 0) & (candidates != node))
    steps = displacements(node, candidates[others], positions, period) / spacing
    # Candidates out of reach of every offset cannot be assigned: without them costs are few.
    is_near = (np.abs(steps) < np.abs(offsets).max() + reach).all(axis=1)
    others, steps = others[is_near], steps[is_near]
    misfit = ((steps[None] - offsets[1:, None]) ** 2).sum(axis=2)
    chosen = assign(misfit, reach**2)
    held[1:][chosen >= 0] = others[chosen[chosen >= 0]]
    return held


def displacements(
    node: int, others: np.ndarray, positions: np.ndarray, period: np.ndarray
) -> np.ndarray:
    """Return displacements (n_others, n_dims) from a node, the shorter way round a ring."""
    gap = positions[others] - positions[node]
    length = np.where(period > 0, period, 1.0)
    return np.where(period > 0, gap - length * np.rint(gap / length), gap)


def assign(cost: np.ndarray, cost_of_none: float) -> np.ndarray:
    """Return a column for each row, or -1; no column twice, at the least total cost.

    Rows enter one by one along a cheapest augmenting path (Hungarian method with potentials).
    Column n_columns + row stands for an unassigned row.

    Examples
    --------
    >>> import numpy as np
    >>> from walkconv.walks.assignment import assign
    >>> assign(np.array([[0.1, 0.2], [0.1, 0.9], [0.3, 0.3]]), 0.5)
    array([ 1,  0, -1])
    """
    n_rows, n_columns = cost.shape
    none = np.where(np.eye(n_rows, dtype=bool), cost_of_none, np.inf)
    step = np.hstack([np.where(cost <= cost_of_none, cost, np.inf), none])
    owner = np.full(n_columns + n_rows, -1)
    row_price, column_price = np.zeros(n_rows), np.zeros(n_columns + n_rows)
    for entering in range(n_rows):
        distance = np.full(n_columns + n_rows, np.inf)
        before = np.full(n_columns + n_rows, -1)
        is_settled = np.zeros(n_columns + n_rows, dtype=bool)
        # The cheapest path from the entering row to a free column (Dijkstra). The prices keep all
        # steps at least 0 long, which this search needs.
        row, column, travelled = entering, -1, 0.0
        while row >= 0:
            length = travelled + step[row] - row_price[row] - column_price
            is_shorter = ~is_settled & (length < distance)
            distance[is_shorter], before[is_shorter] = length[is_shorter], column
            column = int(np.argmin(np.where(is_settled, np.inf, distance)))
            travelled = distance[column]
            is_settled[column] = True
            row = owner[column]
        # New prices, so that the steps between owners and their columns cost 0 again.
        row_price[entering] += travelled
        is_settled[column] = False
        settled = np.flatnonzero(is_settled)
        row_price[owner[settled]] += travelled - distance[settled]
        column_price[settled] -= travelled - distance[settled]
        # Along the path every column passes to the row that reached it.
        while before[column] >= 0:
            owner[column] = owner[before[column]]
            column = before[column]
        owner[column] = entering
    chosen = np.full(n_rows, -1)
    taken = np.flatnonzero(owner[:n_columns] >= 0)
    chosen[owner[taken]] = taken
    return chosen
