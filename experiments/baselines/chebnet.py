"""ChebNet: polynomials of the Laplacian (Defferrard et al. 2016).

    y = sum_k T_k(L - I) x W_k + b ,    T_0 = 1, T_1 = z, T_k = 2 z T_{k-1} - T_{k-2} ,

for k < K and W_k (c_in, c_out); the largest eigenvalue is taken to be 2, its bound. Layer,
recursion and Laplacian are torch_geometric's; only a step over the graph is one matrix product for
the whole batch here, since all samples share the graph.
"""

import scipy.sparse as sp
import torch
from torch import Tensor
from torch_geometric.nn import ChebConv

from experiments.baselines.edges import as_edges, as_matrix
from experiments.baselines.laplacian import adjacency
from experiments.baselines.products import GraphProduct
from walkconv import Neighbors


class ChebNetConv(ChebConv):
    """torch_geometric's ChebConv on one graph.

    Parameters
    ----------
    c_in, c_out : int
        Input channels and filters.
    graph : csr_array of shape (n_nodes, n_nodes)
    neighbors : Neighbors
        Its number of neighbours is the number K of polynomials, so that a filter has as many
        weights as ours.

    Shape
    -----
    Input (M, n_nodes, c_in), output (M, n_nodes, c_out).
    """

    def __init__(self, c_in: int, c_out: int, graph: sp.csr_array, neighbors: Neighbors):
        super().__init__(c_in, c_out, K=neighbors.n_neighbors, node_dim=-2)
        edge_index, weight = as_edges(adjacency(graph))
        scaled = super().__norm__(
            edge_index, neighbors.n_nodes, weight, self.normalization, 2.0, torch.float64
        )
        self.step = GraphProduct(as_matrix(scaled, neighbors.n_nodes))

    @staticmethod
    def n_weights(c_in: int, c_out: int, n_nodes: int, n_neighbors: int) -> int:
        """Return how many weights such a layer learns."""
        return n_neighbors * c_in * c_out + c_out

    def forward(self, x: Tensor) -> Tensor:
        """Return the filtered signals."""
        return super().forward(x, None)

    def __norm__(self, *arguments, **settings) -> tuple[None, None]:
        """Do nothing: the Laplacian was scaled when the layer was made."""
        return None, None

    def propagate(self, edge_index: None, x: Tensor, norm: None) -> Tensor:
        """Return (L - I) x."""
        return self.step(x)
