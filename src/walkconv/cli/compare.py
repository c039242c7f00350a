"""``walkconv compare``: whether the graph helps on a table."""

import logging
from typing import Annotated

import typer

from walkconv.cli.network_options import (
    LEARNED_GRAPHS,
    OrderChoice,
    TaskChoice,
    graph_file,
    make_model,
)
from walkconv.cli.options import Quiet, Steps, check_output, hint_at

logger = logging.getLogger(__name__)


def compare(
    data: Annotated[str, typer.Argument(metavar="FILE", help="CSV, CSV.gz, Parquet or npz.")],
    target: Annotated[str, typer.Option(metavar="COLUMN", help="Column to predict.")],
    architecture: Annotated[
        str | None, typer.Option("--architecture", "-a", help="Layers, as in `walkconv fit`.")
    ] = None,
    graph: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|FILE",
            help=f"How the columns are related: {', '.join(LEARNED_GRAPHS)}, or a file with edges "
            "or a matrix.",
        ),
    ] = None,
    task: Annotated[
        TaskChoice, typer.Option(help="Whether the target holds classes or quantities.")
    ] = TaskChoice.auto,
    n_neighbors: Annotated[
        int | None,
        typer.Option("--n-neighbors", "-p", min=1, help="Neighbours of a column, itself included."),
    ] = None,
    n_steps: Steps = None,
    order: Annotated[
        OrderChoice | None, typer.Option(help="What the slots of a filter mean.")
    ] = None,
    max_iter: Annotated[int | None, typer.Option(min=1, help="Largest number of epochs.")] = None,
    n_splits: Annotated[int, typer.Option(min=2, help="Folds of a cross-validation.")] = 5,
    n_repeats: Annotated[int, typer.Option(min=1, help="Cross-validations.")] = 2,
    jobs: Annotated[int, typer.Option(help="Processes that fit at the same time.")] = 1,
    random_state: Annotated[int, typer.Option(min=0, help="Seed of the folds and the fits.")] = 0,
    checkpoint: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Save each split here; continue from the file if it exists."
        ),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="FILE", help="CSV or Parquet with every fit."),
    ] = None,
    drop: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN", help="Column to ignore; repeatable.")
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Test whether the graph of the columns helps: cross-validate with it, without it and others.

    Prints the error of the network, of the same network without neighbours and with random ones,
    and of simple models, and one sentence about the graph.
    """
    import walkconv
    from walkconv import io

    file = graph_file(graph)
    inputs = {"FILE": data, "--graph": file, "--checkpoint": checkpoint}
    check_output(output, inputs, endings=io.TABLE_ENDINGS, checkpoint=checkpoint)
    table = io.read_table(data)
    chosen = io.take_target(table, target, task=task.value, source=data)
    with hint_at("--drop"):
        X = io.take_features(table, drop=[target, *(drop or [])], text=True, source=data)
    logger.info(f"{chosen.task} ({chosen.reason}): {X.height} rows, {X.width} features")
    model = make_model(
        chosen.task,
        architecture=architecture,
        graph=graph if file is None else io.read_graph(file).align(X.columns),
        n_neighbors=n_neighbors,
        n_steps=n_steps,
        order=order and order.value,
        max_iter=max_iter,
    )
    found = walkconv.compare(
        model,
        X,
        chosen.values,
        n_splits=n_splits,
        n_repeats=n_repeats,
        n_jobs=jobs,
        checkpoint=checkpoint,
        random_state=random_state,
        verbose=0 if quiet else 1,
    )
    if output is not None:
        io.write_table(found.scores, output)
    typer.echo(str(found))
