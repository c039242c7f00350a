"""Layer specs and the levels of a graph become a network."""

from collections.abc import Sequence
from typing import Literal

from torch import Tensor, nn

from walkconv._checks import check_integer, check_option
from walkconv.layers import GraphConv, GraphPool, GraphReadout, convolve_present
from walkconv.models.activation import Dropped, activate
from walkconv.models.architecture import FullyConnected, Layer, NodeOutput, Pooling, Readout
from walkconv.models.hierarchy import Level


class Network(nn.Module):
    """Graph convolutions and poolings, then fully connected layers, then one linear output layer.

    Parameters
    ----------
    layers : sequence of Convolution, Pooling, Readout, FullyConnected and NodeOutput
        From `parse_architecture`; none makes a linear model.
    levels : sequence of Level
        From `build_levels`; empty where there is neither convolution nor pooling.
    n_nodes, n_channels, n_outputs : int
        Size of one sample and of its prediction.
    weighting : "rank" or "signed_visits", default "rank"
        Of the convolutions, as in `GraphConv`.
    pooling : "max" or "mean", default "max"
        Of the poolings, as in `GraphPool`.
    readout : "sum", "log_sum", "mean" or "max", default "mean"
        Of the readout, as in `GraphReadout`.
    normalization : "batch" or None, default "batch"
        Batch normalisation of the fully connected layers and, in networks with pooling, of the
        convolutions.
    dropout : float, default 0
        Chance that a unit of a fully connected layer is left out in training.
    conv_dropout : float, default 0
        Chance that something is left out in training after a convolution; if poolings follow it,
        after the last of them, so that groups take the place of nodes.
    conv_dropped : "nodes" or "values", default "nodes"
        What is left out there: a node with all its filters, or single values.

    Attributes
    ----------
    nodewise : ModuleList of HiddenConvolution and GraphPool
        The layers before the nodes are flattened.
    dense : Sequential
        From the flattened nodes, their readout, or every node by itself, to the outputs.

    Shape
    -----
    Input (M, n_nodes, n_channels), output (M, n_outputs).

    Examples
    --------
    >>> import torch
    >>> from walkconv import grid_graph
    >>> from walkconv.models import Network, build_levels, parse_architecture
    >>> layers = parse_architecture("C8-P4-FC32")
    >>> levels = build_levels(grid_graph((4, 4)), layers, n_neighbors=5)
    >>> network = Network(layers, levels, n_nodes=16, n_channels=1, n_outputs=3)
    >>> network(torch.zeros(10, 16, 1)).shape
    torch.Size([10, 3])
    """

    def __init__(
        self,
        layers: Sequence[Layer],
        levels: Sequence[Level],
        *,
        n_nodes: int,
        n_channels: int = 1,
        n_outputs: int,
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
        self.n_nodes = check_integer(n_nodes, "n_nodes", minimum=1)
        self.n_channels = check_integer(n_channels, "n_channels", minimum=1)
        self.weighting: Literal["rank", "signed_visits"] = weighting
        self.conv_dropout = conv_dropout
        self.conv_dropped: Dropped = conv_dropped
        is_pooled = any(isinstance(layer, Pooling) for layer in layers)
        norm = normalization if is_pooled else None
        width, n_pooled = self.n_channels, 0
        self.nodewise = nn.ModuleList()
        for layer in layers:
            if isinstance(layer, FullyConnected | Readout | NodeOutput):
                break
            level = _level(levels, n_pooled, n_nodes)
            if isinstance(layer, Pooling):
                pool = GraphPool(level.groups, reduce=pooling)
                self.nodewise.append(pool)
                n_nodes, n_pooled = pool.n_groups, n_pooled + 1
            else:
                convolution = self.make_convolution(width, layer.n_filters, level)
                width = layer.n_filters
                self.nodewise.append(HiddenConvolution(convolution, width, norm))
        if layers and isinstance(layers[-1], NodeOutput):
            dense = make_node_output(layers[-1], width, n_nodes, n_outputs)
        elif any(isinstance(layer, Readout) for layer in layers):
            dense = make_dense(layers, width, n_outputs, normalization, dropout)
            dense = [GraphReadout(readout), *dense]
        else:
            dense = make_dense(layers, width * n_nodes, n_outputs, normalization, dropout)
            dense = [nn.Flatten(), *dense]
        self.dense = nn.Sequential(*dense)

    def make_convolution(self, c_in: int, c_out: int, level: Level) -> nn.Module:
        """Return the module (M, n_nodes, c_in) -> (M, n_nodes, c_out) for a C layer.

        A subclass may put another there, made from the level's graph, neighbours or positions.
        """
        assert level.neighbors is not None
        return GraphConv(c_in, c_out, level.neighbors, weighting=self.weighting)

    @property
    def convolutions(self) -> list[nn.Module]:
        """What `make_convolution` made, in order."""
        hidden = (layer for layer in self.nodewise if isinstance(layer, HiddenConvolution))
        return [layer.convolution for layer in hidden]

    def forward(self, x: Tensor, missing: Tensor | None = None) -> Tensor:
        """Return the outputs (M, n_outputs) for x (M, n_nodes, n_channels).

        `missing`, of the shape of x, is True where a value is not there: if the first layer is a
        convolution it uses the neighbours that are, and otherwise the value counts as 0.
        """
        # Whether the last convolution still lacks its ReLU and dropout, which wait for poolings: a
        # maximum does not mind, there are fewer values then, and groups that lack some of their
        # nodes would mislead the next batch normalisation.
        is_open = False
        for layer in self.nodewise:
            if isinstance(layer, HiddenConvolution):
                x = layer(self._activate(x) if is_open else x, missing)
                is_open = True
            else:
                x = filled(x, missing)
                x = layer(x.relu() if is_open and layer.reduce == "mean" else x)
            missing = None
        return self.dense(self._activate(x) if is_open else filled(x, missing))

    def _activate(self, x: Tensor) -> Tensor:
        return activate(x, self.conv_dropout, self.conv_dropped, is_training=self.training)


def make_dense(
    layers: Sequence[Layer],
    width: int,
    n_outputs: int,
    normalization: str | None,
    dropout: float,
) -> list[nn.Module]:
    """Return the fully connected layers and the linear output that follow `width` values."""
    dense: list[nn.Module] = []
    for layer in layers:
        if isinstance(layer, FullyConnected):
            dense.append(nn.Linear(width, layer.n_units))
            dense += [nn.BatchNorm1d(layer.n_units)] if normalization == "batch" else []
            dense += [nn.ReLU(), nn.Dropout(dropout)]
            width = layer.n_units
    return [*dense, nn.Linear(width, check_integer(n_outputs, "n_outputs", minimum=1))]


def make_node_output(
    output: NodeOutput, width: int, n_nodes: int, n_outputs: int
) -> list[nn.Module]:
    """Return the linear output of every node, the same weights for all, flattened."""
    if n_outputs != n_nodes * output.n_values:
        raise ValueError(
            f"{output} answers with {output.n_values} value(s) at each of {n_nodes} nodes: y must "
            f"have {n_nodes * output.n_values} columns, node by node; it has {n_outputs}."
        )
    return [nn.Linear(width, output.n_values), nn.Flatten()]


class HiddenConvolution(nn.Module):
    """A convolution, and batch normalisation of its filters if asked for.

    Shape
    -----
    Input (M, n_nodes, c_in), output (M, n_nodes, c_out).
    """

    def __init__(self, convolution: nn.Module, c_out: int, normalization: str | None):
        super().__init__()
        self.convolution = convolution
        self.norm = nn.BatchNorm1d(c_out) if normalization == "batch" else None

    def forward(self, x: Tensor, missing: Tensor | None = None) -> Tensor:
        """Return the values before their ReLU; `missing` as in `Network`."""
        if missing is not None and isinstance(self.convolution, GraphConv):
            x = convolve_present(self.convolution, x, missing)
        else:
            x = self.convolution(filled(x, missing))
        return x if self.norm is None else self.norm(x.flatten(0, 1)).view_as(x)


def count_parameters(network: nn.Module) -> int:
    """Return the number of weights, of those too that are frozen."""
    return sum(parameter.numel() for parameter in network.parameters())


def filled(x: Tensor, missing: Tensor | None) -> Tensor:
    """Return x with 0, the mean of a scaled column, where a value is missing."""
    return x if missing is None else x.masked_fill(missing, 0)


def _level(levels: Sequence[Level], number: int, n_nodes: int) -> Level:
    if number < len(levels) and levels[number].n_nodes == n_nodes:
        return levels[number]
    came = f"one of {levels[number].n_nodes}" if number < len(levels) else "none"
    raise ValueError(
        f"C and P layers need a level of {n_nodes} nodes from build_levels; got {came}. "
        "Give a graph, or an architecture without them."
    )
