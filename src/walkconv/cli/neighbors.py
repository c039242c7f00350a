"""``walkconv neighbors``: edges, a matrix or a table become the neighbours of every node."""

import logging
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from walkconv._defaults import N_NEIGHBORS
from walkconv.cli.options import Quiet, Steps, check_output, hint_at

if TYPE_CHECKING:
    import polars as pl

    from walkconv.io import NamedGraph

logger = logging.getLogger(__name__)


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
            help="Neighbours of a node, the node itself included. "
            f"Default: {N_NEIGHBORS}, or all nodes of a smaller graph.",
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
            help="What the file holds. By default columns `source` and `target`, or .txt, are "
            "edges; .mtx is a matrix; everything else is a table."
        ),
    ] = KindChoice.auto,
    directed: Annotated[
        bool,
        typer.Option("--directed", help="Edges of a list lead only from source to target."),
    ] = False,
    drop: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="Column of a table to ignore; repeatable."),
    ] = None,
    checkpoint: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Save finished nodes here; continue from the file if it exists."
        ),
    ] = None,
    quiet: Quiet = False,
) -> None:
    """List the nodes that a random walk visits most from every node, most visited first.

    The nodes of a table are its columns, and edges are their correlations. A matrix (Matrix
    Market, CSR arrays in an npz, or with --kind matrix a square table, whose first column may name
    the rows) is the graph itself. With --kind edges the first two columns of a table are the ends
    of the edges, whatever their names, and a third column is the weight.
    """
    import walkconv
    from walkconv import io

    inputs = {"FILE": data, "--checkpoint": checkpoint}
    check_output(output, inputs, endings=io.NEIGHBORS_ENDINGS, checkpoint=checkpoint)
    held = io.read_graph_or_table(data, kind=kind.value, directed=directed)
    if not isinstance(held, io.NamedGraph):
        is_guessed = kind == KindChoice.auto
        before = "If it is a graph, add --kind edges or --kind matrix." if is_guessed else ""
        with hint_at("--drop", before=before):
            table = io.take_features(held, drop=drop or [], source=data)
        if is_guessed:
            logger.info(
                "read %s as a table: %d columns, edges are their correlations; add --kind edges or "
                "--kind matrix if it is a graph",
                data,
                table.width,
            )
        held = _correlate(table, n_neighbors or N_NEIGHBORS, is_ranked_at_once=n_steps == 1)
    elif drop:
        raise ValueError(f"--drop is for columns of a table; {data} is read as a graph.")
    found = walkconv.select_neighbors(
        held.graph,
        n_neighbors=n_neighbors or min(N_NEIGHBORS, len(held.names)),
        n_steps=n_steps,
        checkpoint=checkpoint,
        verbose=0 if quiet else 1,
    )
    io.write_neighbors(found, held.names, output)
    logger.info(
        f"{len(held.names)} nodes, {held.graph.nnz} edges, {found.n_steps} step(s): "
        f"{found.coverage:.1%} of the nodes fill all {found.n_neighbors} slots"
    )


def _correlate(table: "pl.DataFrame", n_neighbors: int, *, is_ranked_at_once: bool) -> "NamedGraph":
    """Return the columns of a table as nodes, joined by their correlation."""
    import polars as pl

    import walkconv
    from walkconv.graphs import edges_to_keep
    from walkconv.io import NamedGraph

    n_edges = edges_to_keep(table.width, n_neighbors, is_ranked_at_once=is_ranked_at_once)
    if n_edges is not None:
        logger.info(
            "keeping only the %d strongest correlations of each of the %d columns; the walk uses "
            "these",
            n_edges,
            table.width,
        )
    graph = walkconv.correlation_graph(table, n_edges=n_edges)
    return NamedGraph(pl.Series("node", table.columns), graph)
