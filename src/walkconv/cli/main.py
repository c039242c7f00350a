"""The command `walkconv`: its parts, its errors and its exit codes.

Exit codes: 0 when all went well, 1 for an error in data or model, 2 for a wrong call, 130 when
interrupted. An error is one line on stderr. What a command computes goes to a file or stdout, what
it says goes to stderr.

Nothing heavy is imported before a command runs, so that ``--help`` answers at once.
"""

import re
import sys
import traceback
import warnings
from collections.abc import Sequence
from typing import Annotated, NoReturn

import typer
from typer.main import get_command

from walkconv.cli.fit import fit
from walkconv.cli.info import info
from walkconv.cli.interrupts import InterruptedFitError
from walkconv.cli.neighbors import neighbors
from walkconv.cli.one_voice import INTERRUPTED, one_voice
from walkconv.cli.predict import predict

PICTURE = re.compile(r"\n.*\n *\^+ *$", flags=re.MULTILINE)
"""A line of an error with arrows below it, which would mean nothing in one line."""
EPOCHS = re.compile(r"(?<!['\w/.-])max_iter(?!['\w/.-])")
"""The parameter, where it is not part of a name that the user gave."""

app = typer.Typer(
    help="Convolutional networks on features that have a graph but no grid.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)
for command in (fit, predict, neighbors, info):
    app.command()(command)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and leave with its exit code."""
    with one_voice():
        _run(arguments)


def _run(arguments: Sequence[str] | None) -> NoReturn:
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    # Taken out here, so that it may stand behind a command that has just failed.
    is_debug = "--debug" in arguments
    arguments = [argument for argument in arguments if argument != "--debug"]
    warnings.showwarning = _say_warning
    try:
        get_command(app)(args=arguments, prog_name="walkconv")
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except InterruptedFitError as end:
        typer.echo(f"walkconv: {end}", err=True)
        sys.exit(INTERRUPTED)
    except Exception as error:
        if is_debug:
            traceback.print_exc()
        else:
            typer.echo(f"walkconv: error: {_in_one_line(error)}", err=True)
        sys.exit(1)
    sys.exit(0)


def _in_one_line(error: Exception) -> str:
    text = EPOCHS.sub("--max-epochs", PICTURE.sub("", str(error)))
    message = " ".join(text.split())
    if isinstance(error, ValueError | TypeError | OSError) and message:
        return message
    return f"unexpected {type(error).__name__}: {message} (--debug shows where)"


def _say_warning(message: Warning | str, *_: object) -> None:
    typer.echo(f"walkconv: warning: {' '.join(str(message).split())}", err=True)


def _say_version(is_wanted: bool) -> None:
    if is_wanted:
        from importlib.metadata import version

        typer.echo(f"walkconv {version('walkconv')}")
        raise typer.Exit


@app.callback()
def options(
    show_version: Annotated[
        bool,
        typer.Option("--version", help="Show the version.", callback=_say_version, is_eager=True),
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show where an error comes from.")] = False,
) -> None:
    """Convolutional networks on features that have a graph but no grid."""
