"""``walkconv report``: a model file and test rows become a page to look at."""

import logging
from typing import Annotated

import typer

from walkconv.cli.options import Quiet, check_output, hint_at

logger = logging.getLogger(__name__)


def report(
    model: Annotated[
        str, typer.Argument(metavar="MODEL", help="Model file that `walkconv fit` wrote.")
    ],
    data: Annotated[
        str | None,
        typer.Argument(
            metavar="[FILE]",
            help="Table of test rows, with the columns of the model and the target. Without it the "
            "report has no scores.",
        ),
    ] = None,
    target: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column of FILE that is predicted.")
    ] = None,
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="HTML file to write; a model card if it ends in .md.",
        ),
    ] = "report.html",
    quiet: Quiet = False,
) -> None:
    """Write a report on a model: what it learned, how well it predicts, where it fails."""
    import walkconv
    from walkconv import io

    if output == "-":
        raise ValueError("--output must be a file: a page cannot go to stdout. Name a file.")
    if (data is None) != (target is None):
        raise ValueError(
            "FILE and --target must be given together: the target is a column of the file. Give "
            "both, or neither for a report without scores."
        )
    check_output(output, {"MODEL": model, "FILE": data})
    fitted = walkconv.load(model)
    X = y = None
    if data is not None and target is not None:
        table = io.read_table(data)
        task = "classification" if hasattr(fitted, "classes_") else "regression"
        y = io.take_target(table, target, task=task, source=data).values
        names = getattr(fitted, "feature_names_in_", None)
        if names is None:
            with hint_at("--target"):
                X = io.take_features(table, drop=[target], source=data).to_numpy()
        else:
            encoding = fitted.table_encoding_
            text = [] if encoding is None else sorted(set(names) - set(encoding.number_names))
            X = io.take_features(table, list(names), text=text, source=data)
    fitted.report(output, X, y)
    logger.info(f"report in {output}")
