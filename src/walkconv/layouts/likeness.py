"""How alike the short walks from two nodes are: a similarity that any graph has.

The weights of a graph may be correlations, counts or all 1; where short walks end means the same
in each. On a regular grid the ends of a walk spread like a Gaussian, and the cosine of two such
spreads is a Gaussian of the distance between their starts: ``sqrt(-log cosine)`` is a length.
"""

import numpy as np
import scipy.sparse as sp

from walkconv.layouts.edges import padded_rows

N_STEPS = 2
MOST_ENDS = 64
"""Ends of the walk from one node that are kept: the likeliest."""
BLOCK_ROWS = 4096
ROUNDING = 1e-12
FAINT = 1e-9
"""Likeness of the ends of an edge whose walks have nothing in common that was kept."""


def walk_likeness(edges: sp.csr_array) -> sp.csr_array:
    """Return the cosines (n_nodes, n_nodes) between the ends of short walks, without diagonal.

    At each step the walk stays with the chance of its strongest edge.
    """
    ends = _unit_rows(_walk_ends(edges))
    back = sp.csr_array(ends.T)
    blocks = []
    for start in range(0, ends.shape[0], BLOCK_ROWS):
        block = sp.csr_array(ends[start : start + BLOCK_ROWS] @ back)
        blocks.append(_largest_entries(block, MOST_ENDS + 1))
    cosine = sp.coo_array(sp.vstack(blocks))
    is_kept = cosine.row != cosine.col
    entries = np.minimum(cosine.data[is_kept], 1.0 - ROUNDING)
    likeness = sp.csr_array(
        (entries, (cosine.row[is_kept], cosine.col[is_kept])), shape=edges.shape
    )
    faint = sp.csr_array((np.full(edges.nnz, FAINT), edges.indices, edges.indptr), edges.shape)
    return sp.csr_array(likeness.maximum(likeness.T).maximum(faint))


def _walk_ends(edges: sp.csr_array) -> sp.csr_array:
    strongest = edges.max(axis=1).toarray().ravel()
    stays = sp.diags_array(np.where(strongest > 0, strongest, 1.0))
    step = sp.csr_array(edges + stays)
    step = sp.csr_array(sp.diags_array(1.0 / step.sum(axis=1)) @ step)
    ends = step
    for _ in range(N_STEPS - 1):
        ends = _largest_entries(sp.csr_array(ends @ step), MOST_ENDS)
    return ends


def _unit_rows(rows: sp.csr_array) -> sp.csr_array:
    length = np.sqrt(rows.multiply(rows).sum(axis=1))
    return sp.csr_array(sp.diags_array(1.0 / length) @ rows)


def _largest_entries(rows: sp.csr_array, n_kept: int) -> sp.csr_array:
    """Keep the `n_kept` largest entries of each row that has more."""
    if np.diff(rows.indptr).max(initial=0) <= n_kept:
        return rows
    blocks = []
    for start, entries in padded_rows(rows, n_kept + 1):
        place = np.argpartition(-entries, n_kept, axis=1)[:, :n_kept]
        place += rows.indptr[start : start + len(entries), None]
        blocks.append(place[place < rows.indptr[start + 1 : start + len(entries) + 1, None]])
    kept = np.sort(np.concatenate(blocks))
    row = np.searchsorted(rows.indptr, kept, side="right") - 1
    return sp.csr_array((rows.data[kept], (row, rows.indices[kept])), shape=rows.shape)
