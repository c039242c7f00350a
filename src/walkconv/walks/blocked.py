"""A block of rows at a time, dense: for graphs with many edges and more nodes than fit as Q."""

from dataclasses import replace
from functools import partial

import numpy as np
import scipy.sparse as sp

from walkconv.walks.plan import Plan
from walkconv.walks.ranking import rank_rows
from walkconv.walks.transition import sparse_transition

MOST_ROWS = 256
"""Most rows of a block. Each thread holds three such arrays, of 200 MB each at 100,000 nodes."""
DENSE_FROM = 0.1
"""Share of stored entries from which a dense product beats a sparse one (measured at n = 4,000)."""


def most_visited(graph: sp.csr_array, plan: Plan) -> tuple[np.ndarray, np.ndarray]:
    """Return the neighbours and their visits, each (n_nodes, n_neighbors).

    A block of rows is ``Q_B = I_B + P_B (I + P + ... + P^(k-1))``: the first step, then one product
    with P for every further step.
    """
    sparse_step = sparse_transition(graph)
    n_nodes = graph.shape[0]
    is_dense = sparse_step.nnz >= DENSE_FROM * n_nodes**2
    step = sparse_step.toarray() if is_dense else sparse_step
    if is_dense:  # its products have threads of their own
        plan = replace(plan, n_threads=1)
    work = partial(_walk_block, sparse_step, step, plan)
    return plan.fill(np.arange(n_nodes), work, most_rows=MOST_ROWS)


def _walk_block(
    sparse_step: sp.csr_array,
    step: sp.csr_array | np.ndarray,
    plan: Plan,
    rows: np.ndarray,
    index: np.ndarray,
    best: np.ndarray,
) -> None:
    chance = np.zeros((len(rows), step.shape[0]))
    chance[np.arange(len(rows)), rows] = 1.0
    visits = chance.copy()
    # The first step is a row of P: no product is needed.
    for k in range(plan.n_steps):
        chance = sparse_step[rows].toarray() if k == 0 else chance @ step
        visits += chance
    rank_rows(rows, visits, plan.tie_rule, index, best)
