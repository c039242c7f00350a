"""Graphs in files, with the names of their nodes."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl
import scipy.sparse as sp

from walkconv._checks import check_flag, check_option, listed
from walkconv.io.edge_lists import graph_of_edges, has_ends, is_edge_list, read_edge_text
from walkconv.io.formats import EDGE_TEXT, TABLE_ENDINGS, ending_of
from walkconv.io.matrices import is_matrix_file, matrix_of_table, read_matrix_file
from walkconv.io.tables import read_table

GraphKind = Literal["auto", "edges", "matrix"]
FileKind = Literal["auto", "edges", "matrix", "table"]


@dataclass(frozen=True)
class NamedGraph:
    """A graph and the names of its nodes.

    Attributes
    ----------
    names : polars Series of shape (n_nodes,)
        Names or numbers of the nodes.
    graph : csr_array of shape (n_nodes, n_nodes)
        Entry (i, j) is the weight of the edge from i to j.
    source : str
        What an error calls the graph.
    is_numbered : bool
        Whether the file has no names, so that `names` are only the numbers of the rows.

    Examples
    --------
    >>> import polars as pl
    >>> from walkconv import graph_from_edges
    >>> from walkconv.io import NamedGraph
    >>> friends = NamedGraph(pl.Series(["ada", "bob"]), graph_from_edges([(0, 1)]))
    >>> friends.align(["cyd", "bob", "ada"]).toarray()
    array([[0., 0., 0.],
           [0., 0., 1.],
           [0., 1., 0.]])
    """

    names: pl.Series
    graph: sp.csr_array
    source: str = "the graph"
    is_numbered: bool = False

    def align(self, columns: Sequence[str]) -> sp.csr_array:
        """Return the graph (n_columns, n_columns) in the order of the columns of a table.

        Nodes are found by name, or else by number from 0. A column without a node has no edges.
        """
        n_columns = len(columns)
        if self.is_numbered:
            if self.graph.shape != (n_columns, n_columns):
                raise ValueError(
                    f"The graph in {self.source} must have one node for each of the {n_columns} "
                    f"feature columns; its matrix has shape {self.graph.shape}."
                )
            return self.graph
        column_of = self._match(columns)
        index = np.array([column_of[label] for label in self.names.cast(pl.String)])
        edges = sp.coo_array(self.graph)
        ends = index[edges.row], index[edges.col]
        return sp.csr_array((edges.data, ends), shape=(n_columns, n_columns))

    def _match(self, columns: Sequence[str]) -> dict[str, int]:
        """Return the number of the column for each label, by name or else by number."""
        labels = self.names.cast(pl.String).to_list()
        by_name = {column: number for number, column in enumerate(columns)}
        by_number = {str(number): number for number in range(len(columns))}
        for column_of in (by_name, by_number):
            if column_of.keys() >= set(labels):
                return column_of
        unknown = [label for label in labels if label not in by_name | by_number] or labels
        from_one = {str(number + 1) for number in range(len(columns))} >= set(labels)
        hint = "They seem to be numbered from 1." if from_one else "Remove their edges."
        raise ValueError(
            f"The nodes of {self.source} must be feature columns, by name or numbered from 0 to "
            f"{len(columns) - 1}; these are not: {listed(unknown)}. {hint}"
        )


def read_graph(
    path: str | os.PathLike[str], *, directed: bool = False, kind: GraphKind = "auto"
) -> NamedGraph:
    r"""Return the graph in a file.

    Parameters
    ----------
    path : path
        Edges as text (``.txt``, ``.edges``, also with ``.gz``), a line ``source target`` or
        ``source target weight`` for each; a matrix (``.mtx``, ``.mtx.gz``, or an npz with CSR
        arrays); a table that `read_table` reads; or ``-`` for CSV from standard input.
    directed : bool, default False
        Whether edges of a list lead only from source to target. A matrix has its directions.
    kind : {"auto", "edges", "matrix"}, default "auto"
        What a table is. "edges": the first two columns are the ends of the edges, or those named
        source and target; a third is the weight. "matrix": a square table, whose first column may
        name the rows. By default a table with the columns source and target is a list of edges, and
        any other is a matrix.

    Returns
    -------
    NamedGraph
        `names` (n_nodes,), sorted for a list of edges, and `graph` (n_nodes, n_nodes).

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from walkconv.io import read_graph
    >>> path = Path(tempfile.mkdtemp()) / "friends.txt"
    >>> _ = path.write_text("ada bob 2\nbob cyd 1\n")
    >>> friends = read_graph(path)
    >>> friends.names.to_list()
    ['ada', 'bob', 'cyd']
    >>> friends.graph.toarray()
    array([[0., 2., 0.],
           [2., 0., 1.],
           [0., 1., 0.]])
    """
    check_option(kind, "kind", ["auto", "edges", "matrix"])
    path = os.fspath(path)
    if _is_matrix(path, kind):
        return _read_matrix(path, directed)
    table = _read_edges_or_table(path)
    if kind == "edges" or has_ends(table):
        return NamedGraph(*graph_of_edges(table, path, directed=directed), path)
    _refuse_directed(path, directed, "a matrix")
    hint = "If it is a list of edges, name its columns source and target."
    return NamedGraph(*matrix_of_table(table, path, hint=hint), path)


def read_graph_or_table(
    path: str | os.PathLike[str], *, directed: bool = False, kind: FileKind = "auto"
) -> NamedGraph | pl.DataFrame:
    r"""Return the graph in a file, or the table if the file does not hold a graph.

    Parameters
    ----------
    path : path
        As in `read_graph`.
    directed : bool, default False
        Whether edges of a list lead only from source to target.
    kind : {"auto", "edges", "matrix", "table"}, default "auto"
        What the file holds. By default text and a table with the columns source, target and perhaps
        weight, but no others, are edges; Matrix Market and CSR arrays are a matrix; everything
        else is a table.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from walkconv.io import read_graph_or_table
    >>> path = Path(tempfile.mkdtemp()) / "flowers.csv"
    >>> _ = path.write_text("length,width\n1.5,1\n2.5,2\n")
    >>> read_graph_or_table(path).columns
    ['length', 'width']
    """
    check_option(kind, "kind", ["auto", "edges", "matrix", "table"])
    path = os.fspath(path)
    if _is_matrix(path, kind):
        return _read_matrix(path, directed)
    table = _read_edges_or_table(path)
    if kind == "edges" or (kind == "auto" and is_edge_list(table)):
        return NamedGraph(*graph_of_edges(table, path, directed=directed), path)
    _refuse_directed(path, directed, "a table")
    return table


def _is_matrix(path: str, kind: FileKind) -> bool:
    return kind == "matrix" or (kind == "auto" and is_matrix_file(path))


def _read_matrix(path: str, directed: bool) -> NamedGraph:
    _refuse_directed(path, directed, "a matrix")
    if path == "-" or ending_of(path) in TABLE_ENDINGS:
        hint = "If it is a list of edges, choose the kind edges."
        return NamedGraph(*matrix_of_table(read_table(path), path, hint=hint), path)
    return NamedGraph(*read_matrix_file(path), path, is_numbered=True)


def _read_edges_or_table(path: str) -> pl.DataFrame:
    return read_edge_text(path) if ending_of(path) in EDGE_TEXT else read_table(path)


def _refuse_directed(path: str, directed: bool, kind: str) -> None:
    if check_flag(directed, "directed"):
        raise ValueError(f"directed is for a list of edges; {path} is read as {kind}.")
