"""The definition itself, then the ranking: all of Q at once."""

import numpy as np
import scipy.sparse as sp

from walkconv.walks.definition import expected_visits
from walkconv.walks.loops import rank_rows
from walkconv.walks.plan import Plan


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
