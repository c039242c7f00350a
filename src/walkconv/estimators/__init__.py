"""The estimators: a table becomes a graph, the graph a network, the network predictions."""

from .classifier import GraphCNNClassifier
from .loading import load
from .regressor import GraphCNNRegressor

__all__ = ["GraphCNNClassifier", "GraphCNNRegressor", "load"]
