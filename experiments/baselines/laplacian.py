"""The normalised Laplacian of a graph that may have signs, directions and self-loops."""

import numpy as np
import scipy.sparse as sp


def adjacency(graph: sp.csr_array) -> sp.csr_array:
    """Return ``A = (|S| + |S|^T) / 2`` without its diagonal, (n_nodes, n_nodes)."""
    strength = abs(sp.csr_array(graph))
    joined = sp.csr_array((strength + strength.T) / 2)
    joined.setdiag(0)
    joined.eliminate_zeros()
    return joined


def normalized_laplacian(graph: sp.csr_array) -> sp.csr_array:
    """Return ``L = I - D^-1/2 A D^-1/2``, (n_nodes, n_nodes), with eigenvalues in [0, 2].

    A node without edges has ``L_ii = 1``, as in torch_geometric.
    """
    joined = adjacency(graph)
    degree = joined.sum(axis=1)
    root = np.divide(1.0, np.sqrt(degree), out=np.zeros_like(degree), where=degree > 0)
    scaled = sp.diags_array(root) @ joined @ sp.diags_array(root)
    return sp.csr_array(sp.eye_array(len(degree)) - scaled)
