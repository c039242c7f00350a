"""The definition itself, then the ranking: all of Q at once."""

import numpy as np
import scipy.sparse as sp

from walkconv.walks.compiled import compiled
from walkconv.walks.definition import expected_visits
from walkconv.walks.plan import Plan
from walkconv.walks.ranking import REACHED, rank_row


def most_visited(graph: sp.csr_array, plan: Plan) -> tuple[np.ndarray, np.ndarray]:
    """Return the neighbours and their visits, each (n_nodes, n_neighbors)."""
    visits = expected_visits(graph, n_steps=plan.n_steps)
    index, best = plan.empty_result(len(visits))
    plan.for_each_block(
        len(visits),
        lambda start, stop: rank_rows(
            start, visits[start:stop], *plan.tie_fields, index[start:stop], best[start:stop]
        ),
    )
    return index, best


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
