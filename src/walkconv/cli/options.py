"""What several commands share: options, and checks that name them."""

import logging
import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

SHOWN = 5
"""Names that a message lists before it counts the others."""


def parse_steps(text: str) -> int | str:
    """Return a number of steps, or "auto"."""
    if text == "auto":
        return text
    if not text.isdecimal():
        raise typer.BadParameter(f"{text!r} must be a whole number from 0 or 'auto'.")
    return int(text)


def _set_quiet(is_quiet: bool) -> bool:
    if is_quiet:
        logging.getLogger("walkconv").setLevel(logging.WARNING)
    return is_quiet


Steps = Annotated[
    Any,
    typer.Option(
        "--n-steps",
        "-k",
        parser=parse_steps,
        metavar="<int>|auto",
        help="Steps of the random walk; auto takes enough steps to find all neighbours.",
    ),
]
Quiet = Annotated[
    bool,
    typer.Option("--quiet", "-q", help="Print only warnings and errors.", callback=_set_quiet),
]


def check_output(
    output: str | None,
    inputs: Mapping[str, str | None],
    *,
    endings: Sequence[str] | None = None,
    checkpoint: str | None = None,
) -> None:
    """Refuse an output that would overwrite an input, and one that could not be written.

    Parameters
    ----------
    output : str or None
        The path, if there is one; ``-`` is standard output.
    inputs : dict of str to path or None
        Files that the command reads, by the name of their option in the help text.
    endings : sequence of str, optional
        The ends that its name may have; any end by default.
    checkpoint : str, optional
        Another file that the command writes.
    """
    from walkconv.io import check_writable

    if checkpoint is not None:
        check_writable(checkpoint)
    if output is None:
        return
    for name, source in inputs.items():
        if source is not None and "-" not in (source, output) and _is_same_file(source, output):
            raise ValueError(
                f"{name} and --output must be two different files; both are {output}. Choose "
                "another output."
            )
    check_writable(output, endings=endings)


@contextmanager
def hint_at(option: str, *, before: str = "") -> Iterator[None]:
    """Add to an error about columns how an option drops them.

    Parameters
    ----------
    option : str
        The option of the command that drops a column.
    before : str, optional
        Another hint, which comes first.
    """
    from walkconv.io import ColumnError

    try:
        yield
    except ColumnError as error:
        if before:
            error.add_note(before)
        if error.can_be_dropped:
            each = [f"{option} {shlex.quote(name)}" for name in error.columns[:SHOWN]]
            n_others = len(error.columns) - SHOWN
            others = f" and {n_others} more" if n_others > 0 else ""
            error.add_note(f"To drop them: {' '.join(each)}{others}")
        raise


def _is_same_file(path: str, output: str) -> bool:
    """Say whether two paths lead to one regular file, also through links."""
    if Path(path).exists() and Path(output).exists():
        return Path(output).is_file() and os.path.samefile(path, output)
    return Path(path).resolve() == Path(output).resolve()
