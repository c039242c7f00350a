"""The compiled loops of this room: rows are walked and ranked here, and nowhere else.

They stand in one file because numba keeps machine code on disk by the file of the outermost loop:
a change of a loop it calls in another file would go unnoticed.

Two engines add the same probabilities in another order and differ in the 16th digit, so visits are
tied when they agree to a relative `TIE`: of the visits in descending order, each that lies within
`TIE` of the one before it belongs to the same tie. Within a tie the node itself comes first, then
the caller's rule decides, then the lowest index.
"""

import numpy as np

from walkconv._compiled import borrowed, compiled, inlined, prefetch

TIE = 1e-9
REACHED = float(np.finfo(np.float64).tiny)
"""Fewer expected visits than this are none: products of probabilities lose their digits there."""

LISTED = 5
"""So many nodes for each slot are listed of the visits that rows share."""
SLACK = 1e-8
"""Candidates are a little below the last slot too: more than ties that chain, as a rule, reach."""

TABLE_BITS = 10
MOST_IN_TABLE = 2 ** (TABLE_BITS - 1)
"""A table of a walk that meets few nodes has 1024 slots, half of them filled at most."""
MOST_EDGES = 48
"""A walk that comes to a node with more edges is not taken for one that meets few. Busy nodes have
more, so that whoever counts, amounts are added in the same order and visits are the same bits."""

unsigned = np.uint64
"""Of a place that may be negative, numba asks every time whether it counts from the end."""

BY_INDEX, BY_CHANCE, BY_DISPLACEMENT = 0, 1, 2


@compiled
def rank_rows(rows, visits, rule, index, best):
    """Rank the visits (n_rows, n_nodes) of some nodes; index and best are (n_rows, n_neighbors)."""
    rows, visits, rule, index, best = borrowed((rows, visits, rule, index, best))
    for place in range(len(rows)):
        reached = np.flatnonzero(visits[place] >= REACHED)
        rank_row(rows[place], reached, visits[place][reached], rule, index[place], best[place])


@compiled
def walk_rows(step, hubs, tallies, tables, tries_tables, rows, n_steps, rule, index, best):
    """Walk from some nodes and rank what each visits.

    The visits of a walk are those that follow from its first steps to hubs, which rows of a group
    share up to a factor, and its own, that follow from the other first steps. In the last step of
    its own it does not leave busy nodes at once: no node gains more from it than a bound, and what
    it does gain is looked up for those that might be among the best. Where the bound is too weak
    to tell which they are, the step is done after all.

    Parameters
    ----------
    step : tuple
        The fields of `Steps`.
    hubs : tuple
        The fields of `Hubs`.
    tallies : tuple
        Four tallies, empty before and after: amounts (n_nodes,) of 0, and place (n_nodes + 1,) for
        a list of the nodes whose amount is not 0. The last may be of no nodes if no row shares.
    tables : tuple
        What `empty_tables` returns.
    tries_tables : bool
        Whether rows that share no hubs are walked in a table first, in case they meet few nodes.
    rows : array of shape (n_rows,)
        Where to start from; rows with the same hubs should follow each other.
    n_steps : int
        Length of the walk.
    rule : tuple
        The fields of `TieRule`.
    index, best : arrays of shape (n_rows, n_neighbors)
        Written.
    """
    step, rows, rule, index, best = borrowed((step, rows, rule, index, best))
    is_hub, group, is_busy, most_likely, from_busy = borrowed(hubs)
    here, there, own, shared = borrowed(tallies)
    tables, few = borrowed(tables)
    n_shared = 0
    met, share = shared[1][:0], shared[0][:0]  # the hubs that `shared` follows from
    listed, unlisted = met, 0.0
    room = (shared[1][:0], shared[0][:0])  # grows as needed, seldom: new memory is slow
    for place in range(len(rows)):
        row = rows[place]
        _fetch_ahead(rows, place, step)
        if tries_tables and group[row] == 0:
            n_few = _walk_in_table(row, step, n_steps, tables, few)
            if n_few > 0:
                rank_row(row, few[0][:n_few], few[1][:n_few], rule, index[place], best[place])
                continue
        scale = 0.0
        common = (0.0, shared[0], shared[1][:0], 0.0)
        if group[row] > 0:
            new_met, new_share, scale = _hubs_of(row, step, is_hub)
            if not (np.array_equal(new_met, met) and np.array_equal(new_share, share)):
                met, share = new_met, new_share
                _clear(shared, n_shared)
                n_shared = _walk_from(met, share, step, n_steps - 1, is_busy, here, there, shared)
                listed, unlisted = _most(shared, n_shared, LISTED * index.shape[1])
            common = (scale, shared[0], listed, unlisted)
        n_own = _put(row, 1.0, own, 0)
        n_here = _first_step(row, step, is_hub, group[row] > 0, here) if n_steps > 0 else 0
        n_own = _add(here, n_here, own, n_own)
        n_own, at, n_left, n_all = _walk(
            step, n_steps - 1, is_busy, here, there, n_here, own, n_own
        )
        waiting = at[1][n_left:n_all]
        bound = 0.0
        for busy in waiting:
            bound += at[0][busy] * most_likely[busy]
        slack = SLACK
        out = (index[place], best[place])
        while True:
            n_known = n_own + len(common[2])
            if len(room[0]) < n_known:
                room = (np.empty(2 * n_known, dtype=shared[1].dtype), np.empty(2 * n_known))
            pending = (bound, at[0], from_busy)
            if _rank_best(row, own, n_own, common, pending, slack, rule, room, out):
                break
            if bound > 0:
                bound = 0.0
                n_own = _move(step, at[0], waiting, own, n_own)
            else:  # ties chain too far down: look at every node that is reached
                common = (scale, shared[0], shared[1][:n_shared], 0.0)
                slack = 1.0
        _clear(at, n_all)
        _clear(own, n_own)
    _clear(shared, n_shared)


@inlined
def _walk_in_table(row, step, n_steps, tables, few):
    """Walk from a node, with amounts in tables that stay in the cache.

    Returns how many nodes are visited, which are written to `few` with their visits; or 0, if they
    may be too many to be held.
    """
    front, own = tables
    nodes, chance = few
    nodes[0], chance[0] = row, 1.0
    n_here, fits = 1, True
    n_own = _enter(nodes, chance, n_here, own, 0)
    for _ in range(n_steps - 1):
        n_front, fits = _move_in_table(step, nodes, chance, n_here, front, 0)
        n_here = _take_out(front, n_front, nodes, chance)
        fits = fits and n_own + n_here <= MOST_IN_TABLE
        if not fits:
            break
        n_own = _enter(nodes, chance, n_here, own, n_own)
    if fits and n_steps > 0:
        n_own, fits = _move_in_table(step, nodes, chance, n_here, own, n_own)
    n_visited = _take_out(own, n_own, nodes, chance)
    return n_visited if fits else 0


def empty_tables(dtype):
    """Return two tables, and room for the nodes of one and their visits.

    A table is room for nodes, amounts of 0, and room for a list of the slots that are filled.
    """
    n_slots = 2 * MOST_IN_TABLE
    tables = tuple(
        (np.empty(n_slots, dtype), np.zeros(n_slots), np.empty(MOST_IN_TABLE + 1, np.uint16))
        for _ in range(2)
    )
    return tables, (np.empty(MOST_IN_TABLE, dtype), np.empty(MOST_IN_TABLE))


@inlined
def _slot_of(node, held, amounts):
    """Return where in a table a node is, or may be put."""
    slot = unsigned(node) * unsigned(0x9E3779B97F4A7C15) >> unsigned(64 - TABLE_BITS)
    while amounts[slot] > 0 and held[slot] != node:
        slot = slot + unsigned(1) & unsigned(2 * MOST_IN_TABLE - 1)
    return slot


@inlined
def _enter(nodes, chance, n_nodes, table, n_table):
    """Add the chances of some nodes to a table; return how many nodes it has then."""
    held, amounts, slots = table
    for place in range(n_nodes):
        slot = _slot_of(nodes[place], held, amounts)
        held[slot] = nodes[place]
        slots[n_table] = slot
        n_table += amounts[slot] == 0
        amounts[slot] += chance[place]
    return n_table


@inlined
def _move_in_table(step, nodes, chance, n_nodes, table, n_table):
    """Do a step from some nodes, unless it may lead to too many.

    Returns how many nodes the table has, and whether the step was done.
    """
    indptr, indices, probability = step
    held, amounts, slots = table
    n_most = n_table
    for place in range(n_nodes):
        n_edges = indptr[nodes[place] + 1] - indptr[nodes[place]]
        n_most += n_edges
        if n_edges > MOST_EDGES or n_most > MOST_IN_TABLE:
            return n_table, False
    for place in range(n_nodes):
        node = unsigned(nodes[place])
        evenly = _evenly(step, node)
        for edge in range(unsigned(indptr[node]), unsigned(indptr[node + unsigned(1)])):
            amount = chance[place] * (evenly if evenly > 0 else probability[edge])
            if amount > 0:
                there = indices[edge]
                slot = _slot_of(there, held, amounts)
                held[slot] = there
                slots[unsigned(n_table)] = slot
                n_table += amounts[slot] == 0
                amounts[slot] += amount
    return n_table, True


@inlined
def _evenly(step, node):
    """Return how likely each step from a node is, where all are equally likely; else 0."""
    indptr, _, probability = step
    return 1.0 / (indptr[node + unsigned(1)] - indptr[node]) if len(probability) == 0 else 0.0


@inlined
def _take_out(table, n_table, nodes, chance):
    """Empty a table; return how many nodes it had, which are written with what they had."""
    held, amounts, slots = table
    for place in range(n_table):
        slot = slots[place]
        nodes[place], chance[place] = held[slot], amounts[slot]
        amounts[slot] = 0.0
    return n_table


@inlined
def _fetch_ahead(rows, place, step):
    """Ask for what the next walks read first, so that they need not wait for memory one by one."""
    indptr, indices, probability = step
    if place + 2 < len(rows):
        row = rows[place + 2]
        for edge in range(unsigned(indptr[row]), unsigned(indptr[row + 1])):
            prefetch(indptr, indices[edge])
    if place + 1 < len(rows):
        row = rows[place + 1]
        for edge in range(unsigned(indptr[row]), unsigned(indptr[row + 1])):
            node = unsigned(indices[edge])
            first, last = indptr[node], indptr[node + unsigned(1)] - 1
            prefetch(indices, first)
            prefetch(indices, last)
            if len(probability) > 0:
                prefetch(probability, first)
                prefetch(probability, last)


@compiled
def _hubs_of(row, step, is_hub):
    """Return the hubs that a node has edges to, their shares of the largest chance, and that."""
    indptr, indices, probability = step
    edges = slice(indptr[row], indptr[row + 1])
    met = indices[edges][is_hub[indices[edges]]]
    evenly = _evenly(step, unsigned(row))
    if evenly > 0:
        return met, np.ones(len(met)), evenly
    chance = probability[edges][is_hub[indices[edges]]]
    scale = chance.max()
    return met, chance / scale, scale


@compiled
def _walk_from(nodes, chance, step, n_steps, is_busy, here, there, visits):
    """Walk from some nodes with the given chances; return how many nodes are visited."""
    n_here = 0
    for place in range(len(nodes)):
        n_here = _put(nodes[place], chance[place], here, n_here)
    n_visited = _add(here, n_here, visits, 0)
    n_visited, at, n_left, n_all = _walk(
        step, n_steps, is_busy, here, there, n_here, visits, n_visited
    )
    n_visited = _move(step, at[0], at[1][n_left:n_all], visits, n_visited)
    _clear(at, n_all)
    return n_visited


@inlined
def _first_step(row, step, is_hub, is_sharing, here):
    """Step to the nodes whose visits are not shared; return how many they are."""
    indptr, indices, probability = step
    chance, nodes = here
    n_here = 0
    evenly = _evenly(step, unsigned(row))
    for edge in range(indptr[row], indptr[row + 1]):
        node = indices[edge]
        likely = evenly if evenly > 0 else probability[edge]
        if likely > 0 and not (is_sharing and is_hub[node]):
            chance[node] = likely
            nodes[n_here] = node
            n_here += 1
    return n_here


@inlined
def _walk(step, n_steps, is_busy, here, there, n_here, visits, n_visited):
    """Walk on, but do not leave busy nodes in the last step.

    Returns the number of visited nodes; `here` or `there`, whichever has the chances before the
    last step; from which of its nodes on the walk has stayed, and how many nodes it has.
    """
    for _ in range(n_steps - 1):
        n_here = _move(step, here[0], here[1][:n_here], there, 0)
        here, there = there, here
        n_visited = _add(here, n_here, visits, n_visited)
    n_left = n_here
    if n_steps > 0:
        nodes = here[1]
        place = 0
        while place < n_left:
            if is_busy[nodes[place]]:
                n_left -= 1
                nodes[place], nodes[n_left] = nodes[n_left], nodes[place]
            else:
                place += 1
        n_visited = _move(step, here[0], nodes[:n_left], visits, n_visited)
    return n_visited, here, n_left, n_here


@inlined
def _move(step, chance, nodes, tally, n_tally):
    """Do a step from some nodes, whose chances become 0; return how many nodes have a tally."""
    indptr, indices, probability = step
    amounts, tallied = tally
    for node in nodes:
        chance_here = chance[node]
        chance[node] = 0.0
        evenly = _evenly(step, unsigned(node))
        for edge in range(unsigned(indptr[node]), unsigned(indptr[node + 1])):
            amount = chance_here * (evenly if evenly > 0 else probability[edge])
            there = unsigned(indices[edge])
            before = amounts[there]
            tallied[unsigned(n_tally)] = there  # stays if it is new: a jump would be guessed wrong
            n_tally += (before == 0) & (amount > 0)
            amounts[there] = before + amount
    return n_tally


@inlined
def _clear(tally, n_tally):
    amounts, nodes = tally
    for place in range(n_tally):
        amounts[unsigned(nodes[place])] = 0.0


@inlined
def _put(node, amount, tally, n_tally):
    """Set the amount of a node that has none; return how many nodes have one."""
    if amount > 0:
        tally[0][node] = amount
        tally[1][n_tally] = node
        n_tally += 1
    return n_tally


@inlined
def _add(more, n_more, tally, n_tally):
    """Add a tally to another; return how many nodes this has then."""
    amounts, nodes = tally
    more_amounts, more_nodes = more
    for place in range(n_more):
        node = unsigned(more_nodes[place])
        before = amounts[node]
        nodes[unsigned(n_tally)] = node
        n_tally += before == 0
        amounts[node] = before + more_amounts[node]
    return n_tally


@compiled
def _most(tally, n_tally, n_wanted):
    """Return the nodes with the most in descending order, and what the others have less of."""
    amounts, nodes = tally[0], tally[1][:n_tally]
    enough = 0.0
    if n_tally > n_wanted:
        held, top = np.empty(n_wanted, dtype=nodes.dtype), np.zeros(n_wanted)
        for node in nodes:
            if amounts[node] > top[0]:
                _sink(node, amounts[node], n_wanted, held, top)
        enough = top[0] * (1.0 - SLACK)
    n_most = 0
    for node in nodes:
        n_most += amounts[node] >= enough
    most = np.empty(n_most, dtype=nodes.dtype)
    n_most = 0
    for node in nodes:
        if amounts[node] >= enough:
            most[n_most] = node
            n_most += 1
    return most[np.argsort(-amounts[most])], enough


@inlined
def _rank_best(row, own, n_own, common, pending, slack, rule, room, out):
    """Rank the best of one row; return whether no other node can be among them.

    Parameters
    ----------
    row : int
        The node the walk starts in.
    own, n_own : tuple, int
        The tally of its own visits, and how many nodes have some.
    common : tuple
        A factor, the visits (n_nodes,) to be multiplied by it, the nodes with the most of them in
        descending order, and a bound of the others'. If `slack` is 1 all nodes, in any order.
    pending : tuple
        What no node can gain more of from the busy nodes not left yet, the chances (n_nodes,) to
        be there, and the steps from them by column.
    slack : float
        Candidates are this much, relatively, below what is known of the last slot.
    rule, room, out : tuple
        The fields of `TieRule`; room for candidates and their visits, as many as nodes are known;
        index and visits (n_neighbors,), to be written.
    """
    visits, visited = own[0], own[1][:n_own]
    candidates, value = room
    scale, shared, listed, unlisted = common
    bound, waiting, from_busy = pending
    index, best = out
    n_neighbors = len(index)
    index[:] = -1
    best[:] = 0.0
    for place in range(n_own):
        node = unsigned(visited[place])
        value[place] = visits[node] + (scale * shared[node] if scale > 0 else 0.0)
        if value[place] > best[0] and value[place] >= REACHED:
            _sink(node, value[place], n_neighbors, index, best)
    n_new = 0
    for node in listed:
        if n_new == n_neighbors or scale * shared[node] <= best[0]:
            break
        if visits[node] == 0 and scale * shared[node] >= REACHED:
            _sink(node, scale * shared[node], n_neighbors, index, best)
            n_new += 1
    enough = best[0] * (1.0 - slack)
    elsewhere = scale * unlisted + bound
    if elsewhere > 0 and elsewhere >= enough:
        return False
    n_found = 0
    for place in range(n_own):
        if value[place] + bound >= enough:
            candidates[n_found] = visited[place]
            value[n_found] = value[place]
            n_found += 1
    for node in listed:
        if scale * shared[node] + bound < enough:
            break
        if visits[node] == 0:
            candidates[n_found] = node
            value[n_found] = scale * shared[node]
            n_found += 1
    if bound > 0:
        indptr, indices, probability = from_busy
        for place in range(n_found):
            node = candidates[place]
            for edge in range(indptr[node], indptr[node + 1]):
                value[place] += waiting[indices[edge]] * probability[edge]
    if bound > 0 or slack == 1.0:  # else the best are held already
        _hold_best(candidates[:n_found], value[:n_found], index, best)
    low = _order_best(row, candidates[:n_found], value[:n_found], rule, index, best)
    return n_found <= n_neighbors or enough == 0 or low * (1.0 - TIE) > enough


@inlined
def _sink(node, value, n_held, nodes, values):
    """Put a node in the place of the first of a heap, whose least value stands first."""
    place = 0
    child = 1
    while child < n_held:
        if child + 1 < n_held and values[child + 1] < values[child]:
            child += 1
        if values[child] >= value:
            break
        nodes[place], values[place] = nodes[child], values[child]
        place, child = child, 2 * child + 1
    nodes[place], values[place] = node, value


@inlined
def rank_row(node, candidates, visits, rule, index, best_visits):
    """Write the most visited candidates into one row; return the least visits of the last tie.

    Parameters
    ----------
    node : int
        The node the walk starts in.
    candidates, visits : arrays of shape (n_candidates,)
        The nodes reached, in any order, and their visits.
    rule : tuple
        The fields of `TieRule`.
    index, best_visits : arrays of shape (n_neighbors,)
        Written: nodes in order and their visits, then -1 and 0.
    """
    _hold_best(candidates, visits, index, best_visits)
    return _order_best(node, candidates, visits, rule, index, best_visits)


@inlined
def _hold_best(candidates, visits, index, best_visits):
    """Write the most visited candidates as a heap, ties as they come; -1 and 0 for none."""
    index[:] = -1
    best_visits[:] = 0.0
    for place in range(len(visits)):
        if visits[place] > best_visits[0] and visits[place] >= REACHED:
            _sink(candidates[place], visits[place], len(index), index, best_visits)


@inlined
def _order_best(node, candidates, visits, rule, index, best_visits):
    """Sort the heap of the best and break its ties, the last one with all candidates."""
    n_neighbors = len(index)
    low, high = _last_tie(visits, best_visits[0])
    _sort(index, best_visits)
    n_filled = 0
    while n_filled < n_neighbors and best_visits[n_filled] > high:
        n_filled += 1
    index[n_filled:] = -1
    best_visits[n_filled:] = 0.0
    _order_ties(node, rule, n_filled, index, best_visits)
    tie_start = n_filled
    for place in range(len(visits)):
        if low <= visits[place] <= high:  # many, as a rule to no slot: a call for each would show
            candidate = candidates[place]
            slot = n_filled
            while slot > tie_start and _comes_before(candidate, index[slot - 1], node, rule):
                slot -= 1
            if slot < n_neighbors:
                n_filled = min(n_filled + 1, n_neighbors)
                _insert(candidate, visits[place], slot, n_filled, index, best_visits)
    return low


@inlined
def _last_tie(visits, last):
    """Return the least and the most visits of the tie that the last slot, with `last`, belongs to.

    It may be large, as all leaves of a star are, so it is never sorted. Where slots stay empty
    there is no such tie, and the bounds hold nothing.
    """
    low = high = last
    grows = last > 0
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


@inlined
def _sort(nodes, values):
    """Sort a heap: the largest value comes first."""
    for last in range(len(values) - 1, 0, -1):
        node, value = nodes[last], values[last]
        nodes[last], values[last] = nodes[0], values[0]
        _sink(node, value, last, nodes, values)


@inlined
def _order_ties(node, rule, n_filled, index, best_visits):
    """Bring the ties of nodes in descending order of visits into the order of the rule."""
    tie_start = 0
    before = 0.0
    for place in range(n_filled):
        candidate, value = index[place], best_visits[place]
        is_apart = value < before * (1.0 - TIE)
        before = value
        if is_apart:
            tie_start = place
            continue
        slot = place
        while slot > tie_start and _comes_before(candidate, index[slot - 1], node, rule):
            slot -= 1
        _insert(candidate, value, slot, place + 1, index, best_visits)


@inlined
def _insert(candidate, value, slot, n_filled, index, best_visits):
    """Put a candidate into its slot, moving later ones on; `n_filled` slots are filled then."""
    for later in range(n_filled - 1, slot, -1):
        index[unsigned(later)] = index[unsigned(later - 1)]
        best_visits[unsigned(later)] = best_visits[unsigned(later - 1)]
    index[slot] = candidate
    best_visits[slot] = value


@inlined
def _comes_before(a, b, node, rule):
    """Tell whether a stands before b in a tie of `node`."""
    if a == node or b == node:
        return a == node
    if rule[0] == BY_CHANCE:
        return _chance(rule[1], node, a) < _chance(rule[1], node, b)
    if rule[0] == BY_DISPLACEMENT:
        places = rule[2]
        for axis in range(places.shape[1]):
            step_a = np.rint(places[a, axis] - places[node, axis])
            step_b = np.rint(places[b, axis] - places[node, axis])
            if step_a != step_b:
                return step_a < step_b
    return a < b


@inlined
def _chance(seed, node, other):
    """Return a number that looks random, the same for the same pair (splitmix64)."""
    return _mix(_mix(_mix(np.uint64(seed)) ^ np.uint64(node)) ^ np.uint64(other))


@inlined
def _mix(bits):
    bits = np.uint64(bits + np.uint64(0x9E3779B97F4A7C15))
    bits = np.uint64((bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9))
    bits = np.uint64((bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB))
    return bits ^ (bits >> np.uint64(31))
