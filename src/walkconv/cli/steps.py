"""The option ``--n-steps``, which `fit` and `neighbors` share."""

from typing import Annotated, Any

import typer


def parse_steps(text: str) -> int | str:
    """Return a number of steps, or "auto"."""
    if text == "auto":
        return text
    try:
        return int(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is neither a whole number nor 'auto'.") from None


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
