"""The time that a fit may take."""

import time
from collections.abc import Callable

Countdown = Callable[[], float]
"""Returns the seconds that are left; negative afterwards."""


def start_countdown(limit: float) -> Countdown:
    """Return a countdown of `limit` seconds that has begun."""
    started = time.perf_counter()
    return lambda: limit - (time.perf_counter() - started)
