"""The command `walkconv`: its parts, its errors and its exit codes.

Exit codes: 0 for success, 1 for an error in data or model, 2 for a wrong call, 130 for an
interrupt. Results go to a file or to stdout; messages, warnings and errors go to stderr.

Nothing heavy is imported before a command runs, so that ``--help`` answers at once.
"""

import logging
import sys
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, NoReturn

import typer
from typer.main import get_command

from walkconv.cli.compare import compare
from walkconv.cli.export import export
from walkconv.cli.fit import fit
from walkconv.cli.info import info
from walkconv.cli.neighbors import neighbors
from walkconv.cli.predict import predict
from walkconv.cli.processes import INTERRUPTED, InterruptedFitError, one_voice
from walkconv.cli.report import report

app = typer.Typer(
    help="Convolutional networks on features that have a graph but no grid.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)
for command in (fit, predict, report, export, neighbors, info, compare):
    app.command()(command)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit with its code."""
    with one_voice(), messages_on_stderr():
        _run(arguments)


@contextmanager
def messages_on_stderr() -> Iterator[None]:
    """Print what the library and the commands log, message only, unless ``--quiet`` is given."""
    logger = logging.getLogger("walkconv")
    handler, level = logging.StreamHandler(sys.stderr), logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)


def _run(arguments: Sequence[str] | None) -> NoReturn:
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    # Taken out here, so that it may be added to the end of a command that has just failed.
    is_debug = "--debug" in arguments
    arguments = [argument for argument in arguments if argument != "--debug"]
    warnings.showwarning = _print_warning
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
            typer.echo(f"walkconv: error: {_describe(error)}", err=True)
        sys.exit(1)
    sys.exit(0)


def _describe(error: Exception) -> str:
    """Return the text of an error, lines kept, with the hints that a command has added."""
    text = " ".join([str(error), *getattr(error, "__notes__", [])])
    if isinstance(error, ValueError | TypeError | OSError) and text:
        return text
    return f"unexpected {type(error).__name__}: {text} (--debug shows where)"


def _print_warning(message: Warning | str, *_: object) -> None:
    typer.echo(f"walkconv: warning: {message}", err=True)


def _print_version(is_wanted: bool) -> None:
    if is_wanted:
        from importlib.metadata import version

        typer.echo(f"walkconv {version('walkconv')}")
        raise typer.Exit


@app.callback()
def options(
    show_version: Annotated[
        bool,
        typer.Option("--version", help="Show the version.", callback=_print_version, is_eager=True),
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """Convolutional networks on features that have a graph but no grid."""
