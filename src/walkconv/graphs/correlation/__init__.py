"""The graph of correlations between columns.

`graph.py` is what users call. `columns.py` standardises blocks of columns and multiplies them.
With `n_edges`, `search.py` finds the strongest correlations and `strongest.py` holds them.
"""

from .graph import correlate_columns, correlation_graph, edges_to_keep

__all__ = ["correlate_columns", "correlation_graph", "edges_to_keep"]
