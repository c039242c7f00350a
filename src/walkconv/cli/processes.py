"""Processes that run one command together, and Ctrl-C while they train."""

import io
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path

from walkconv._launched import launched

INTERRUPTED = 130
GRACE = 10.0
"""Seconds in which the first process may fail too; then ``torchrun`` ends the other processes."""


class InterruptedFitError(Exception):
    """Ctrl-C has stopped a fit; the message says where, and how to continue."""


@contextmanager
def one_voice() -> Iterator[None]:
    """Print only what the first process prints.

    All processes do the same work and meet the same errors, so each message would appear once per
    process. The output of the other processes is kept. It is printed only if a process fails and
    the first process does not.
    """
    rank, _ = launched()
    if rank == 0:
        yield
        return
    output = io.StringIO()
    try:
        with redirect_stdout(output), redirect_stderr(output):
            yield
    except SystemExit as end:
        if end.code and end.code != INTERRUPTED:
            time.sleep(GRACE)
            lines = output.getvalue().splitlines()
            sys.stderr.write("".join(f"process {rank}: {line}\n" for line in lines))
        raise


@contextmanager
def no_half_model(output: str, checkpoint: str | None) -> Iterator[None]:
    """Make Ctrl-C an error, where the library would return a model with fewer epochs."""
    from walkconv import InterruptedFitWarning

    with warnings.catch_warnings():
        warnings.simplefilter("error", InterruptedFitWarning)
        try:
            yield
        except KeyboardInterrupt:
            where = "before an epoch was finished"
            way = "" if checkpoint is None else _way_on(checkpoint)
        except InterruptedFitWarning as warning:
            where = f"in {warning.where}"
            way = _way_on(checkpoint)
        else:
            return
    raise InterruptedFitError(
        f"Training was interrupted {where}; nothing was written to {output}.{way}"
    )


def _way_on(checkpoint: str | None) -> str:
    """Return how to continue from the finished epochs, if they are or could be kept."""
    if checkpoint is None:
        return " Add --checkpoint FILE, and the next call continues where this one stopped."
    return f" Call again to continue from {checkpoint}." if Path(checkpoint).exists() else ""
