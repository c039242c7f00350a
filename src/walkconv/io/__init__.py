r"""Tables, graphs and neighbours in files.

The format of a file follows from the end of its name: ``.csv``, ``.tsv`` (also with ``.gz``),
``.parquet``, ``.npz``, and for graphs ``.txt``, ``.edges`` and ``.mtx``. The path ``-`` is standard
input or output, as CSV. What these functions leave out of a file they report to the logger
``walkconv``, at level INFO.

Examples
--------
>>> import tempfile
>>> from pathlib import Path
>>> import walkconv
>>> folder = Path(tempfile.mkdtemp())
>>> _ = (folder / "edges.csv").write_text("source,target\nada,bob\nbob,cyd\n")
>>> friends = walkconv.io.read_graph(folder / "edges.csv")
>>> found = walkconv.select_neighbors(friends.graph, n_neighbors=2)
>>> walkconv.io.write_neighbors(found, friends.names, folder / "neighbors.csv")
>>> walkconv.io.read_table(folder / "neighbors.csv").height
6
"""

from .columns import ColumnError, select_columns, take_features
from .formats import NEIGHBORS_ENDINGS, TABLE_ENDINGS, check_writable
from .graphs import NamedGraph, read_graph, read_graph_or_table
from .neighbors import write_neighbors
from .parts import read_table_parts, scan_large_table
from .tables import read_table
from .target import Target, take_target
from .writing import write_table, write_table_parts

__all__ = [
    "NEIGHBORS_ENDINGS",
    "TABLE_ENDINGS",
    "ColumnError",
    "NamedGraph",
    "Target",
    "check_writable",
    "read_graph",
    "read_graph_or_table",
    "read_table",
    "read_table_parts",
    "scan_large_table",
    "select_columns",
    "take_features",
    "take_target",
    "write_neighbors",
    "write_table",
    "write_table_parts",
]
