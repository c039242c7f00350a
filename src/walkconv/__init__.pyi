# The public names, one line each; `__init__.py` loads each room when its first name is used.
from ._adapters import as_graph as as_graph
from .conv import graph_conv as graph_conv
from .estimators import GraphCNNClassifier as GraphCNNClassifier
from .estimators import GraphCNNRegressor as GraphCNNRegressor
from .estimators import load as load
from .graphs import correlation_graph as correlation_graph
from .graphs import graph_from_edges as graph_from_edges
from .graphs import grid_graph as grid_graph
from .graphs import heat_kernel_graph as heat_kernel_graph
from .graphs import knn_graph as knn_graph
from .layers import GraphConv as GraphConv
from .walks import Neighbors as Neighbors
from .walks import diagnose as diagnose
from .walks import expected_visits as expected_visits
from .walks import select_neighbors as select_neighbors
from .walks import transition_matrix as transition_matrix
