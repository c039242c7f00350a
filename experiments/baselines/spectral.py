"""Spectral networks: multipliers in the eigenbasis of the Laplacian.

With ``L = U diag(lambda) U^T``, eigenvalues ascending,

    y_f = sum_c U diag(theta_cf) U^T x_c + b_f .

Bruna et al. (2014) learn every multiplier ``theta_cf`` (n_nodes,). Henaff et al. (2015) learn
smooth ones, ``theta_cf = K alpha_cf``: K (n_nodes, n_points) holds cubic B-splines along the order
of the eigenvalues, and smoothness in frequency is locality in space.
"""

import math
from functools import lru_cache

import numpy as np
import scipy.sparse as sp
import torch
from scipy.interpolate import BSpline
from torch import Tensor, nn

from experiments.baselines.laplacian import normalized_laplacian
from walkconv import Neighbors


class FreeSpectralConv(nn.Module):
    """A multiplier for each eigenvector, input channel and filter (Bruna et al.).

    Parameters
    ----------
    c_in, c_out : int
        Input channels and filters.
    graph : csr_array of shape (n_nodes, n_nodes)
    neighbors : Neighbors
        Only its number of nodes is used; every layer of this room is made from the same four
        things.

    Attributes
    ----------
    weight : Parameter of shape (n_nodes, c_in, c_out)
    bias : Parameter of shape (c_out,)

    Shape
    -----
    Input (M, n_nodes, c_in), output (M, n_nodes, c_out).
    """

    basis: Tensor

    def __init__(self, c_in: int, c_out: int, graph: sp.csr_array, neighbors: Neighbors):
        super().__init__()
        self.register_buffer("basis", _tensor(eigenvectors(graph)), persistent=False)
        n_weights = self.n_weights(1, 1, neighbors.n_nodes, neighbors.n_neighbors) - 1
        bound = 1 / math.sqrt(c_in)
        self.weight = nn.Parameter(torch.empty(n_weights, c_in, c_out).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.zeros(c_out))

    @staticmethod
    def n_weights(c_in: int, c_out: int, n_nodes: int, n_neighbors: int) -> int:
        """Return how many weights such a layer learns."""
        return n_nodes * c_in * c_out + c_out

    def multipliers(self) -> Tensor:
        """Return theta (n_nodes, c_in, c_out)."""
        return self.weight

    def forward(self, x: Tensor) -> Tensor:
        """Return the filtered signals."""
        n_samples, n_nodes, c_in = x.shape
        spectrum = self.basis.T @ x.transpose(0, 1).reshape(n_nodes, n_samples * c_in)
        filtered = torch.bmm(spectrum.view(n_nodes, n_samples, c_in), self.multipliers())
        y = self.basis @ filtered.reshape(n_nodes, -1)
        return y.view(n_nodes, n_samples, -1).transpose(0, 1) + self.bias


class SmoothSpectralConv(FreeSpectralConv):
    """Multipliers that are smooth along the spectrum (Henaff et al.).

    Parameters and shapes are those of `FreeSpectralConv`; `neighbors` says by its number of
    neighbours how many points a multiplier has, so that a filter has as many weights as ours.

    Attributes
    ----------
    weight : Parameter of shape (n_points, c_in, c_out)
    bias : Parameter of shape (c_out,)
    """

    kernel: Tensor
    pieces: Tensor | None

    def __init__(self, c_in: int, c_out: int, graph: sp.csr_array, neighbors: Neighbors):
        super().__init__(c_in, c_out, graph, neighbors)
        kernel = spline_kernel(neighbors.n_nodes, neighbors.n_neighbors)
        self.register_buffer("kernel", _tensor(kernel), persistent=False)
        # There and back through the spectrum costs c_in + c_out products with a matrix.
        is_cheaper = neighbors.n_neighbors * c_in < c_in + c_out
        pieces = spline_pieces(eigenvectors(graph), kernel) if is_cheaper else None
        self.register_buffer(
            "pieces", None if pieces is None else _tensor(pieces), persistent=False
        )

    @staticmethod
    def n_weights(c_in: int, c_out: int, n_nodes: int, n_neighbors: int) -> int:
        """Return how many weights such a layer learns."""
        return n_neighbors * c_in * c_out + c_out

    def multipliers(self) -> Tensor:
        """Return theta (n_nodes, c_in, c_out)."""
        return torch.tensordot(self.kernel, self.weight, dims=1)

    def forward(self, x: Tensor) -> Tensor:
        """Return the filtered signals: ``sum_q (U diag(K_q) U^T) x alpha_q`` where that is less."""
        if self.pieces is None:
            return super().forward(x)
        n_samples, n_nodes, c_in = x.shape
        parts = self.pieces @ x.transpose(0, 1).reshape(n_nodes, n_samples * c_in)
        parts = parts.view(-1, n_nodes, n_samples, c_in).permute(2, 1, 0, 3)  # (M, nodes, q, c_in)
        return parts.flatten(2) @ self.weight.flatten(0, 1) + self.bias


def spline_pieces(basis: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    """Return ``U diag(K_q) U^T`` of all splines, stacked: (n_points * n_nodes, n_nodes)."""
    return np.concatenate([(basis * spline) @ basis.T for spline in kernel.T])


def eigenvectors(graph: sp.csr_array) -> np.ndarray:
    """Return U (n_nodes, n_nodes), a column for each eigenvalue, in ascending order.

    The last few are remembered: the layers and members of a model share a graph.
    """
    return _eigenvectors(normalized_laplacian(graph).toarray().tobytes())


@lru_cache(maxsize=4)
def _eigenvectors(laplacian: bytes) -> np.ndarray:
    entries = np.frombuffer(laplacian)
    n_nodes = math.isqrt(len(entries))
    return np.linalg.eigh(entries.reshape(n_nodes, n_nodes))[1]


def spline_kernel(n_nodes: int, n_points: int) -> np.ndarray:
    """Return the values (n_nodes, n_points) of B-splines on [0, 1]; every row sums to 1.

    They are cubic, or of a lower degree where there are fewer than 4 points.
    """
    degree = min(3, n_points - 1)
    inner = np.linspace(0, 1, n_points - degree + 1)
    knots = np.concatenate([np.zeros(degree), inner, np.ones(degree)])
    places = np.linspace(0, 1, n_nodes)
    return BSpline.design_matrix(places, knots, degree).toarray()


def _tensor(values: np.ndarray) -> Tensor:
    return torch.tensor(values, dtype=torch.get_default_dtype())
