"""Ctrl-C during a training: half a model is none."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class InterruptedFitError(Exception):
    """The keyboard has stopped a fit; the message says where, and how to go on."""


@contextmanager
def no_half_model(output: str, checkpoint: str | None) -> Iterator[None]:
    """Let Ctrl-C inside be an error, where the library would keep what was learned so far."""
    from walkconv.models.members import InterruptedFitWarning  # brings torch

    nothing = f"nothing was written to {output}."
    with warnings.catch_warnings():
        warnings.simplefilter("error", InterruptedFitWarning)
        try:
            yield
        except KeyboardInterrupt:
            where = "Training was interrupted before an epoch was finished"
            way = "" if checkpoint is None else _way_on(checkpoint)
            raise InterruptedFitError(f"{where}; {nothing}{way}") from None
        except InterruptedFitWarning as warning:
            where = str(warning).split(";")[0]  # the rest says what the library would keep
            way = _way_on(checkpoint)
            raise InterruptedFitError(f"{where}; {nothing}{way}") from None


def _way_on(checkpoint: str | None) -> str:
    """Return how epochs that were finished can be kept, where there are any."""
    if checkpoint is None:
        return " With --checkpoint FILE, calling again goes on from there."
    return f" Call again to go on from {checkpoint}." if Path(checkpoint).exists() else ""
