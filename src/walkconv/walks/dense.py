"""The definition itself, then the ranking: all of Q at once."""

from functools import partial

import numpy as np
import scipy.sparse as sp

from walkconv.walks.definition import visits_checked
from walkconv.walks.plan import Plan
from walkconv.walks.ranking import rank_rows


def most_visited(graph: sp.csr_array, plan: Plan) -> tuple[np.ndarray, np.ndarray]:
    """Return the neighbours and their visits, each (n_nodes, n_neighbors)."""
    visits = visits_checked(graph, n_steps=plan.n_steps)
    return plan.fill(np.arange(len(visits)), partial(_rank_block, visits, plan))


def _rank_block(
    visits: np.ndarray, plan: Plan, rows: np.ndarray, index: np.ndarray, best: np.ndarray
) -> None:
    rank_rows(rows, visits[rows], plan.tie_rule, index, best)
