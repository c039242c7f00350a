"""Warnings that point to the first line outside the package, however deep they arise."""

import os
import sys
import warnings
from pathlib import Path

PACKAGE = f"{Path(__file__).parent}{os.sep}"


def warn_user(message: str | Warning, category: type[Warning] = UserWarning) -> None:
    """Warn at the first caller outside the package."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(PACKAGE):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
