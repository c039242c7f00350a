"""Receptive fields without shared weights (Coates and Ng 2011).

    y[m, i, f] = b[i, f] + sum_j sum_c W[i, j, c, f] x[m, neighbor(i, j), c] .

The neighbours are those of our convolution; every node has weights of its own.
"""

import math

import scipy.sparse as sp
import torch
from torch import Tensor, nn
from torch.nn import functional

from walkconv import Neighbors


class LocalConv(nn.Module):
    """A convolution whose weights are not shared between nodes.

    Parameters
    ----------
    c_in, c_out : int
        Input channels and filters of each node.
    graph : csr_array of shape (n_nodes, n_nodes)
        Not used here; every layer of this room is made from the same four things.
    neighbors : Neighbors

    Attributes
    ----------
    weight : Parameter of shape (n_nodes, n_neighbors, c_in, c_out)
    bias : Parameter of shape (n_nodes, c_out)

    Shape
    -----
    Input (M, n_nodes, c_in), output (M, n_nodes, c_out).
    """

    index: Tensor

    def __init__(self, c_in: int, c_out: int, graph: sp.csr_array, neighbors: Neighbors):
        super().__init__()
        n_nodes, n_neighbors = neighbors.index.shape
        self.register_buffer("index", torch.tensor(neighbors.index), persistent=False)
        bound = 1 / math.sqrt(n_neighbors * c_in)
        weight = torch.empty(n_nodes, n_neighbors, c_in, c_out)
        self.weight = nn.Parameter(weight.uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.empty(n_nodes, c_out).uniform_(-bound, bound))

    @staticmethod
    def n_weights(c_in: int, c_out: int, n_nodes: int, n_neighbors: int) -> int:
        """Return how many weights such a layer learns."""
        return n_nodes * (n_neighbors * c_in * c_out + c_out)

    def forward(self, x: Tensor) -> Tensor:
        """Return the filtered signals."""
        n_samples, n_nodes, _ = x.shape
        # The empty slot -1 reads the row of zeros that is put at the end.
        gathered = functional.pad(x.transpose(0, 1), (0, 0, 0, 0, 0, 1))[self.index]
        fields = gathered.transpose(1, 2).reshape(n_nodes, n_samples, -1)  # (nodes, M, p * c_in)
        y = torch.baddbmm(self.bias[:, None], fields, self.weight.flatten(1, 2))
        return y.transpose(0, 1)
