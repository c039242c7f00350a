"""``walkconv neighbors``: edges, a matrix or a table become the neighbours of every node."""

from enum import StrEnum
from typing import Annotated

import typer

from walkconv.cli.steps import Steps

USUAL = 6
"""Neighbours where no number is given."""


class KindChoice(StrEnum):
    """What a file holds."""

    auto = "auto"
    edges = "edges"
    matrix = "matrix"
    table = "table"


def neighbors(
    data: Annotated[
        str, typer.Argument(metavar="FILE", help="Edges, matrix or table; - reads CSV.")
    ],
    n_neighbors: Annotated[
        int | None,
        typer.Option(
            "--n-neighbors",
            "-p",
            min=1,
            help=f"Neighbours of a node, with itself; {USUAL}, or all nodes of a smaller graph.",
        ),
    ] = None,
    n_steps: Steps = "1",
    output: Annotated[
        str,
        typer.Option(
            "--output", "-o", metavar="FILE", help="CSV, Parquet or npz to write; - is stdout."
        ),
    ] = "-",
    kind: Annotated[
        KindChoice,
        typer.Option(
            help="By default columns `source` and `target`, or .txt, are edges; .mtx is a matrix."
        ),
    ] = KindChoice.auto,
    directed: Annotated[
        bool, typer.Option("--directed", help="A list's edges lead only from source to target.")
    ] = False,
    drop: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="Column of a table to leave out; repeatable."),
    ] = None,
    checkpoint: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Keep finished nodes here; continue from it if it is there."
        ),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing.")] = False,
) -> None:
    """List the nodes that a random walk visits most from every node, most visited first.

    Of a table the columns are the nodes, joined by their correlation. A matrix (Matrix Market, CSR
    arrays in an npz, or with --kind matrix a square table, whose first column may name the rows) is
    the graph as it stands. With --kind edges the first two columns of a table are the ends of the
    edges, whatever their names, and a third is the weight.
    """
    import polars as pl

    import walkconv
    from walkconv._files import check_writable
    from walkconv.cli.edges import graph_of_edges, is_edge_list, read_edges_or_table
    from walkconv.cli.features import read_features
    from walkconv.cli.matrices import is_matrix, read_matrix
    from walkconv.cli.neighbors_file import write_neighbors
    from walkconv.cli.outputs import check_output
    from walkconv.cli.tables import WRITTEN, leave_out

    def say(text: str) -> None:
        if not quiet:
            typer.echo(text, err=True)

    inputs = {"FILE": data, "--checkpoint": checkpoint}
    check_output(output, inputs, endings=(*WRITTEN, ".npz"))
    if checkpoint is not None:
        check_writable(checkpoint)
    table, is_guessed = None, kind == "auto"
    if is_guessed and is_matrix(data):
        kind = KindChoice.matrix
    if kind != "matrix":
        table = read_edges_or_table(data)
        if is_guessed:
            kind = KindChoice.edges if is_edge_list(table) else KindChoice.table
    if directed and kind != "edges":
        raise ValueError(f"--directed is for a list of edges; {data} is read as a {kind}.")
    if drop and kind != "table":
        raise ValueError(f"--drop is for columns of a table; {data} is read as {kind}.")
    if table is None:
        names, graph = read_matrix(data)
    elif kind == "edges":
        names, graph = graph_of_edges(table, data, say, directed=directed)
    else:
        from walkconv.estimators.graph_source import edges_to_keep  # brings torch

        hint = "If it is a graph, add --kind edges or --kind matrix. " if is_guessed else ""
        table = leave_out(table, drop or [], data)
        table = read_features(table, data, say, option="--drop", hint=hint)
        if is_guessed:
            say(
                f"read {data} as a table: {table.width} columns, joined by their correlation; "
                "--kind edges or --kind matrix if it is a graph"
            )
        n_edges = edges_to_keep(table.width, n_neighbors or USUAL, is_ranked_at_once=n_steps == 1)
        if n_edges is not None:
            say(
                f"of {table.width} columns only the {n_edges} strongest correlations of each are "
                "kept; visits are counted on these"
            )
        names = pl.Series(table.columns)
        graph = walkconv.correlation_graph(table, n_edges=n_edges)
    found = walkconv.select_neighbors(
        graph,
        n_neighbors=n_neighbors or min(USUAL, len(names)),
        n_steps=n_steps,
        checkpoint=checkpoint,
        verbose=0 if quiet else 1,
    )
    write_neighbors(found, names, output)
    say(
        f"{len(names)} nodes, {graph.nnz} edges, {found.n_steps} step(s): "
        f"{found.coverage:.1%} of the nodes fill all {found.n_neighbors} slots"
    )
