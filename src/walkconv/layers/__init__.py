"""The layers: modules that hold filters, and pooling between them."""

from .conv import GraphConv
from .pool import GraphPool, GroupTables, group_tables, join_group_tables
from .readout import GraphReadout

__all__ = [
    "GraphConv",
    "GraphPool",
    "GraphReadout",
    "GroupTables",
    "group_tables",
    "join_group_tables",
]
