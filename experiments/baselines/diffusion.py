"""DCNN: a weight for each hop and channel (Atwood and Towsley 2016).

    y_kc = w_kc P^k x_c ,    P = D^-1 |S|, k = 0, ..., H - 1 ,

so H hops make ``H c_in`` channels out of c_in, and no weight mixes channels: that is left to the
layers after it. In an architecture ``C20`` on one channel is 20 hops.
"""

import scipy.sparse as sp
import torch
from torch import Tensor, nn

from experiments.baselines.products import GraphProduct
from walkconv import Neighbors, transition_matrix


class DiffusionConv(nn.Module):
    """The hops of a random walk, each with its weight.

    Parameters
    ----------
    c_in, c_out : int
        Input and output channels; the number of hops is their ratio.
    graph : csr_array of shape (n_nodes, n_nodes)
    neighbors : Neighbors
        Not used here; every layer of this room is made from the same four things.

    Attributes
    ----------
    weight : Parameter of shape (n_hops, c_in)

    Shape
    -----
    Input (M, n_nodes, c_in), output (M, n_nodes, c_out), hop by hop.
    """

    def __init__(self, c_in: int, c_out: int, graph: sp.csr_array, neighbors: Neighbors):
        super().__init__()
        if c_out % c_in:
            raise ValueError(
                "A diffusion convolution makes as many channels as it has hops and input channels; "
                f"from {c_in} channels it cannot make {c_out}. Use a multiple."
            )
        self.step = GraphProduct(sp.csr_array(transition_matrix(graph)))
        self.weight = nn.Parameter(torch.empty(c_out // c_in, c_in).uniform_(-1, 1))

    @staticmethod
    def n_weights(c_in: int, c_out: int, n_nodes: int, n_neighbors: int) -> int:
        """Return how many weights such a layer learns."""
        return c_out

    def forward(self, x: Tensor) -> Tensor:
        """Return every hop of the signals, weighted."""
        hops = [x]
        for _ in self.weight[1:]:
            hops.append(self.step(hops[-1]))
        return torch.cat([hop * weight for hop, weight in zip(hops, self.weight, strict=True)], -1)
