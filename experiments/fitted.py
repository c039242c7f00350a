"""What passes between a method and a run."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Fitted:
    """What a method learned.

    Attributes
    ----------
    predict : callable
        X (m, n_nodes) -> classes or activities (m,).
    n_parameters : int or None
        Weights of one network; None for trees.
    history : list of dict
        One record for each epoch.
    """

    predict: Callable[[np.ndarray], Any]
    n_parameters: int | None = None
    history: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class Run:
    """How to run a method.

    Attributes
    ----------
    seed : int
    checkpoint : path or None
        A file from which an interrupted training goes on.
    watches_test : bool
        Whether the test rows are scored after every epoch, as the paper did. The scores go into
        the history and decide nothing.
    """

    seed: int
    checkpoint: Path | None = None
    watches_test: bool = False
