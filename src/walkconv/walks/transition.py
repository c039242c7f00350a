"""The transition matrix for the engines: CSR in, CSR out."""

import numpy as np
import scipy.sparse as sp


def sparse_transition(graph: sp.csr_array) -> sp.csr_array:
    """Return ``D^-1 |S|`` (n_nodes, n_nodes) as CSR, with 1 on the diagonal of empty rows.

    Where no row is empty it has the indices of the graph in common, not copies.
    """
    step = sp.csr_array((np.abs(graph.data), graph.indices, graph.indptr), shape=graph.shape)
    n_edges = np.diff(step.indptr)
    step.data /= np.repeat(step @ np.ones(len(n_edges)), n_edges)
    stays = np.flatnonzero(n_edges == 0)
    if len(stays) == 0:
        return step
    indices, data = (
        np.insert(values, step.indptr[stays], new)
        for values, new in ((step.indices, stays), (step.data, 1.0))
    )
    indptr = step.indptr + np.searchsorted(stays, np.arange(len(step.indptr)))
    return sp.csr_array((data, indices, indptr.astype(step.indptr.dtype)), shape=step.shape)
