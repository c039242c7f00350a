"""GCN: one step to the neighbours, one weight matrix (Kipf and Welling 2017).

    y = D~^-1/2 (A + I) D~^-1/2 x W + b ,    D~ the degrees of A + I, W (c_in, c_out) .

Layer and normalisation are torch_geometric's; only the step over the graph is one matrix product
for the whole batch here, since all samples share the graph, and goes before W where x has fewer
channels than y.
"""

import scipy.sparse as sp
from torch import Tensor
from torch_geometric.nn import GCNConv
from torch_geometric.nn.conv.gcn_conv import gcn_norm

from experiments.baselines.edges import as_edges, as_matrix
from experiments.baselines.laplacian import adjacency
from experiments.baselines.products import GraphProduct
from walkconv import Neighbors


class KipfConv(GCNConv):
    """torch_geometric's GCNConv on one graph.

    Parameters
    ----------
    c_in, c_out : int
        Input channels and filters.
    graph : csr_array of shape (n_nodes, n_nodes)
    neighbors : Neighbors
        Only its number of nodes is used; every layer of this room is made from the same four
        things.

    Shape
    -----
    Input (M, n_nodes, c_in), output (M, n_nodes, c_out).
    """

    def __init__(self, c_in: int, c_out: int, graph: sp.csr_array, neighbors: Neighbors):
        super().__init__(c_in, c_out, normalize=False, node_dim=-2)
        weighted = gcn_norm(*as_edges(adjacency(graph)), neighbors.n_nodes)
        self.step = GraphProduct(as_matrix(weighted, neighbors.n_nodes))

    @staticmethod
    def n_weights(c_in: int, c_out: int, n_nodes: int, n_neighbors: int) -> int:
        """Return how many weights such a layer learns."""
        return c_in * c_out + c_out

    def forward(self, x: Tensor) -> Tensor:
        """Return the filtered signals."""
        if self.in_channels >= self.out_channels:
            return super().forward(x, None)
        return self.lin(self.step(x)) + self.bias

    def propagate(self, edge_index: None, x: Tensor, edge_weight: None) -> Tensor:
        """Return the weighted sum over each node and its neighbours."""
        return self.step(x)
