"""The time that a fit may take."""

import time
from collections.abc import Callable

Countdown = Callable[[], float]
"""Returns the seconds that are left; negative afterwards."""


def start_countdown(limit: float | None) -> Countdown | None:
    """Return a countdown of `limit` seconds that has begun; None without a limit."""
    if limit is None:
        return None
    started = time.perf_counter()
    return lambda: limit - (time.perf_counter() - started)
