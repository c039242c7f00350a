"""A regular CNN: our network with torch's convolution over windows, for columns on a square grid.

y[i, j] = b + sum over |u|, |v| <= 2 of W[u, v] x[i + u, j + v] ,    zero beyond the border
"""

import math

from torch import Tensor, nn

from walkconv import GraphCNNClassifier
from walkconv.models import Level, Network, parse_architecture

SIDE_OF_WINDOW = 5


class WindowConv(nn.Module):
    """torch's Conv2d on the nodes of a square grid, row by row.

    Shape
    -----
    Input (M, side * side, c_in), output (M, side * side, c_out).
    """

    def __init__(self, c_in: int, c_out: int, side: int):
        super().__init__()
        self.side = side
        self.convolution = nn.Conv2d(c_in, c_out, SIDE_OF_WINDOW, padding=SIDE_OF_WINDOW // 2)

    def forward(self, x: Tensor) -> Tensor:
        """Return the convolution of x."""
        pictures = x.transpose(1, 2).unflatten(2, (self.side, self.side))
        return self.convolution(pictures).flatten(2).transpose(1, 2).contiguous()


class ImageNetwork(Network):
    """A `Network` that knows the grid."""

    def make_convolution(self, c_in: int, c_out: int, level: Level) -> nn.Module:
        """Return the convolution over windows on a level."""
        return WindowConv(c_in, c_out, math.isqrt(level.n_nodes))


class ImageCNNClassifier(GraphCNNClassifier):
    """Our classifier, trained as ever, around an `ImageNetwork`."""

    def make_network(self, n_nodes: int, n_channels: int, n_outputs: int) -> nn.Module:
        """Return a new network."""
        return ImageNetwork(
            parse_architecture(self.architecture),
            self.levels_,
            n_nodes=n_nodes,
            n_channels=n_channels,
            n_outputs=n_outputs,
            pooling=self.pooling,
            normalization=self.normalization,
            dropout=self.dropout,
            conv_dropout=self.conv_dropout,
        )
