"""Features become a graph: a CSR similarity matrix over the columns of a table."""

from .correlation import correlation_graph, edges_to_keep
from .edge_list import graph_from_edges
from .grid import grid_graph
from .heat_kernel import heat_kernel_graph
from .knn import knn_graph

__all__ = [
    "correlation_graph",
    "edges_to_keep",
    "graph_from_edges",
    "grid_graph",
    "heat_kernel_graph",
    "knn_graph",
]
