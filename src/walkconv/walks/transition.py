"""The transition matrix for the engines: CSR in, CSR out."""

import numpy as np
import scipy.sparse as sp


def sparse_transition(graph: sp.csr_array) -> sp.csr_array:
    """Return ``D^-1 |S|`` (n_nodes, n_nodes) as CSR, with 1 on the diagonal of empty rows.

    Where no row is empty it has the indices of the graph in common, not copies.
    """
    step = sp.csr_array((np.abs(graph.data), graph.indices, graph.indptr), shape=graph.shape)
    degree = step.sum(axis=1)
    stays = np.asarray(degree == 0)
    step.data /= np.repeat(degree, np.diff(step.indptr))
    if stays.any():
        step = sp.csr_array(step + sp.diags_array(stays.astype(np.float64)))
    return step
