"""Arrays become lists of plain numbers that JSON can hold."""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

DIGITS = 4


def plain_number(value: Any, digits: int = DIGITS) -> float | None:
    """Return a number with so many significant digits, None if it is not finite.

    Examples
    --------
    >>> from walkconv.reports.summarizing.plain import plain_number
    >>> plain_number(3.14159265), plain_number(float("nan")), plain_number(1234567)
    (3.142, None, 1235000.0)
    """
    value = float(value)
    return float(f"{value:.{digits}g}") if math.isfinite(value) else None


def plain_numbers(values: Iterable[Any], digits: int = DIGITS) -> list[float | None]:
    """Return numbers with so many significant digits."""
    return [plain_number(value, digits) for value in np.asarray(values).ravel()]


def plain_label(value: Any) -> str:
    """Return a class label as text."""
    return str(value.item() if isinstance(value, np.generic) else value)
