"""Which edges of a graph say that two nodes are near: strong ones, seen as such from both ends."""

from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree

TIE = 1e-9
"""Weights are tied when they agree to this relative amount."""
BLOCK = 2**22
"""Entries of the padded rows that are sorted at once."""


def similarity(graph: sp.csr_array) -> sp.csr_array:
    """Return the positive weights between different nodes, the stronger of both directions."""
    positive = sp.coo_array(graph)
    is_kept = (positive.data > 0) & (positive.row != positive.col)
    ends = positive.row[is_kept], positive.col[is_kept]
    weight = sp.csr_array((positive.data[is_kept], ends), shape=graph.shape)
    return sp.csr_array(weight.maximum(weight.T))


def strongest_weights(weight: sp.csr_array, n_kept: int) -> np.ndarray:
    """Return the largest weights of each node (n_nodes, n_kept), descending, then zeros."""
    best = np.zeros((weight.shape[0], n_kept))
    for start, rows in padded_rows(weight, n_kept):
        largest = -np.partition(-rows, n_kept - 1, axis=1)[:, :n_kept]
        best[start : start + len(rows)] = -np.sort(-largest, axis=1)
    return best


def padded_rows(matrix: sp.csr_array, least_width: int) -> Iterator[tuple[int, np.ndarray]]:
    """Yield blocks of rows: the first row, and the stored entries (n_rows, width), then zeros."""
    n_rows = matrix.shape[0]
    lengths = np.diff(matrix.indptr)
    width = max(least_width, int(lengths.max(initial=0)))
    rows_at_once = max(1, BLOCK // width)
    for start in range(0, n_rows, rows_at_once):
        stop = min(n_rows, start + rows_at_once)
        rows = np.zeros((stop - start, width))
        is_stored = np.arange(width) < lengths[start:stop, None]
        rows[is_stored] = matrix.data[matrix.indptr[start] : matrix.indptr[stop]]
        yield start, rows


def mutual_edges(weight: sp.csr_array, best: np.ndarray, n_edges: int) -> sp.csr_array:
    """Keep the edges that are among the `n_edges` strongest of both ends; ties stay together.

    Parameters
    ----------
    weight : csr_array of shape (n_nodes, n_nodes)
        Symmetric and positive.
    best : ndarray of shape (n_nodes, at least n_edges)
        From `strongest_weights`.
    n_edges : int
        Edges of a node, more where the last is tied with the next.
    """
    least = best[:, n_edges - 1] * (1.0 - TIE)
    source = np.repeat(np.arange(len(best)), np.diff(weight.indptr))
    is_kept = weight.data >= np.maximum(least[source], least[weight.indices])
    ends = source[is_kept], weight.indices[is_kept]
    return sp.csr_array((weight.data[is_kept], ends), shape=weight.shape)


def joined(edges: sp.csr_array, weight: sp.csr_array) -> sp.csr_array:
    """Join the components of `edges` by the strongest of the other edges, as few as will do."""
    n_parts, part = connected_components(edges, directed=False)
    if n_parts == 1:
        return edges
    links = sp.coo_array(sp.triu(weight, k=1))
    is_bridge = part[links.row] != part[links.col]
    source, target, strength = (a[is_bridge] for a in (links.row, links.col, links.data))
    order = np.lexsort((target, source, -strength))
    # A spanning tree that takes edges first, then bridges by their rank: it needs no others.
    inside = sp.coo_array(sp.triu(edges, k=1))
    cost = np.concatenate([np.ones(inside.nnz), 2.0 + np.arange(len(order))])
    # scipy 1.15 takes a spanning tree of 32-bit indices only.
    rows = np.concatenate([inside.row, source[order]], dtype=np.int32)
    columns = np.concatenate([inside.col, target[order]], dtype=np.int32)
    tree = minimum_spanning_tree(sp.csr_array((cost, (rows, columns)), shape=weight.shape))
    kept = order[tree.data[tree.data >= 2].astype(np.int64) - 2]
    ends = (source[kept], target[kept])
    bridges = sp.csr_array((strength[kept], ends), shape=weight.shape)
    return sp.csr_array(edges + bridges + bridges.T)
