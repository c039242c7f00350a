"""Sparse positive definite systems: one factorisation for few nodes, else conjugate gradients."""

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp
from scipy.linalg import cho_factor, cho_solve

DENSE = 1024
"""Nodes up to which the matrix is factorised."""
MOST_ROUNDS = 200
NEAR = 1e-3
"""Rounds end when the residual falls to this share of the right side."""


def solver(system: sp.csr_array) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """Return a function: right sides (n_nodes, n_sides) and a start -> solutions.

    Parameters
    ----------
    system : csr_array of shape (n_nodes, n_nodes)
        Symmetric and positive definite.
    """
    if system.shape[0] <= DENSE:
        factor = cho_factor(system.toarray(), overwrite_a=True, check_finite=False)
        return lambda right, start: cho_solve(factor, right, check_finite=False)
    return lambda right, start: _conjugate_gradients(system, right, start)


def _conjugate_gradients(
    system: sp.csr_array, right: np.ndarray, solution: np.ndarray
) -> np.ndarray:
    """Return the solutions (n_nodes, n_sides), preconditioned by the diagonal."""
    diagonal = system.diagonal()[:, None]
    solution = solution.copy()
    residual = right - system @ solution
    goal = NEAR**2 * (right**2).sum(axis=0)
    ahead = residual / diagonal
    direction = ahead.copy()
    slope = (residual * ahead).sum(axis=0)
    for _ in range(MOST_ROUNDS):
        if ((residual**2).sum(axis=0) <= goal).all():
            break
        image = system @ direction
        bend = (direction * image).sum(axis=0)
        step = np.divide(slope, bend, out=np.zeros_like(slope), where=bend > 0)
        solution += step * direction
        residual -= step * image
        ahead = residual / diagonal
        before, slope = slope, (residual * ahead).sum(axis=0)
        turn = np.divide(slope, before, out=np.zeros_like(slope), where=before > 0)
        direction = ahead + turn * direction
    return solution
