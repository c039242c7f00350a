"""The transition matrix for the engines: CSR in, CSR out, or what the compiled loops read."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from walkconv._compiled import compiled


@dataclass(frozen=True, eq=False)
class Steps:
    """Where one step leads from each node: ``D^-1 |S|``, an empty row leading to its own node.

    Attributes
    ----------
    indptr : ndarray of shape (n_nodes + 1,)
    indices : ndarray of shape (n_edges,)
        Of the same type as `indptr`. Where no row is empty both are those of the graph, not copies.
    probability : ndarray of shape (n_edges,) or (0,)
        None are kept where all edges have the same weight: then all steps from a node are equally
        likely, and reading how likely would take longer than to divide.
    """

    indptr: np.ndarray
    indices: np.ndarray
    probability: np.ndarray

    @property
    def n_nodes(self) -> int:
        """How many nodes there are."""
        return len(self.indptr) - 1

    @property
    def is_even(self) -> bool:
        """Whether all steps from a node are equally likely."""
        return len(self.probability) == 0

    @property
    def fields(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """What compiled code reads."""
        return self.indptr, self.indices, self.probability

    @property
    def matrix(self) -> sp.csr_array:
        """The transition matrix (n_nodes, n_nodes)."""
        probability = _even(np.diff(self.indptr)) if self.is_even else self.probability
        shape = (self.n_nodes, self.n_nodes)
        return sp.csr_array((probability, self.indices, self.indptr), shape=shape)

    def of(self, nodes: np.ndarray) -> sp.csr_array:
        """Return the rows (len(nodes), n_nodes) of the matrix that belong to some nodes."""
        n_edges = np.diff(self.indptr)[nodes]
        indptr = np.concatenate([[0], np.cumsum(n_edges)]).astype(self.indptr.dtype)
        edges = np.arange(indptr[-1]) + np.repeat(self.indptr[nodes] - indptr[:-1], n_edges)
        probability = _even(n_edges) if self.is_even else self.probability[edges]
        shape = (len(nodes), self.n_nodes)
        return sp.csr_array((probability, self.indices[edges], indptr), shape=shape)


def sparse_transition(graph: sp.csr_array) -> sp.csr_array:
    """Return ``D^-1 |S|`` (n_nodes, n_nodes) as CSR, with 1 on the diagonal of empty rows.

    Where no row is empty it has the indices of the graph in common, not copies.
    """
    return steps_along(graph).matrix


def steps_along(graph: sp.csr_array) -> Steps:
    """Return the steps along the edges of a graph."""
    is_empty = np.diff(graph.indptr) == 0
    indptr, indices = graph.indptr, graph.indices
    if is_empty.any():
        indptr = indptr.astype(np.int64)
        indptr[1:] += np.cumsum(is_empty)
        places = sp.get_index_dtype(maxval=max(int(indptr[-1]), len(is_empty)))
        indptr = indptr.astype(places)
        indices = np.empty(indptr[-1], dtype=places)
        _fill_indices(graph.indptr, graph.indices, indptr, indices)
    probability = np.empty(0)
    if not _are_equal(graph.data):
        probability = np.empty(indptr[-1])
        _fill_probability(graph.indptr, graph.data, indptr, probability)
    return Steps(indptr, indices, probability)


def _even(n_edges: np.ndarray) -> np.ndarray:
    return np.repeat(1.0 / n_edges, n_edges)


@compiled
def _are_equal(weight):
    """Tell whether all weights are equal but for their sign."""
    n_equal = 0
    while n_equal < len(weight) and abs(weight[n_equal]) == abs(weight[0]):
        n_equal += 1
    return n_equal == len(weight)


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
