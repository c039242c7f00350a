"""Row by row along the edges, never forming a power of P: for graphs with few edges."""

import numpy as np
import scipy.sparse as sp

from walkconv.walks.compiled import compiled
from walkconv.walks.plan import Plan
from walkconv.walks.ranking import rank_row
from walkconv.walks.transition import sparse_transition


def most_visited(graph: sp.csr_array, plan: Plan) -> tuple[np.ndarray, np.ndarray]:
    """Return the neighbours and their visits, each (n_nodes, n_neighbors)."""
    step = sparse_transition(graph)
    n_nodes = graph.shape[0]
    index, best = plan.empty_result(n_nodes)
    plan.for_each_block(
        n_nodes,
        lambda start, stop: _walk_rows(
            step.indptr,
            step.indices,
            step.data,
            start,
            plan.n_steps,
            *plan.tie_fields,
            index[start:stop],
            best[start:stop],
        ),
    )
    return index, best


@compiled
def _walk_rows(indptr, indices, probability, start, n_steps, kind, seed, places, index, best):
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
