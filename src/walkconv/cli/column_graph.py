"""A graph in a file whose nodes are the columns of a table."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import polars as pl
import scipy.sparse as sp

from walkconv._checks import listed
from walkconv.cli.edges import graph_of_edges, has_ends, read_edges_or_table
from walkconv.cli.matrices import is_matrix, matrix_of, read_matrix


def read_graph(path: str, say: Callable[[str], None]) -> tuple[pl.Series | None, sp.sparray] | None:
    """Return the names of the nodes (n_nodes,) in a file and their matrix (n_nodes, n_nodes).

    A matrix without names has None for them. A graph that is learned is no file: then all is None.
    `say` takes a note of what was left out.
    """
    from walkconv.estimators.graph_source import LEARNERS  # brings torch

    if path in LEARNERS:
        return None
    if not Path(path).is_file():
        learners = ", ".join(LEARNERS)
        raise ValueError(f"--graph must be a file or one of {learners}; got {path!r}.")
    if is_matrix(path):
        return None, read_matrix(path)[1]
    table = read_edges_or_table(path)
    if has_ends(table):
        return graph_of_edges(table, path, say)
    hint = "If it is a list of edges, its columns must be named source and target"
    return matrix_of(table, path, hint=hint)


def on_columns(
    names: pl.Series | None, matrix: sp.sparray, columns: Sequence[str], path: str
) -> sp.csr_array:
    """Return a graph as a matrix (n_columns, n_columns) in the order of the columns.

    Nodes are found by name, or else by number from 0; a column that is no node has no edge.
    """
    n_columns = len(columns)
    if names is None:
        if matrix.shape != (n_columns, n_columns):
            raise ValueError(
                f"The graph in {path} must have a node for each of the {n_columns} feature "
                f"columns; its matrix has the shape {matrix.shape}."
            )
        return sp.csr_array(matrix)
    labels = names.cast(pl.String).to_list()
    by_name = {column: place for place, column in enumerate(columns)}
    by_number = {str(place): place for place in range(n_columns)}
    places = next((each for each in (by_name, by_number) if each.keys() >= set(labels)), None)
    if places is None:
        unknown = [label for label in labels if label not in by_name | by_number] or labels
        from_one = {str(place + 1) for place in range(n_columns)} >= set(labels)
        hint = "They seem to be numbered from 1." if from_one else "Leave their edges out."
        raise ValueError(
            f"The nodes of {path} must be feature columns, by name or numbered from 0 to "
            f"{n_columns - 1}; these are not: {listed(unknown)}. {hint}"
        )
    place = np.array([places[label] for label in labels])
    edges = sp.coo_array(matrix)
    ends = place[edges.row], place[edges.col]
    return sp.csr_array((edges.data, ends), shape=(n_columns, n_columns))
