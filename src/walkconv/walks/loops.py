"""The compiled loops of this room: rows are walked and ranked here, and nowhere else.

They stand in one file because numba keeps machine code on disk by the file of the outermost loop:
a change of a loop it calls in another file would go unnoticed.

Two engines add the same probabilities in another order and differ in the 16th digit, so visits are
tied when they agree to a relative `TIE`: of the visits in descending order, each that lies within
`TIE` of the one before it belongs to the same tie. Within a tie the node itself comes first, then
the caller's rule decides, then the lowest index.
"""

import numpy as np

from walkconv._compiled import compiled

TIE = 1e-9
REACHED = float(np.finfo(np.float64).tiny)
"""Fewer expected visits than this are none: products of probabilities lose their digits there."""

BY_INDEX, BY_CHANCE, BY_DISPLACEMENT = 0, 1, 2


@compiled
def rank_rows(start, visits, kind, seed, places, index, best_visits):
    """Rank dense rows (n_rows, n_nodes), the first of which belongs to node `start`."""
    for row in range(len(visits)):
        reached = np.flatnonzero(visits[row] >= REACHED)
        rank_row(
            start + row,
            reached,
            visits[row][reached],
            kind,
            seed,
            places,
            index[row],
            best_visits[row],
        )


@compiled
def walk_rows(indptr, indices, probability, start, n_steps, kind, seed, places, index, best):
    """Walk from the nodes start, start + 1, ... and rank what each visits."""
    n_nodes = len(indptr) - 1
    visits = np.zeros(n_nodes)
    chance = np.zeros(n_nodes)
    next_chance = np.zeros(n_nodes)
    visited = np.empty(n_nodes, dtype=np.int64)
    frontier = np.empty(n_nodes, dtype=np.int64)
    next_frontier = np.empty(n_nodes, dtype=np.int64)
    # `last_walk[j] == walk`: node j is in `visited` of this walk; likewise for one step of it.
    last_walk = np.full(n_nodes, -1, dtype=np.int64)
    last_step = np.full(n_nodes, -1, dtype=np.int64)
    for row in range(len(index)):
        node = start + row
        visits[node] = 1.0
        visited[0] = node
        last_walk[node] = row
        n_visited = 1
        chance[node] = 1.0
        frontier[0] = node
        n_frontier = 1
        for k in range(n_steps):
            stamp = row * n_steps + k
            n_next = 0
            for place in range(n_frontier):
                here = frontier[place]
                chance_here = chance[here]
                chance[here] = 0.0
                for edge in range(indptr[here], indptr[here + 1]):
                    there = indices[edge]
                    if last_step[there] != stamp:
                        last_step[there] = stamp
                        next_frontier[n_next] = there
                        n_next += 1
                    next_chance[there] += chance_here * probability[edge]
            for place in range(n_next):
                there = next_frontier[place]
                if last_walk[there] != row:
                    last_walk[there] = row
                    visited[n_visited] = there
                    n_visited += 1
                visits[there] += next_chance[there]
            chance, next_chance = next_chance, chance
            frontier, next_frontier = next_frontier, frontier
            n_frontier = n_next
        for place in range(n_frontier):
            chance[frontier[place]] = 0.0
        reached = visited[:n_visited]
        rank_row(node, reached, visits[reached], kind, seed, places, index[row], best[row])
        visits[reached] = 0.0


@compiled
def rank_row(node, candidates, visits, kind, seed, places, index, best_visits):
    """Write the most visited candidates into one row.

    Parameters
    ----------
    node : int
        The node the walk starts in.
    candidates, visits : arrays of shape (n_candidates,)
        The nodes reached, in any order, and their visits.
    kind, seed, places
        The fields of `TieRule`.
    index, best_visits : arrays of shape (n_neighbors,)
        Written: nodes in order and their visits, then -1 and 0.
    """
    n_neighbors = len(index)
    index[:] = -1
    best_visits[:] = 0.0
    low, high = _last_tie(visits, n_neighbors)
    above = np.flatnonzero((visits > high) & (visits >= REACHED))
    above = above[np.argsort(-visits[above])]
    n_filled = 0
    tie_start = 0
    for place in range(len(above)):
        if place > 0 and visits[above[place]] < visits[above[place - 1]] * (1.0 - TIE):
            tie_start = n_filled
        slot = _slot(candidates[above[place]], node, kind, seed, places, index, tie_start, n_filled)
        n_filled = _insert(candidates, visits, above[place], slot, n_filled, index, best_visits)
    tie_start = n_filled
    for place in range(len(visits)):
        if low <= visits[place] <= high:
            slot = _slot(candidates[place], node, kind, seed, places, index, tie_start, n_filled)
            n_filled = _insert(candidates, visits, place, slot, n_filled, index, best_visits)


@compiled
def _last_tie(visits, n_neighbors):
    """Return the least and the most visits of the tie that the last slot belongs to.

    It may be large, as all leaves of a star are, so it is never sorted. Where every candidate has
    a slot there is no such tie, and the bounds hold nothing.
    """
    if len(visits) <= n_neighbors:
        return 0.0, -1.0
    low = np.partition(visits, len(visits) - n_neighbors)[len(visits) - n_neighbors]
    high = low
    grows = True
    while grows:
        lower, higher = low, high
        for value in visits:
            if low * (1.0 - TIE) <= value < lower:
                lower = value
            if high < value and value * (1.0 - TIE) <= high and value > higher:
                higher = value
        grows = lower < low or higher > high
        low, high = lower, higher
    return max(low, REACHED), high


@compiled
def _slot(candidate, node, kind, seed, places, index, tie_start, n_filled):
    """Return where a candidate belongs in its tie, which stands in slots tie_start to n_filled."""
    slot = n_filled
    while slot > tie_start and _comes_before(candidate, index[slot - 1], node, kind, seed, places):
        slot -= 1
    return slot


@compiled
def _insert(candidates, visits, place, slot, n_filled, index, best_visits):
    """Put a candidate into its slot, moving later ones on; return how many slots are filled."""
    if slot == len(index):
        return n_filled
    n_filled = min(n_filled + 1, len(index))
    for later in range(n_filled - 1, slot, -1):
        index[later] = index[later - 1]
        best_visits[later] = best_visits[later - 1]
    index[slot] = candidates[place]
    best_visits[slot] = visits[place]
    return n_filled


@compiled
def _comes_before(a, b, node, kind, seed, places):
    """Tell whether a stands before b in a tie of `node`."""
    if a == node or b == node:
        return a == node
    if kind == BY_CHANCE:
        return _chance(seed, node, a) < _chance(seed, node, b)
    if kind == BY_DISPLACEMENT:
        for axis in range(places.shape[1]):
            step_a = np.rint(places[a, axis] - places[node, axis])
            step_b = np.rint(places[b, axis] - places[node, axis])
            if step_a != step_b:
                return step_a < step_b
    return a < b


@compiled
def _chance(seed, node, other):
    """Return a number that looks random, the same for the same pair (splitmix64)."""
    return _mix(_mix(_mix(np.uint64(seed)) ^ np.uint64(node)) ^ np.uint64(other))


@compiled
def _mix(bits):
    bits = np.uint64(bits + np.uint64(0x9E3779B97F4A7C15))
    bits = np.uint64((bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9))
    bits = np.uint64((bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB))
    return bits ^ (bits >> np.uint64(31))


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
