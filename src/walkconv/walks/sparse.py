"""Row by row along the edges, never forming a power of P: for graphs with few edges."""

import numpy as np
import scipy.sparse as sp

from walkconv.walks.hubs import Hubs, find_hubs
from walkconv.walks.loops import walk_rows
from walkconv.walks.plan import Plan
from walkconv.walks.transition import sparse_transition


def most_visited(graph: sp.csr_array, plan: Plan) -> tuple[np.ndarray, np.ndarray]:
    """Return the neighbours and their visits, each (n_nodes, n_neighbors)."""
    step = sparse_transition(graph)
    return walk(step, find_hubs(step, plan.n_steps), plan)


def walk(step: sp.csr_array, hubs: Hubs, plan: Plan) -> tuple[np.ndarray, np.ndarray]:
    """Do the same given the transition matrix and the hubs, which do not change the answer."""
    matrix = (step.indptr, step.indices, step.data)
    return plan.fill(
        hubs.rows,
        lambda rows, index, best: walk_rows(
            matrix, hubs.fields, rows, plan.n_steps, plan.tie_fields, index, best
        ),
    )
