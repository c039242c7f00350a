"""``walkconv neighbors``: an edge list or a table becomes the neighbours of every node."""

from enum import StrEnum
from typing import Annotated

import typer

from walkconv.cli.steps import Steps


class KindChoice(StrEnum):
    """What a file holds."""

    auto = "auto"
    edges = "edges"
    table = "table"


def neighbors(
    data: Annotated[str, typer.Argument(metavar="FILE", help="Edge list or table; - reads CSV.")],
    n_neighbors: Annotated[
        int, typer.Option("--n-neighbors", "-p", help="Neighbours of a node, with itself.")
    ] = 6,
    n_steps: Steps = "1",
    output: Annotated[
        str,
        typer.Option(
            "--output", "-o", metavar="FILE", help="CSV or Parquet to write; - is stdout."
        ),
    ] = "-",
    kind: Annotated[
        KindChoice,
        typer.Option(help="By default columns `source` and `target`, or .txt, are edges."),
    ] = KindChoice.auto,
    directed: Annotated[
        bool, typer.Option("--directed", help="Edges lead only from source to target.")
    ] = False,
    drop: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="Column of a table to leave out; repeatable."),
    ] = None,
) -> None:
    """List the nodes that a random walk visits most from every node, most visited first.

    Of a table the columns are the nodes, joined by their correlation.
    """
    import polars as pl

    import walkconv
    from walkconv.cli.edges import edges_of, is_edge_list, read_edges_or_table
    from walkconv.cli.tables import as_numbers, leave_out, write_table

    table = read_edges_or_table(data)
    if kind == "edges" or (kind == "auto" and is_edge_list(table)):
        names, edge_index, weight = edges_of(table, data)
        graph = walkconv.graph_from_edges(edge_index, weight, n_nodes=len(names), directed=directed)
    else:
        table = as_numbers(leave_out(table, drop or [], data))
        names, graph = pl.Series(table.columns), walkconv.correlation_graph(table)
    found = walkconv.select_neighbors(graph, n_neighbors=n_neighbors, n_steps=n_steps)
    node, rank = (found.index >= 0).nonzero()
    listing = {
        "node": names[node],
        "rank": rank + 1,
        "neighbor": names[found.index[node, rank]],
        "visits": found.visits[node, rank],
        "sign": found.sign[node, rank],
    }
    write_table(pl.DataFrame(listing), output)
    typer.echo(
        f"{len(names)} nodes, {graph.nnz} edges, {found.n_steps} step(s): "
        f"{found.coverage:.1%} of the nodes fill all {found.n_neighbors} slots",
        err=True,
    )
