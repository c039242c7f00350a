"""Whether a launcher such as ``torchrun`` has started this process among others."""

import os

ENVIRONMENT = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")


def launched() -> tuple[int, int]:
    """Return the number of this process, from 0, and how many there are; alone it is 0 of 1."""
    if not all(name in os.environ for name in ENVIRONMENT):
        return 0, 1
    return int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
