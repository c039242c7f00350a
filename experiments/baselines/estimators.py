"""Estimators that differ from ours in the convolution alone."""

from typing import Any

from torch import nn

from walkconv import GraphCNNClassifier, GraphCNNRegressor
from walkconv.models import Level, Network, parse_architecture

KINDS = {"classification": GraphCNNClassifier, "regression": GraphCNNRegressor}


def estimators_with(convolution: Any) -> dict[str, type]:
    """Return the classifier and the regressor, by task, whose C layers are of another kind.

    Parameters
    ----------
    convolution : type
        A module made from (c_in, c_out, graph, neighbors), the last two those of the level on
        which it stands. Everything else, pooling and training too, is ours.
    """

    class BaselineNetwork(Network):
        """Our network with another convolution in it."""

        def make_convolution(self, c_in: int, c_out: int, level: Level) -> nn.Module:
            return convolution(c_in, c_out, level.graph, level.neighbors)

    def make_network(self: Any, n_nodes: int, n_channels: int, n_outputs: int) -> nn.Module:
        """Return a new network, untrained."""
        return BaselineNetwork(
            parse_architecture(self.architecture),
            self.levels_,
            n_nodes=n_nodes,
            n_channels=n_channels,
            n_outputs=n_outputs,
            pooling=self.pooling,
            normalization=self.normalization,
            dropout=self.dropout,
            conv_dropout=self.conv_dropout,
            conv_dropped=self.conv_dropped,
        )

    body = {"make_network": make_network, "__doc__": convolution.__doc__}
    return {
        task: type(convolution.__name__ + kind.__name__.removeprefix("GraphCNN"), (kind,), body)
        for task, kind in KINDS.items()
    }
