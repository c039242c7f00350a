"""Warnings that point to the user's line, however deep in the package they arise."""

import sys
import warnings
from pathlib import Path

PACKAGE = str(Path(__file__).parent)


def warn_user(message: str | Warning, category: type[Warning] = UserWarning) -> None:
    """Warn at the first caller outside the package."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(PACKAGE):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
