"""Estimators that differ from ours in the convolution alone."""

from typing import Any, ClassVar

from torch import nn

from experiments.baselines.network import BaselineNetwork
from walkconv import GraphCNNClassifier, GraphCNNRegressor
from walkconv.estimators.base import GraphCNN


class Baseline(GraphCNN):
    """What makes one of our estimators a baseline; put before it among the bases."""

    convolution: ClassVar[type[nn.Module]]

    def _make_network(self, settings: Any) -> BaselineNetwork:
        n_nodes, n_channels = self.scaling_.mean.shape
        return BaselineNetwork(
            self.convolution,
            self.graph_,
            settings.layers,
            self.neighbors_,
            n_nodes=n_nodes,
            n_channels=n_channels,
            n_outputs=self._n_outputs,
            **settings.network,
        )


def estimators_with(convolution: type[nn.Module]) -> dict[str, type]:
    """Return the classifier and the regressor, by task, that use a convolution."""
    kinds = {"classification": GraphCNNClassifier, "regression": GraphCNNRegressor}
    return {
        task: type(
            convolution.__name__ + kind.__name__.removeprefix("GraphCNN"),
            (Baseline, kind),
            {"convolution": convolution, "__doc__": convolution.__doc__},
        )
        for task, kind in kinds.items()
    }
