"""Estimators that differ from ours in the convolution alone."""

from typing import Any

from torch import nn

from experiments.estimators import KINDS
from walkconv.networks import Level, Network, NetworkPlan


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

        def make_convolution(self, c_in: int, c_out: int, level: Level | None) -> nn.Module:
            assert level is not None
            return convolution(c_in, c_out, level.graph, level.neighbors)

    def make_network(self: Any, plan: NetworkPlan) -> nn.Module:
        """Return a new network, untrained."""
        return BaselineNetwork(plan)

    body = {"make_network": make_network, "__doc__": convolution.__doc__}
    return {
        task: type(convolution.__name__ + kind.__name__.removeprefix("GraphCNN"), (kind,), body)
        for task, kind in KINDS.items()
    }
