"""The transition matrix for the engines: CSR in, CSR out."""

import numpy as np
import scipy.sparse as sp


def sparse_transition(graph: sp.csr_array) -> sp.csr_array:
    """Return ``D^-1 |S|`` (n_nodes, n_nodes) as CSR, with 1 on the diagonal of empty rows."""
    weight = abs(graph)
    degree = weight.sum(axis=1)
    stays = np.asarray(degree == 0)
    probability = weight.data / np.repeat(degree, np.diff(weight.indptr))
    step = sp.csr_array((probability, weight.indices, weight.indptr), shape=weight.shape)
    if stays.any():
        step = sp.csr_array(step + sp.diags_array(stays.astype(np.float64)))
    return step
