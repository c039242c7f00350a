"""Neighbours by scipy alone, a block of rows at a time, and whether others are the same."""

from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp

BLOCK = 256
TIE = 1e-9


def blocks_of_visits(
    step: sp.csr_array, rows: np.ndarray, n_steps: int
) -> Iterator[tuple[np.ndarray, sp.csr_array]]:
    """Yield some of the rows, and their visits but the first: sums of products of sparse rows."""
    for start in range(0, len(rows), BLOCK):
        block = rows[start : start + BLOCK]
        power = visits = step[block]
        for _ in range(n_steps - 1):
            power = power @ step
            visits = visits + power
        yield block, visits


def select(step: sp.csr_array, rows: np.ndarray, n_steps: int, n_neighbors: int) -> np.ndarray:
    """Return the most visited nodes (n_rows, n_neighbors), ties as they come, -1 for none."""
    index = np.full((len(rows), n_neighbors), -1)
    done = 0
    for block, visits in blocks_of_visits(step, rows, n_steps):
        for place, row in enumerate(block):
            nodes, values = _row(visits, place, row)
            if len(values) > n_neighbors:
                best = np.argpartition(-values, n_neighbors - 1)[:n_neighbors]
                nodes, values = nodes[best], values[best]
            index[done + place, : len(nodes)] = nodes[np.argsort(-values)]
        done += len(block)
    return index


def is_same(step: sp.csr_array, rows: np.ndarray, n_steps: int, index: np.ndarray) -> bool:
    """Say whether `index` (n_rows, n_neighbors) is right, ties broken by self, then the index."""
    done = 0
    for block, visits in blocks_of_visits(step, rows, n_steps):
        for place, row in enumerate(block):
            nodes, values = _row(visits, place, row)
            down = np.argsort(-values)
            nodes, values = nodes[down], values[down]
            tie = np.cumsum(np.append(False, values[1:] < values[:-1] * (1 - TIE)))
            order = nodes[np.lexsort((nodes, nodes != row, tie))][: index.shape[1]]
            if not np.array_equal(index[done + place, : len(order)], order):
                return False
        done += len(block)
    return True


def _row(visits: sp.csr_array, place: int, row: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the nodes that one row visits and how often, the start counted."""
    entries = slice(visits.indptr[place], visits.indptr[place + 1])
    nodes, values = visits.indices[entries], visits.data[entries].copy()
    values[nodes == row] += 1.0
    if not (nodes == row).any():
        nodes, values = np.append(nodes, row), np.append(values, 1.0)
    return nodes, values
