"""How things are timed here: side by side in one run, because machines are noisy."""

import gc
import statistics
import time
from collections.abc import Callable

SLOW = 0.5
"""Seconds from which five rounds are enough."""


def interleaved(contestants: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Return the median seconds of each contestant, all of them timed once in every round."""
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    for run in contestants.values():
        run()
    gc.collect()
    for number in range(rounds):
        for name, run in contestants.items():
            if number >= 5 and statistics.median(seconds[name]) > SLOW:
                continue
            start = time.perf_counter()
            run()
            seconds[name].append(time.perf_counter() - start)
    return {name: statistics.median(values) for name, values in seconds.items()}


def peak_bytes(run: Callable[[], object]) -> int:
    """Return by how much the process grew at its largest while `run` was running (Linux)."""
    run()
    gc.collect()
    with open("/proc/self/clear_refs", "w") as control:
        control.write("5")  # forget the largest size so far
    before = _status_bytes("VmRSS")
    kept = run()
    growth = _status_bytes("VmHWM") - before
    del kept
    return growth


def _status_bytes(field: str) -> int:
    with open("/proc/self/status") as status:
        line = next(line for line in status if line.startswith(field))
    return int(line.split()[1]) * 1024
