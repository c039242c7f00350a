"""The convolution of a regular CNN, for columns that lie on a square grid.

y[i, j] = b + sum over |u|, |v| <= 2 of W[u, v] x[i + u, j + v] ,    zero beyond the border
"""

import math

import scipy.sparse as sp
from torch import Tensor, nn

from walkconv import Neighbors

SIDE_OF_WINDOW = 5


class WindowConv(nn.Module):
    """torch's Conv2d on the nodes of a square grid, row by row.

    Parameters
    ----------
    c_in, c_out : int
        Input channels and filters.
    graph : csr_array of shape (n_nodes, n_nodes)
        Says how many nodes there are; which are near is known here.
    neighbors : Neighbors
        Not used; `experiments.baselines` makes every layer from the same four things.

    Shape
    -----
    Input (M, n_nodes, c_in), output (M, n_nodes, c_out).
    """

    def __init__(self, c_in: int, c_out: int, graph: sp.csr_array, neighbors: Neighbors | None):
        super().__init__()
        self.side = math.isqrt(graph.shape[0])
        self.convolution = nn.Conv2d(c_in, c_out, SIDE_OF_WINDOW, padding=SIDE_OF_WINDOW // 2)

    def forward(self, x: Tensor) -> Tensor:
        """Return the convolution of x."""
        pictures = x.transpose(1, 2).unflatten(2, (self.side, self.side))
        return self.convolution(pictures).flatten(2).transpose(1, 2).contiguous()
