"""``walkconv fit``: a table becomes a model file."""

from enum import StrEnum
from typing import Annotated

import typer

from walkconv.cli.steps import Steps


class TaskChoice(StrEnum):
    """What to learn."""

    auto = "auto"
    classification = "classification"
    regression = "regression"


class OrderChoice(StrEnum):
    """What a slot of a filter means."""

    visits = "visits"
    direction = "direction"
    auto = "auto"


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
            help="Layers, such as C20-P4-FC100: C20 is a convolution with 20 filters, P4 pools "
            "groups of 4 columns, G reads all nodes out, FC100 is fully connected with 100 units. "
            "N1 at the end answers at every node; it needs a target for each, so only in Python.",
        ),
    ] = None,
    graph: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|FILE",
            help="How the columns are related: correlation (the default), knn, heat_kernel or "
            "supervised, learned from the rows; or a file as `neighbors` reads them, edges or a "
            "matrix, whose nodes are columns by name or by number.",
        ),
    ] = None,
    task: Annotated[
        TaskChoice, typer.Option(help="By default text or few whole numbers are classes.")
    ] = TaskChoice.auto,
    n_neighbors: Annotated[
        int | None,
        typer.Option("--n-neighbors", "-p", min=1, help="Neighbours of a column, with itself."),
    ] = None,
    n_steps: Steps = None,
    order: Annotated[
        OrderChoice | None,
        typer.Option(help="Slots are ranks by visits, directions of a layout, or what fits."),
    ] = None,
    n_members: Annotated[int | None, typer.Option(min=1, help="Networks to average.")] = None,
    max_epochs: Annotated[int | None, typer.Option(min=1, help="Passes over the rows.")] = None,
    early_stopping: Annotated[
        bool,
        typer.Option(
            "--early-stopping", help="Hold rows out, and stop when their score no longer improves."
        ),
    ] = False,
    random_state: Annotated[int | None, typer.Option(help="Seed: same seed, same model.")] = None,
    checkpoint: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Follow the epochs here; continue from it if it is there."
        ),
    ] = None,
    drop: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN", help="Column to leave out; repeatable.")
    ] = None,
    test: Annotated[
        str | None, typer.Option(metavar="FILE", help="Table to score the model on.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing.")] = False,
) -> None:
    """Train a network on a table and save it.

    `torchrun --nproc-per-node 2 -m walkconv fit ...` trains in two processes: its losses are the
    same to rounding, predictions to about four digits.
    """
    import walkconv
    from walkconv._files import check_writable
    from walkconv.cli.column_graph import on_columns, read_graph
    from walkconv.cli.features import MEND, as_numbers, read_features
    from walkconv.cli.interrupts import no_half_model
    from walkconv.cli.outputs import check_output
    from walkconv.cli.tables import leave_out, pick, read_table
    from walkconv.cli.task import guess_task, target_values

    def say(text: str) -> None:
        if not quiet:
            typer.echo(text, err=True)

    inputs = {"FILE": data, "--test": test, "--checkpoint": checkpoint, "--graph": graph}
    if output == "-":
        raise ValueError("--output must be a file: a model is not written to stdout. Name one.")
    check_output(output, inputs)
    if checkpoint is not None:
        check_writable(checkpoint)
    if architecture is not None:
        from walkconv.models import parse_architecture  # brings torch

        parse_architecture(architecture)
    known = None if graph is None else read_graph(graph, say)
    table = read_table(data)
    column = pick(table, [target], data).to_series()
    others = leave_out(table, [target, *(drop or [])], data)
    X = read_features(others, data, say, option="--drop")
    chosen, reason = (task.value, "as asked") if task != "auto" else guess_task(column)
    y = target_values(column, chosen)
    say(f"{chosen} ({reason}): {X.height} rows, {X.width} features")
    held_out = None
    if test is not None:
        rows = read_table(test)
        y_test = target_values(pick(rows, [target], test).to_series(), chosen)
        held_out = as_numbers(pick(rows, X.columns, test), test, remedy=MEND), y_test

    related = graph
    if known is not None:
        names, matrix = known
        related = on_columns(names, matrix, X.columns, str(graph))
        say(f"graph of {graph}: {matrix.shape[0]} of {X.width} columns, {related.nnz} edges")

    settings = {
        "architecture": architecture,
        "graph": related,
        "n_neighbors": n_neighbors,
        "n_steps": n_steps,
        "order": order and order.value,
        "n_members": n_members,
        "max_iter": max_epochs,
        "early_stopping": early_stopping or None,
        "random_state": random_state,
        "checkpoint": checkpoint,
    }
    given = {name: value for name, value in settings.items() if value is not None}
    name = "GraphCNNClassifier" if chosen == "classification" else "GraphCNNRegressor"
    model = getattr(walkconv, name)(**given, verbose=0 if quiet else 1)
    with no_half_model(output, checkpoint), walkconv.join_processes() as processes:
        model.fit(X, y)
    if not processes.is_first:
        return
    model.save(output)
    if order == "auto" and model.orientation_ is not None:
        say(f"slots in order of {model.orientation_.order}: {model.orientation_.reason}")
    say(f"{model.n_parameters_:,} parameters in {output}")
    if held_out is not None:
        measure = "accuracy" if chosen == "classification" else "R2"
        say(f"{measure} on {test}: {model.score(*held_out):.4f}")
