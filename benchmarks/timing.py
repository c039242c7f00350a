"""How things are timed here: side by side in one run, because machines are noisy."""

import ctypes
import gc
import random
import statistics
import time
from collections.abc import Callable
from typing import Any

SLOW = 0.2
"""Seconds from which a contestant has one call in a round and three rounds in all."""


def interleaved(contestants: dict[Any, Callable[[], object]], rounds: int) -> dict[Any, float]:
    """Return the median seconds of each contestant; in every round each has three calls.

    Every round draws a new order. In a fixed order a contestant would always find the cache as the
    same other contestant leaves it.
    """
    seconds: dict[Any, list[float]] = {name: [] for name in contestants}
    is_slow = {name: _time(run) + _time(run) > 2 * SLOW for name, run in contestants.items()}
    gc.collect()
    turns, draw = list(contestants.items()), random.Random(0)
    for number in range(rounds):
        draw.shuffle(turns)
        for name, run in turns:
            if not is_slow[name]:
                seconds[name] += [_time(run) for _ in range(3)]
            elif number < 3:
                seconds[name].append(_time(run))
    return {name: statistics.median(values) for name, values in seconds.items()}


def _time(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def peak_bytes(run: Callable[[], object], *, is_warm: bool = False) -> int:
    """Return by how much the process grew at its largest while `run` was running (Linux).

    Unless it `is_warm`, `run` is called once before.
    """
    if not is_warm:
        run()
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)  # else memory freed before is used again, and not seen
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
