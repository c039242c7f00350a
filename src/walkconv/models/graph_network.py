"""Layer specs become a network for samples that have a graph each."""

from collections.abc import Sequence
from typing import Literal

from torch import Tensor, nn

from walkconv._checks import check_integer, check_option
from walkconv.layers import GraphConv, GraphPool, GraphReadout
from walkconv.models.activation import Dropped, activate
from walkconv.models.architecture import Convolution, Layer, Pooling, Readout
from walkconv.models.graph_batch import GraphBatch
from walkconv.models.network import make_dense


class GraphNetwork(nn.Module):
    """Convolutions and poolings on graphs of any size, a readout, then fully connected layers.

    The filters belong to the network, the neighbours to the graphs of each batch.

    Parameters
    ----------
    layers : sequence of Convolution, Pooling, Readout and FullyConnected
        From `parse_architecture`. There must be a readout: the number of nodes is not fixed.
    n_channels, n_outputs : int
        Values known of a node, and size of the prediction for a graph.
    n_neighbors : int
        Slots of a node.
    weighting, pooling, readout, normalization, dropout, conv_dropout, conv_dropped
        As in `Network`; batch normalisation follows convolutions too.

    Shape
    -----
    Input a `GraphBatch` of n_graphs graphs, output (n_graphs, n_outputs).

    Examples
    --------
    >>> import numpy as np
    >>> import torch
    >>> from walkconv import grid_graph
    >>> from walkconv.models import GraphNetwork, build_levels, join_graphs, parse_architecture
    >>> layers = parse_architecture("C8-P4-C8-G-FC16")
    >>> grids = [grid_graph((2, 3)), grid_graph((4, 4))]
    >>> levels = [build_levels(grid, layers, n_neighbors=5) for grid in grids]
    >>> x = [np.zeros((6, 2), dtype=np.float32), np.zeros((16, 2), dtype=np.float32)]
    >>> network = GraphNetwork(layers, n_channels=2, n_outputs=3, n_neighbors=5)
    >>> network(join_graphs(x, levels, 5, torch.device("cpu"))).shape
    torch.Size([2, 3])
    """

    def __init__(
        self,
        layers: Sequence[Layer],
        *,
        n_channels: int,
        n_outputs: int,
        n_neighbors: int,
        weighting: Literal["rank", "signed_visits"] = "rank",
        pooling: Literal["max", "mean"] = "max",
        readout: Literal["sum", "log_sum", "mean", "max"] = "mean",
        normalization: Literal["batch"] | None = "batch",
        dropout: float = 0.0,
        conv_dropout: float = 0.0,
        conv_dropped: Dropped = "nodes",
    ):
        super().__init__()
        if normalization is not None:
            check_option(normalization, "normalization", ["batch"])
        if not any(isinstance(layer, Readout) for layer in layers):
            raise ValueError(
                "Graphs of different sizes need a readout: put G before the FC layers, "
                "as in 'C32-C32-G-FC64'."
            )
        self.weighting = weighting
        self.conv_dropout = conv_dropout
        self.conv_dropped: Dropped = conv_dropped
        self.convolutions, self.norms = nn.ModuleList(), nn.ModuleList()
        self.pooling: Literal["max", "mean"] = pooling
        self.is_pooling: list[bool] = []
        width = check_integer(n_channels, "n_channels", minimum=1)
        for layer in layers:
            if isinstance(layer, Convolution):
                convolution = GraphConv(width, layer.n_filters, n_neighbors, weighting=weighting)
                width = layer.n_filters
                self.convolutions.append(convolution)
                is_normed = normalization == "batch"
                self.norms.append(nn.BatchNorm1d(width) if is_normed else nn.Identity())
            if isinstance(layer, Convolution | Pooling):
                self.is_pooling.append(isinstance(layer, Pooling))
        self.readout = GraphReadout(readout)
        dense = make_dense(layers, width, n_outputs, normalization, dropout)
        self.dense = nn.Sequential(*dense)

    def forward(self, batch: GraphBatch) -> Tensor:
        """Return the outputs (n_graphs, n_outputs)."""
        x, levels = batch.x, iter(batch.levels)
        hidden = zip(self.convolutions, self.norms, strict=True)
        level = next(levels)
        is_open = False  # as in `Network`
        for is_pooling in self.is_pooling:
            if is_pooling:
                pool = GraphPool(level.groups, reduce=self.pooling).to(x.device)
                x = pool(x.relu() if is_open and self.pooling == "mean" else x)
                level = next(levels)
            else:
                convolution, norm = next(hidden)
                scale = level.scale if self.weighting == "signed_visits" else None
                x = convolution(self._activate(x) if is_open else x, level.index, scale)
                x, is_open = norm(x), True
        return self.dense(self.readout(self._activate(x) if is_open else x, batch.sizes))

    def _activate(self, x: Tensor) -> Tensor:
        return activate(x, self.conv_dropout, self.conv_dropped, is_training=self.training)
