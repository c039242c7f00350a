"""The transition matrix for the engines: CSR in, CSR out, or the steps along the edges."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from walkconv import _native

AT_ONCE = 2**16
"""Weights compared at a time: they stay in the cache."""


@dataclass(frozen=True, eq=False)
class Steps:
    """One step from each node: ``D^-1 |S|``, where an empty row leads to its own node.

    Attributes
    ----------
    indptr : ndarray of shape (n_nodes + 1,)
    indices : ndarray of shape (n_edges,)
        Of the same type as `indptr`. Where no row is empty both are those of the graph, not copies.
    probability : ndarray of shape (n_edges,) or (0,)
        Empty if all edges have the same weight. Then all steps from a node are equally likely, and
        to read the probability would take longer than to divide.
    """

    indptr: np.ndarray
    indices: np.ndarray
    probability: np.ndarray

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return len(self.indptr) - 1

    @property
    def is_even(self) -> bool:
        """Whether all steps from a node are equally likely."""
        return len(self.probability) == 0

    @property
    def address(self) -> tuple[int, int, int]:
        """Whether indices have 64 bits, and where `indptr` and `indices` begin."""
        index_type = self.indices.dtype
        indptr = _native.address(self.indptr, index_type, self.n_nodes + 1)
        indices = _native.address(self.indices, index_type, len(self.indices))
        return int(index_type == np.int64), indptr, indices

    @property
    def chance_address(self) -> int | None:
        """Where the probabilities begin; None if all steps are equally likely."""
        if self.is_even:
            return None
        return _native.address(self.probability, np.float64, len(self.indices))

    @property
    def matrix(self) -> sp.csr_array:
        """The transition matrix (n_nodes, n_nodes)."""
        probability = _even(np.diff(self.indptr)) if self.is_even else self.probability
        shape = (self.n_nodes, self.n_nodes)
        return sp.csr_array((probability, self.indices, self.indptr), shape=shape)

    def of(self, nodes: np.ndarray) -> sp.csr_array:
        """Return the rows (len(nodes), n_nodes) of the matrix that belong to some nodes."""
        # Not `matrix[nodes]`: of an unweighted graph that would make all probabilities.
        n_edges = np.diff(self.indptr)[nodes]
        indptr = np.concatenate([[0], np.cumsum(n_edges)]).astype(self.indptr.dtype)
        edges = np.arange(indptr[-1]) + np.repeat(self.indptr[nodes] - indptr[:-1], n_edges)
        probability = _even(n_edges) if self.is_even else self.probability[edges]
        shape = (len(nodes), self.n_nodes)
        return sp.csr_array((probability, self.indices[edges], indptr), shape=shape)


def sparse_transition(graph: sp.csr_array) -> sp.csr_array:
    """Return ``D^-1 |S|`` (n_nodes, n_nodes) as CSR, with 1 on the diagonal of empty rows.

    If no row is empty it shares its indices with the graph.
    """
    return steps_along(graph).matrix


def steps_along(graph: sp.csr_array) -> Steps:
    """Return the steps along the edges of a graph."""
    indptr, indices, weight = graph.indptr, graph.indices, graph.data
    is_empty = np.diff(indptr) == 0
    if is_empty.any():
        # The added steps may be too many for 32 bits: the type is chosen again, and the sums are
        # taken in 64 bits.
        n_edges = len(indices) + int(is_empty.sum())
        index_type = sp.get_index_dtype(maxval=max(n_edges, len(is_empty)))
        empty = np.flatnonzero(is_empty)
        indices = np.insert(indices.astype(index_type, copy=False), graph.indptr[empty], empty)
        weight = np.insert(weight, graph.indptr[empty], 1.0)
        indptr = indptr.astype(np.int64)
        indptr[1:] += np.cumsum(is_empty)
        indptr = indptr.astype(index_type)
    is_even = _are_equal(graph.data)
    return Steps(indptr, indices, np.empty(0) if is_even else _chances(indptr, weight))


def _even(n_edges: np.ndarray) -> np.ndarray:
    return np.repeat(1.0 / n_edges, n_edges)


def _are_equal(weight: np.ndarray) -> bool:
    """Tell whether all weights have the same absolute value."""
    # In parts: on most weighted graphs the first part says no, and none makes a large array.
    parts = (weight[start : start + AT_ONCE] for start in range(0, len(weight), AT_ONCE))
    return all((np.abs(part) == abs(weight[0])).all() for part in parts)


def _chances(indptr: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return the absolute weights (n_edges,), divided by their sum in each row."""
    native, n_nodes = _native.library(), len(indptr) - 1
    if native is None:
        chance = np.abs(weight)
        return chance / np.repeat(np.add.reduceat(chance, indptr[:-1]), np.diff(indptr))
    chance = np.empty(len(weight))
    native.walkconv_make_chances(
        *(
            int(indptr.dtype == np.int64),
            _native.address(indptr, indptr.dtype, n_nodes + 1),
            n_nodes,
        ),
        *(_native.address(weight, np.float64, len(weight)), chance.ctypes.data),
    )
    return chance
