"""Layer specs and neighbours become a network."""

from collections.abc import Sequence
from typing import Literal

from torch import Tensor, nn
from torch.nn import functional

from walkconv._checks import check_integer, check_option
from walkconv.layers import GraphConv, convolve_present
from walkconv.models.architecture import Convolution, FullyConnected, Layer, Pooling
from walkconv.walks import Neighbors


class Network(nn.Module):
    """Graph convolutions, then fully connected layers, then one linear output layer.

    Parameters
    ----------
    layers : sequence of Convolution and FullyConnected
        From `parse_architecture`; none makes a linear model.
    neighbors : Neighbors or None
        From `select_neighbors`; None where there is no convolution.
    n_nodes, n_channels, n_outputs : int
        Size of one sample and of its prediction.
    weighting : "rank" or "signed_visits", default "rank"
        Of the convolutions, as in `GraphConv`.
    normalization : "batch" or None, default "batch"
        Batch normalisation of the fully connected layers.
    dropout : float, default 0
        Chance that a unit of a fully connected layer is left out in training.
    conv_dropout : float, default 0
        Chance that a node, with all its filters, is left out after a convolution in training.

    Attributes
    ----------
    convolutions : ModuleList of GraphConv
    dense : Sequential
        From the flattened nodes to the outputs.

    Shape
    -----
    Input (M, n_nodes, n_channels), output (M, n_outputs).

    Examples
    --------
    >>> import torch
    >>> from walkconv import grid_graph, select_neighbors
    >>> from walkconv.models import Network, parse_architecture
    >>> neighbors = select_neighbors(grid_graph((4, 4)), n_neighbors=5)
    >>> layers = parse_architecture("C8-FC32")
    >>> network = Network(layers, neighbors, n_nodes=16, n_channels=1, n_outputs=3)
    >>> network(torch.zeros(10, 16, 1)).shape
    torch.Size([10, 3])
    """

    def __init__(
        self,
        layers: Sequence[Layer],
        neighbors: Neighbors | None,
        *,
        n_nodes: int,
        n_channels: int = 1,
        n_outputs: int,
        weighting: Literal["rank", "signed_visits"] = "rank",
        normalization: Literal["batch"] | None = "batch",
        dropout: float = 0.0,
        conv_dropout: float = 0.0,
    ):
        super().__init__()
        if normalization is not None:
            check_option(normalization, "normalization", ["batch"])
        self.n_nodes = check_integer(n_nodes, "n_nodes", minimum=1)
        self.n_channels = check_integer(n_channels, "n_channels", minimum=1)
        self.conv_dropout = conv_dropout
        width = self.n_channels
        convolutions: list[GraphConv] = []
        for layer in _nodewise(layers):
            if neighbors is None or neighbors.n_nodes != n_nodes:
                came = "none" if neighbors is None else f"those of {neighbors.n_nodes} nodes"
                raise ValueError(
                    f"A convolution needs the neighbours of all {n_nodes} nodes; got {came}. "
                    "Give a graph, or an architecture without C."
                )
            convolutions.append(GraphConv(width, layer.n_filters, neighbors, weighting=weighting))
            width = layer.n_filters
        self.convolutions = nn.ModuleList(convolutions)
        width *= self.n_nodes
        dense: list[nn.Module] = [nn.Flatten()]
        for layer in layers:
            if isinstance(layer, FullyConnected):
                dense.append(nn.Linear(width, layer.n_units))
                dense += [nn.BatchNorm1d(layer.n_units)] if normalization == "batch" else []
                dense += [nn.ReLU(), nn.Dropout(dropout)]
                width = layer.n_units
        dense.append(nn.Linear(width, check_integer(n_outputs, "n_outputs", minimum=1)))
        self.dense = nn.Sequential(*dense)

    def forward(self, x: Tensor, missing: Tensor | None = None) -> Tensor:
        """Return the outputs (M, n_outputs) for x (M, n_nodes, n_channels).

        `missing`, of the shape of x, is True where a value is not there: the first convolution
        uses the neighbours that are, and without one the value counts as 0.
        """
        if missing is not None and not self.convolutions:
            x = x.masked_fill(missing, 0)
        for convolution in self.convolutions:
            if missing is None:
                x = convolution(x)
            else:
                assert isinstance(convolution, GraphConv)
                x, missing = convolve_present(convolution, x, missing), None
            x = self._drop_nodes(x.relu())
        return self.dense(x)

    def _drop_nodes(self, x: Tensor) -> Tensor:
        """Leave out whole nodes: one random number each, where one per filter would cost more."""
        if not (self.training and self.conv_dropout):
            return x
        kept = functional.dropout(x.new_ones(*x.shape[:2], 1), self.conv_dropout)
        return x * kept


def count_parameters(network: nn.Module) -> int:
    """Return the number of weights that training changes."""
    return sum(parameter.numel() for parameter in network.parameters())


def _nodewise(layers: Sequence[Layer]) -> list[Convolution]:
    if any(isinstance(layer, Pooling) for layer in layers):
        raise ValueError("Pooling is not available yet. Take the P layers out of the architecture.")
    return [layer for layer in layers if isinstance(layer, Convolution)]
