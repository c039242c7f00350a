"""Layers and the levels of a graph become a network."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from walkconv._checks import check_integer, check_option, check_parameters
from walkconv.layers import GraphConv, GraphPool, GraphReadout
from walkconv.networks.architecture import (
    Convolution,
    FullyConnected,
    Layer,
    NodeOutput,
    Pooling,
    Readout,
)
from walkconv.networks.graph_batch import BatchLevel, GraphBatch
from walkconv.networks.levels import Level
from walkconv.training.whole_batch import draw_for_rows

Weighting = Literal["rank", "signed_visits"]
Dropped = Literal["nodes", "values"]


@dataclass(frozen=True, eq=False, kw_only=True)
class NetworkPlan:
    """All that a network is made from.

    Attributes
    ----------
    layers : sequence of layers
        From `parse_architecture`; none makes a linear model.
    n_channels, n_outputs : int
        Values of a node, and size of the prediction for a sample.
    n_nodes : int or None
        Nodes of a sample; None if samples are graphs of different sizes.
    levels : sequence of Level or None
        From `build_levels`; empty without C and P layers. None if samples are graphs: then every
        batch brings the neighbours and groups of its graphs.
    n_neighbors : int
        Slots of a node. Used only if samples are graphs: levels have their own.
    weighting : "rank" or "signed_visits", default "rank"
        Of the convolutions, as in `GraphConv`.
    normalization : "batch" or None, default "batch"
        Batch normalization of the fully connected layers. It also follows convolutions in networks
        with pooling and in networks on graph samples.
    dropout : float, default 0
        Probability that training drops a unit of a fully connected layer.
    conv_dropout : float, default 0
        Dropout probability after a convolution; if poolings follow it, after the last of them, so
        that groups are dropped instead of nodes.
    conv_dropped : "nodes" or "values", default "nodes"
        What is dropped there: a node with all its channels, or single values.

    Examples
    --------
    >>> from walkconv.networks import NetworkPlan, parse_architecture
    >>> plan = NetworkPlan(layers=parse_architecture("FC8"), n_nodes=5, n_outputs=2, dropout=0.5)
    >>> plan.n_channels, plan.normalization
    (1, 'batch')
    """

    layers: Sequence[Layer]
    n_outputs: int
    n_channels: int = 1
    n_nodes: int | None = None
    levels: Sequence[Level] | None = ()
    n_neighbors: int = 1
    weighting: Weighting = "rank"
    normalization: Literal["batch"] | None = "batch"
    dropout: float = 0.0
    conv_dropout: float = 0.0
    conv_dropped: Dropped = "nodes"

    @property
    def has_graph_samples(self) -> bool:
        """Whether every batch brings the tables of its graphs."""
        return self.levels is None


class Network(nn.Module):
    """Graph convolutions and poolings, then fully connected layers, then a linear output layer.

    The filters belong to the network. The neighbours and groups belong to the graph: the network
    holds them if all samples share one graph, and otherwise they come with each batch.

    Parameters
    ----------
    plan : NetworkPlan

    Attributes
    ----------
    nodewise : ModuleList of HiddenConvolution and GraphPool
        The layers before the nodes are flattened or read out.
    readout : Flatten, GraphReadout or Identity
        From nodes to one vector for each sample; Identity if every node has an output.
    dense : Sequential
        From there to the outputs.

    Shape
    -----
    Input (M, n_nodes, n_channels), or a `GraphBatch` of M graphs; output (M, n_outputs).

    Examples
    --------
    >>> import torch
    >>> from walkconv import grid_graph
    >>> from walkconv.networks import Network, NetworkPlan, build_levels, parse_architecture
    >>> layers = parse_architecture("C8-P4-FC32")
    >>> levels = build_levels(grid_graph((4, 4)), layers, n_neighbors=5)
    >>> network = Network(NetworkPlan(layers=layers, levels=levels, n_nodes=16, n_outputs=3))
    >>> network(torch.zeros(10, 16, 1)).shape
    torch.Size([10, 3])
    """

    def __init__(self, plan: NetworkPlan):
        super().__init__()
        if plan.normalization is not None:
            check_option(plan.normalization, "normalization", ["batch"])
        self.weighting: Weighting = plan.weighting
        self.n_neighbors = plan.n_neighbors
        self.conv_dropout = plan.conv_dropout
        self.conv_dropped: Dropped = plan.conv_dropped
        self.nodewise = nn.ModuleList()
        width, n_nodes = self._add_nodewise(plan)
        last = plan.layers[-1] if plan.layers else None
        readout = next((layer for layer in plan.layers if isinstance(layer, Readout)), None)
        if readout is not None:
            self.readout: nn.Module = GraphReadout(readout.reduce)
        elif n_nodes is None:
            raise ValueError(
                "Graphs of different sizes need a readout: put G before the FC layers, "
                "as in 'C32-C32-G-FC64'."
            )
        elif isinstance(last, NodeOutput):
            self.readout = nn.Identity()
        else:
            self.readout = nn.Flatten()
            width *= n_nodes
        if isinstance(last, NodeOutput):
            assert n_nodes is not None  # a graph sample without a readout was refused above
            self.dense = nn.Sequential(*_node_output(last, width, n_nodes, plan.n_outputs))
        else:
            self.dense = nn.Sequential(*_fully_connected(plan, width))

    def _add_nodewise(self, plan: NetworkPlan) -> tuple[int, int | None]:
        """Add the C and P layers, and return the channels and the number of nodes after them."""
        width = check_integer(plan.n_channels, "n_channels", minimum=1)
        n_nodes = plan.n_nodes
        if n_nodes is not None:
            check_integer(n_nodes, "n_nodes", minimum=1)
        is_pooled = any(isinstance(layer, Pooling) for layer in plan.layers)
        norm = plan.normalization if is_pooled or plan.has_graph_samples else None
        n_pooled = 0
        for layer in plan.layers:
            if isinstance(layer, Convolution):
                level = _level(plan, n_pooled, n_nodes)
                convolution = self.make_convolution(width, layer.n_filters, level)
                width = layer.n_filters
                self.nodewise.append(HiddenConvolution(convolution, width, norm))
            elif isinstance(layer, Pooling):
                level = _level(plan, n_pooled, n_nodes)
                groups = None if level is None else level.groups
                pool = GraphPool(groups, reduce=layer.reduce)
                self.nodewise.append(pool)
                n_nodes, n_pooled = pool.n_groups, n_pooled + 1
        return width, n_nodes

    def make_convolution(self, c_in: int, c_out: int, level: Level | None) -> nn.Module:
        """Return the module (..., n_nodes, c_in) -> (..., n_nodes, c_out) for a C layer.

        A subclass may return another one, made from the level's graph, neighbours or positions.
        If samples are graphs `level` is None, and the module is called with three arguments: x,
        `index` (n_nodes, n_neighbors), and `scale` of that shape or None.
        """
        if level is None:
            return GraphConv(c_in, c_out, self.n_neighbors, weighting=self.weighting)
        assert level.neighbors is not None
        return GraphConv(c_in, c_out, level.neighbors, weighting=self.weighting)

    @property
    def convolutions(self) -> list[nn.Module]:
        """The modules from `make_convolution`, in order."""
        hidden = (layer for layer in self.nodewise if isinstance(layer, HiddenConvolution))
        return [layer.convolution for layer in hidden]

    def forward(self, batch: Tensor | GraphBatch, missing: Tensor | None = None) -> Tensor:
        """Return the outputs (M, n_outputs) for x (M, n_nodes, n_channels) or a batch of graphs.

        `missing`, of the shape of x, is True where a value is missing. If the first layer is a
        convolution it uses the neighbours that are present; otherwise a missing value counts as 0.
        """
        if isinstance(batch, GraphBatch):
            x, levels, sizes = batch.x, iter(batch.levels), batch.sizes
        else:
            x, levels, sizes = batch, None, None
        level = None if levels is None else next(levels)
        # A ReLU waits for the poolings that follow it: a maximum does not mind, there are fewer
        # values then, and groups without some of their nodes would mislead the next batch norm.
        is_pending = False
        for layer in self.nodewise:
            if isinstance(layer, HiddenConvolution):
                x = layer(self._activate(x) if is_pending else x, missing, level)
                is_pending = True
            else:
                x = filled(x, missing)
                x = x.relu() if is_pending and layer.reduce == "mean" else x
                x = layer(x, None if level is None else level.pool)
                level = None if levels is None else next(levels)
            missing = None
        x = self._activate(x) if is_pending else filled(x, missing)
        return self.dense(self.readout(x) if sizes is None else self.readout(x, sizes))

    def _activate(self, x: Tensor) -> Tensor:
        return activate(x, self.conv_dropout, self.conv_dropped, is_training=self.training)


class HiddenConvolution(nn.Module):
    """A convolution, and batch normalization of its filters if asked for.

    Shape
    -----
    Input (..., n_nodes, c_in), output (..., n_nodes, c_out).
    """

    def __init__(self, convolution: nn.Module, c_out: int, normalization: str | None):
        super().__init__()
        self.convolution = convolution
        self.norm = nn.BatchNorm1d(c_out) if normalization == "batch" else None

    def forward(
        self, x: Tensor, missing: Tensor | None = None, level: BatchLevel | None = None
    ) -> Tensor:
        """Return the values before their ReLU; `level` has the tables of a batch of graphs."""
        if level is not None:
            x = self.convolution(x, level.index, level.scale)
        elif missing is not None and isinstance(self.convolution, GraphConv):
            x = self.convolution(x, missing=missing)
        else:
            x = self.convolution(filled(x, missing))
        return x if self.norm is None else self.norm(x.flatten(0, -2)).view_as(x)


def activate(x: Tensor, dropout: float, dropped: Dropped, *, is_training: bool) -> Tensor:
    """Return the ReLU of x (..., n_nodes, c), in training with nodes or single values dropped.

    Dropout is applied before the ReLU. The result is the same, and the ReLU can then run in place.

    Examples
    --------
    >>> import torch
    >>> from walkconv.networks.network import activate
    >>> _ = torch.manual_seed(0)
    >>> activate(torch.ones(1, 4, 2), 0.5, "nodes", is_training=True)
    tensor([[[0., 0.],
             [0., 0.],
             [2., 2.],
             [0., 0.]]])
    """
    if not (is_training and dropout):
        return x.relu()
    if dropped == "nodes":
        return (x * functional.dropout(x.new_ones(*x.shape[:-1], 1), dropout)).relu_()
    kept = draw_for_rows(len(x), lambda n_rows: _kept(x.shape[1:], n_rows, dropout, x.device))
    return (x * kept.to(x.dtype).mul_(1 / (1 - dropout))).relu_()


def _kept(shape: torch.Size, n_rows: int, dropout: float, device: torch.device) -> Tensor:
    """Return which values (n_rows, *shape) dropout keeps, decided by 16 random bits each.

    The probability is exact to 2^-16, in a fraction of the time of `torch.nn.functional.dropout`,
    which draws a float for every value.
    """
    n_values = n_rows * shape.numel()
    bits = torch.empty(-(-n_values // 4), dtype=torch.int64, device=device).random_(-(2**63), None)
    least = min(round((dropout - 0.5) * 2**16), 2**15 - 1)
    return bits.view(torch.int16)[:n_values].view(n_rows, *shape) >= least


def count_parameters(network: nn.Module) -> int:
    """Return the number of parameters, frozen ones included.

    Examples
    --------
    >>> from torch import nn
    >>> from walkconv.networks import count_parameters
    >>> count_parameters(nn.Linear(4, 2))
    10
    """
    return sum(parameter.numel() for parameter in network.parameters())


def filled(x: Tensor, missing: Tensor | None) -> Tensor:
    """Return x with 0, the mean of a scaled column, where a value is missing."""
    return x if missing is None else x.masked_fill(missing, 0)


def _fully_connected(plan: NetworkPlan, width: int) -> list[nn.Module]:
    """Return the fully connected layers and the linear output that follow `width` values."""
    dense: list[nn.Module] = []
    for layer in plan.layers:
        if isinstance(layer, FullyConnected):
            dense.append(_linear(width, layer.n_units, str(layer)))
            dense += [nn.BatchNorm1d(layer.n_units)] if plan.normalization == "batch" else []
            dense += [nn.ReLU(), nn.Dropout(plan.dropout)]
            width = layer.n_units
    n_outputs = check_integer(plan.n_outputs, "n_outputs", minimum=1)
    return [*dense, _linear(width, n_outputs, "the output layer")]


def _node_output(output: NodeOutput, width: int, n_nodes: int, n_outputs: int) -> list[nn.Module]:
    """Return the linear output of every node, with shared weights, flattened."""
    if n_outputs != n_nodes * output.n_values:
        raise ValueError(
            f"{output} has {output.n_values} output(s) at each of {n_nodes} nodes: y must have "
            f"{n_nodes * output.n_values} columns, node by node; got {n_outputs}."
        )
    return [_linear(width, output.n_values, str(output)), nn.Flatten()]


def _linear(width: int, n_units: int, name: str) -> nn.Linear:
    if not torch.empty(0).is_meta:  # a loaded model has its weights
        check_parameters(n_units, width, layer=name)
    return nn.Linear(width, n_units)


def _level(plan: NetworkPlan, number: int, n_nodes: int | None) -> Level | None:
    """Return the level that a C or P layer stands on, None if samples are graphs."""
    levels = plan.levels
    if levels is None:
        return None
    if number < len(levels) and levels[number].n_nodes == n_nodes:
        return levels[number]
    given = f"one of {levels[number].n_nodes}" if number < len(levels) else "none"
    raise ValueError(
        f"C and P layers need a level of {n_nodes} nodes from build_levels; got {given}. "
        "Give a graph, or an architecture without them."
    )
