"""A fixed matrix over the nodes times a batch of signals."""

import warnings

import scipy.sparse as sp
import torch
from torch import Tensor, nn

FEW_ENTRIES = 0.05
"""Up to this share of entries the product is sparse; with more a dense one is faster."""


class GraphProduct(nn.Module):
    """``y[m] = A x[m]``, one matrix product for the whole batch.

    Parameters
    ----------
    matrix : csr_array of shape (n_nodes, n_nodes)

    Shape
    -----
    Input and output (M, n_nodes, c).
    """

    matrix: Tensor

    def __init__(self, matrix: sp.csr_array):
        super().__init__()
        is_sparse = matrix.nnz <= FEW_ENTRIES * matrix.shape[0] ** 2
        held = _sparse(matrix) if is_sparse else torch.tensor(matrix.toarray())
        self.register_buffer("matrix", held.to(torch.get_default_dtype()), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        """Return A x of every sample."""
        n_samples, n_nodes, n_channels = x.shape
        side_by_side = x.transpose(0, 1).reshape(n_nodes, n_samples * n_channels)
        product = self.matrix @ side_by_side
        return product.view(n_nodes, n_samples, n_channels).transpose(0, 1)


def _sparse(matrix: sp.csr_array) -> Tensor:
    parts = (torch.tensor(part) for part in (matrix.indptr, matrix.indices, matrix.data))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta")
        return torch.sparse_csr_tensor(*parts, size=matrix.shape, check_invariants=True)
