"""Row by row along the edges, never forming a power of P: for graphs with few edges."""

import numpy as np
import scipy.sparse as sp

from walkconv.walks.loops import walk_rows
from walkconv.walks.plan import Plan
from walkconv.walks.transition import sparse_transition


def most_visited(graph: sp.csr_array, plan: Plan) -> tuple[np.ndarray, np.ndarray]:
    """Return the neighbours and their visits, each (n_nodes, n_neighbors)."""
    step = sparse_transition(graph)
    n_nodes = graph.shape[0]
    index, best = plan.empty_result(n_nodes)
    plan.for_each_block(
        n_nodes,
        lambda start, stop: walk_rows(
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
