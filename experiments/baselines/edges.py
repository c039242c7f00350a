"""Matrices as torch_geometric writes them, and back."""

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor


def as_edges(matrix: sp.csr_array) -> tuple[Tensor, Tensor]:
    """Return the edges (2, n_edges) of a matrix and their weights (n_edges,), float64."""
    entries = matrix.tocoo()
    places = np.stack([entries.row, entries.col]).astype(np.int64)
    return torch.tensor(places), torch.tensor(entries.data)


def as_matrix(edges: tuple[Tensor, Tensor], n_nodes: int) -> sp.csr_array:
    """Return the matrix A for which ``A x`` sums over the edges that end at a node."""
    edge_index, weight = edges
    source, target = edge_index.numpy()
    return sp.csr_array((weight.numpy(), (target, source)), shape=(n_nodes, n_nodes))
