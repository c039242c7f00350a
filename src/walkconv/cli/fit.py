"""``walkconv fit``: a table becomes a model file."""

import logging
from typing import TYPE_CHECKING, Annotated

import typer

from walkconv.cli.network_options import (
    LEARNED_GRAPHS,
    OrderChoice,
    TaskChoice,
    graph_file,
    make_model,
)
from walkconv.cli.options import Quiet, Steps, check_output, hint_at
from walkconv.cli.processes import no_half_model

if TYPE_CHECKING:
    import polars as pl

    from walkconv.io import Target

logger = logging.getLogger(__name__)


def fit(
    data: Annotated[str, typer.Argument(metavar="FILE", help="CSV, CSV.gz, Parquet or npz.")],
    target: Annotated[str, typer.Option(metavar="COLUMN", help="Column to predict.")],
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="Model file to write.")
    ],
    architecture: Annotated[
        str | None,
        typer.Option(
            "--architecture",
            "-a",
            help="By default the best of a few on held-back rows. Layers, such as C20-P4-FC100. "
            "C20 is a graph convolution with 20 filters, P4 "
            "pools groups of 4 columns, G pools all nodes, FC100 is a fully connected layer of 100 "
            "units. (N1 predicts a value at every node, which is possible only in Python.)",
        ),
    ] = None,
    graph: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|FILE",
            help=f"How the columns are related. Learned from the rows: {', '.join(LEARNED_GRAPHS)} "
            "(default: correlation). Or a file with edges or a matrix, as `neighbors` reads it, "
            "whose nodes are columns, by name or by number from 0.",
        ),
    ] = None,
    task: Annotated[
        TaskChoice,
        typer.Option(help="By default text, and at most 20 different whole numbers, are classes."),
    ] = TaskChoice.auto,
    n_neighbors: Annotated[
        int | None,
        typer.Option("--n-neighbors", "-p", min=1, help="Neighbours of a column, itself included."),
    ] = None,
    n_steps: Steps = None,
    order: Annotated[
        OrderChoice | None,
        typer.Option(
            help="What the slots of a filter mean: the rank by visits, or a direction in a layout "
            "of the columns. auto chooses directions if the layout is good."
        ),
    ] = None,
    n_members: Annotated[int | None, typer.Option(min=1, help="Networks in the ensemble.")] = None,
    max_iter: Annotated[int | None, typer.Option(min=1, help="Largest number of epochs.")] = None,
    early_stopping: Annotated[
        bool,
        typer.Option(
            "--early-stopping",
            help="Hold out rows for validation; stop when their score no longer improves.",
        ),
    ] = False,
    random_state: Annotated[
        int | None, typer.Option(help="Seed. The same seed gives the same model.")
    ] = None,
    checkpoint: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Save each epoch here; continue from the file if it exists."
        ),
    ] = None,
    drop: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN", help="Column to ignore; repeatable.")
    ] = None,
    category: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            help="Column of numbers that are categories, such as codes; repeatable. Text is one "
            "without this option.",
        ),
    ] = None,
    test: Annotated[
        str | None, typer.Option(metavar="FILE", help="Table to test the model on.")
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Train a network on a table and save it.

    `torchrun --nproc-per-node 2 -m walkconv fit ...` trains in two processes. The losses are the
    same up to rounding, and the predictions agree to about four digits.
    """
    import polars as pl

    import walkconv
    from walkconv import io

    if output == "-":
        raise ValueError("--output must be a file: a model cannot go to stdout. Name a file.")
    file = graph_file(graph)
    inputs = {"FILE": data, "--test": test, "--checkpoint": checkpoint, "--graph": file}
    check_output(output, inputs, checkpoint=checkpoint)
    named_graph = None if file is None else io.read_graph(file)
    X, chosen = _read(data, target, task, drop or [], category or [])
    names, n_rows = X.collect_schema().names(), len(chosen.values)
    logger.info(f"{chosen.task} ({chosen.reason}): {n_rows} rows, {len(names)} features")
    held_out = None
    if test is not None:
        rows = io.read_table(test)
        y_test = io.take_target(rows, target, task=chosen.task, source=test).values
        text = [name for name, kind in X.collect_schema().items() if kind != pl.Float64]
        text = [] if isinstance(X, pl.LazyFrame) else text
        held_out = io.take_features(rows, names, text=text, source=test), y_test
    related = graph
    if named_graph is not None:
        related = named_graph.align(names)
        n_nodes = len(named_graph.names)
        logger.info(f"graph of {graph}: {n_nodes} of {len(names)} columns, {related.nnz} edges")

    model = make_model(
        chosen.task,
        architecture=architecture,
        graph=related,
        n_neighbors=n_neighbors,
        n_steps=n_steps,
        order=order and order.value,
        n_members=n_members,
        max_iter=max_iter,
        early_stopping=early_stopping or None,
        random_state=random_state,
        verbose=0 if quiet else 1,
    )
    with no_half_model(output, checkpoint), walkconv.join_processes() as processes:
        model.fit(X, chosen.values, checkpoint=checkpoint)
    if not processes.is_first:
        return
    model.save(output)
    if order == "auto" and model.orientation_ is not None:
        logger.info(f"slots in order of {model.orientation_.order}: {model.orientation_.reason}")
    logger.info(f"{model.n_parameters_:,} parameters in {output}")
    if held_out is not None:
        measure = "accuracy" if chosen.task == "classification" else "R2"
        logger.info(f"{measure} on {test}: {model.score(*held_out):.4f}")


def _read(
    data: str, target: str, task: TaskChoice, drop: list[str], categories: list[str]
) -> "tuple[pl.DataFrame | pl.LazyFrame, Target]":
    """Return the features and the target; of a large file, features that are read in blocks."""
    from walkconv import io

    frame, dropped = io.scan_large_table(data), [target, *drop]
    if frame is None:
        table = io.read_table(data)
        chosen = io.take_target(table, target, task=task.value, source=data)
        with hint_at("--drop"):
            X = io.take_features(table, drop=dropped, text=True, categories=categories, source=data)
            return X, chosen
    if categories:
        raise ValueError(
            f"--category needs a table in memory; {data} is read in blocks. Encode these columns."
        )
    io.select_columns(frame.head(0).collect(), dropped, source=data)
    chosen = io.take_target(frame.select(target).collect(), target, task=task.value, source=data)
    logger.info(f"{data} is larger than 2 GiB in memory: it is read in blocks")
    return frame.drop(dropped), chosen
