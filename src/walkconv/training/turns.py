"""Random numbers and the default type, which torch has once per process, taken in turns."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock

import numpy as np
import torch

TURN = RLock()
"""Held by the thread whose random numbers and default type torch has."""


def _renew_turn() -> None:
    """Let a forked process have a turn: whoever held it has stayed behind."""
    global TURN
    TURN = RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_turn)


@contextmanager
def single_precision() -> Iterator[None]:
    """Let float32 be torch's default type inside; threads take turns, as in `seeded`."""
    with TURN:
        before = torch.get_default_dtype()
        torch.set_default_dtype(torch.float32)
        try:
            yield
        finally:
            torch.set_default_dtype(before)


@contextmanager
def seeded(*numbers: int, device: torch.device) -> Iterator[None]:
    """Seed torch from the numbers inside, and leave its generators outside as they were.

    They belong to the process, so threads that fit models take turns, an epoch each.
    """
    seed = int(np.random.SeedSequence(numbers).generate_state(1, np.uint64)[0])
    devices = [] if device.type == "cpu" else [device]
    kind = device.type if devices else "cuda"
    with TURN, torch.random.fork_rng(devices, device_type=kind):
        torch.default_generator.manual_seed(seed)  # torch.manual_seed seeds every device there is
        for each in devices:
            state = torch.Generator(each).manual_seed(seed).get_state()
            torch.get_device_module(each).set_rng_state(state, each)
        yield
