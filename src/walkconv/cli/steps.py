"""The option ``--n-steps``, which `fit` and `neighbors` share."""

from typing import Annotated, Any

import typer


def parse_steps(text: str) -> int | str:
    """Return a number of steps, or "auto"."""
    if text == "auto":
        return text
    if not text.isdecimal():
        raise typer.BadParameter(f"{text!r} is neither a whole number from 0 nor 'auto'.")
    return int(text)


Steps = Annotated[
    Any,
    typer.Option(
        "--n-steps",
        "-k",
        parser=parse_steps,
        metavar="<int>|auto",
        help="Steps of the walk; auto takes enough to find all neighbours.",
    ),
]
