"""Our network with another convolution in it; all else, and the training, is the same."""

from typing import Any

import scipy.sparse as sp
from torch import Tensor, nn

from walkconv import Neighbors
from walkconv.models import Network


class BaselineNetwork(Network):
    """A `Network` each of whose convolutions is of another kind.

    Parameters
    ----------
    convolution : type
        Of the layers of this room: made from (c_in, c_out, graph, neighbors).
    graph : csr_array of shape (n_nodes, n_nodes) or None
    layers, neighbors, settings
        Of `Network`.
    """

    def __init__(
        self,
        convolution: type[nn.Module],
        graph: sp.csr_array | None,
        layers: Any,
        neighbors: Neighbors | None,
        **settings: Any,
    ):
        super().__init__(layers, neighbors, **settings)
        self.convolutions = nn.ModuleList(
            convolution(ours.c_in, ours.c_out, graph, neighbors) for ours in self.convolutions
        )

    def forward(self, x: Tensor, missing: Tensor | None = None) -> Tensor:
        """Return the outputs (M, n_outputs); missing values count as 0, their mean."""
        return super().forward(x if missing is None else x.masked_fill(missing, 0))
