"""The estimators: a table becomes a graph, the graph a network, the network predictions."""

from .classifier import GraphCNNClassifier
from .model_file import load
from .regressor import GraphCNNRegressor
from .supervised import supervised_graph

__all__ = ["GraphCNNClassifier", "GraphCNNRegressor", "load", "supervised_graph"]
