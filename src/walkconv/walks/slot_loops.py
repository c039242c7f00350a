"""The compiled loops behind `slots.py`: spacing, displacements, and the cheapest assignment."""

import numpy as np

from walkconv._compiled import compiled


@compiled
def local_spacing(candidates, places, period):
    """Return the usual distance (n_nodes,) to the nearest nodes around each node.

    Of each node the nearest candidates are taken, one for each axis, for a corner of a grid has no
    more that are one step away; then the median over its candidates. Where no candidate lies
    apart from its node the spacing is 0.
    """
    n_nodes, n_dims = places.shape
    own = np.zeros(n_nodes)
    for node in range(n_nodes):
        gaps = np.empty(candidates.shape[1])
        n_gaps = 0
        for other in candidates[node]:
            gap = np.sqrt(_squared_gap(node, other, places, period)) if other >= 0 else 0.0
            if gap > 0:
                gaps[n_gaps] = gap
                n_gaps += 1
        if n_gaps > 0:
            own[node] = np.sort(gaps[:n_gaps])[:n_dims].mean()
    spacing = np.zeros(n_nodes)
    for node in range(n_nodes):
        around = candidates[node][candidates[node] >= 0]
        known = own[around][own[around] > 0]
        if len(known) > 0:
            spacing[node] = np.median(known)
    return spacing


@compiled
def orient_rows(
    start, candidates, visits, places, period, spacing, offsets, reach, index, slot_visits
):
    """Fill the slots of the nodes start, start + 1, ... with the candidates at their offsets.

    The sum of squared misfits is least, where an empty slot counts as much as one that is just
    out of reach. Slot 0 holds the node itself.
    """
    n_slots, n_dims = offsets.shape
    farthest = np.abs(offsets).max() + reach
    for row in range(len(index)):
        node = start + row
        index[row] = -1
        slot_visits[row] = 0.0
        index[row, 0] = node
        steps = np.empty((candidates.shape[1], n_dims))
        places_near = np.empty(candidates.shape[1], dtype=np.int64)
        n_near = 0
        for place in range(candidates.shape[1]):
            other = candidates[row, place]
            if other == node:
                slot_visits[row, 0] = visits[row, place]
            elif other >= 0 and spacing[row] > 0:
                for axis in range(n_dims):
                    gap = _gap(node, other, axis, places, period)
                    steps[n_near, axis] = gap / spacing[row]
                if np.abs(steps[n_near]).max() < farthest:
                    places_near[n_near] = place
                    n_near += 1
        misfit = np.zeros((n_slots - 1, n_near))
        for slot in range(n_slots - 1):
            for near in range(n_near):
                for axis in range(n_dims):
                    misfit[slot, near] += (steps[near, axis] - offsets[slot + 1, axis]) ** 2
        chosen = _assignment(misfit, reach**2)
        for slot in range(n_slots - 1):
            if chosen[slot] >= 0:
                place = places_near[chosen[slot]]
                index[row, slot + 1] = candidates[row, place]
                slot_visits[row, slot + 1] = visits[row, place]


@compiled
def _assignment(cost, cost_of_none):
    """Return a column for each row, -1 for none, no column twice, at the least total cost.

    Rows enter one by one along a cheapest augmenting path (Hungarian method with potentials).
    Column n_columns + row stands for none.
    """
    n_rows, n_columns = cost.shape
    owner = np.full(n_columns + n_rows, -1)
    row_price = np.zeros(n_rows)
    column_price = np.zeros(n_columns + n_rows)
    for entering in range(n_rows):
        distance = np.full(n_columns + n_rows, np.inf)
        before = np.full(n_columns + n_rows, -1)
        is_settled = np.zeros(n_columns + n_rows, dtype=np.bool_)
        row, column, travelled = entering, -1, 0.0
        while row >= 0:
            for j in range(n_columns + 1):
                target = j if j < n_columns else n_columns + row
                step = cost[row, j] if j < n_columns else cost_of_none
                if not is_settled[target] and step <= cost_of_none:
                    length = travelled + step - row_price[row] - column_price[target]
                    if length < distance[target]:
                        distance[target] = length
                        before[target] = column
            column = -1
            for target in range(n_columns + n_rows):
                if not is_settled[target] and (column < 0 or distance[target] < distance[column]):
                    column = target
            travelled = distance[column]
            is_settled[column] = True
            row = owner[column]
        row_price[entering] += travelled
        for target in range(n_columns + n_rows):
            if is_settled[target] and target != column:
                row_price[owner[target]] += travelled - distance[target]
                column_price[target] -= travelled - distance[target]
        while before[column] >= 0:
            owner[column] = owner[before[column]]
            column = before[column]
        owner[column] = entering
    chosen = np.full(n_rows, -1)
    for column in range(n_columns):
        if owner[column] >= 0:
            chosen[owner[column]] = column
    return chosen


@compiled
def _squared_gap(node, other, places, period):
    total = 0.0
    for axis in range(places.shape[1]):
        total += _gap(node, other, axis, places, period) ** 2
    return total


@compiled
def _gap(node, other, axis, places, period):
    """Return the displacement along an axis, the shorter way round where it has a period."""
    gap = places[other, axis] - places[node, axis]
    if period[axis] > 0:
        gap -= period[axis] * np.rint(gap / period[axis])
    return gap
