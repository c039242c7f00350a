"""Where a progress bar can be shown."""

import sys


def has_bar() -> bool:
    """Tell whether standard error redraws a line: a terminal does, and a notebook."""
    return sys.stderr.isatty() or type(sys.stderr).__module__.startswith("ipykernel.")
