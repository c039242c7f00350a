"""The transition matrix for the engines: CSR in, CSR out."""

import numpy as np
import scipy.sparse as sp

from walkconv._compiled import compiled


def sparse_transition(graph: sp.csr_array) -> sp.csr_array:
    """Return ``D^-1 |S|`` (n_nodes, n_nodes) as CSR, with 1 on the diagonal of empty rows.

    Where no row is empty it has the indices of the graph in common, not copies.
    """
    is_empty = np.diff(graph.indptr) == 0
    indptr, indices = graph.indptr, graph.indices
    if is_empty.any():
        indptr = indptr.astype(np.int64)
        indptr[1:] += np.cumsum(is_empty)
        places = sp.get_index_dtype(maxval=max(int(indptr[-1]), len(is_empty)))
        indptr = indptr.astype(places)
        indices = np.empty(indptr[-1], dtype=places)
        _fill_indices(graph.indptr, graph.indices, indptr, indices)
    probability = np.empty(indptr[-1])
    _fill_probability(graph.indptr, graph.data, indptr, probability)
    return sp.csr_array((probability, indices, indptr), shape=graph.shape)


@compiled
def _fill_indices(old_indptr, old_indices, indptr, indices):
    """Copy the indices row by row; an empty row gets its own."""
    for row in range(len(indptr) - 1):
        first, n_edges = old_indptr[row], old_indptr[row + 1] - old_indptr[row]
        indices[indptr[row]] = row
        for edge in range(n_edges):
            indices[indptr[row] + edge] = old_indices[first + edge]


@compiled
def _fill_probability(old_indptr, weight, indptr, probability):
    """Divide the weights of every row by their sum; an empty row gets 1."""
    for row in range(len(indptr) - 1):
        total = 0.0
        for edge in range(old_indptr[row], old_indptr[row + 1]):
            total += abs(weight[edge])
        probability[indptr[row]] = 1.0
        for edge in range(old_indptr[row + 1] - old_indptr[row]):
            probability[indptr[row] + edge] = abs(weight[old_indptr[row] + edge]) / total
