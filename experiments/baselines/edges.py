"""Matrices as torch_geometric writes them, and back."""

import scipy.sparse as sp
import torch
from torch import Tensor


def as_edges(matrix: sp.csr_array) -> tuple[Tensor, Tensor]:
    """Return the edges (2, n_edges) of a matrix and their weights (n_edges,), float64."""
    entries = matrix.tocoo()
    return torch.tensor([entries.row.tolist(), entries.col.tolist()]), torch.tensor(entries.data)


def as_matrix(edge_index: Tensor, weight: Tensor, n_nodes: int) -> sp.csr_array:
    """Return the matrix A for which ``A x`` sums over the edges that end at a node."""
    source, target = edge_index.numpy()
    return sp.csr_array((weight.numpy(), (target, source)), shape=(n_nodes, n_nodes))
