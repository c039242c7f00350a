"""The state of a training after its last epoch, in a file that is always whole.

An epoch depends on the weights, the moments of the solver, the number of the epoch and the seed
(see `training`), so these are all a file holds, with the best weights so far and the history. The
file also says what it belongs to, and another fit is refused.
"""

import math
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from walkconv._checks import check_integer, check_number
from walkconv._files import only_user
from walkconv._identity import first_change
from walkconv.persistence import ModelFileError, read_file, write_file
from walkconv.training.loop import WHOLE, Training
from walkconv.training.processes import ALONE, Processes

KIND = "checkpoint"


class Checkpoint:
    """A file that follows the training of the ensemble members.

    Parameters
    ----------
    path : path
        The file; it need not exist yet.
    identity : dict
        What the training depends on but for the seed: plain values, and digests of arrays.
    seed : int
        Seed of a new training; the file of an earlier one brings its own.
    processes : Processes, optional
        Those that train together: the first reads and writes the file.

    Attributes
    ----------
    seed : int
        The seed to train with.
    choice : dict or None
        What a search chose before the training, as plain values.
    """

    def __init__(
        self,
        path: str | os.PathLike,
        identity: dict[str, Any],
        seed: int,
        processes: Processes = ALONE,
    ):
        self.path, self.identity, self.seed = Path(path), identity, seed
        self.processes = processes
        self._arrays: dict[str, np.ndarray] = {}
        self._members: list[dict[str, Any]] = []
        self.graph: str | None = None
        self.choice: dict[str, Any] | None = None
        found = processes.from_first(self._read)
        if found is not None:
            self._arrays, settings = found
            self._refuse_another_fit(settings.get("identity"))
            try:
                self.seed = check_integer(settings["seed"], "seed", minimum=0, maximum=2**31 - 1)
                self._members = list(settings["members"])
                self.graph = settings["graph"]
                self.choice = settings.get("choice")
                if not isinstance(self.graph, str | None):
                    raise TypeError
                if not isinstance(self.choice, dict | None):
                    raise TypeError
            except (KeyError, TypeError, ValueError):
                raise ModelFileError(f"{self.path.name} is not a whole checkpoint.") from None

    def confirm_graph(self, digest: str) -> None:
        """Refuse a file of a fit on another graph; what a callable returns is known only now."""
        if self.graph is not None and self.graph != digest:
            raise self._another_fit("graph has changed")
        self.graph = digest

    @classmethod
    @contextmanager
    def open(
        cls,
        path: str | os.PathLike,
        identity: dict[str, Any],
        seed: int,
        processes: Processes = ALONE,
    ) -> Iterator["Checkpoint"]:
        """Yield a checkpoint that no other fit uses inside the block."""
        with ExitStack() as stack:
            processes.from_first(lambda: stack.enter_context(only_user(path)))
            yield cls(path, identity, seed, processes)

    def restore(self, trainings: list[Training]) -> None:
        """Bring the trainings to where the file left them; nothing without a file."""
        for member, record in enumerate(self._members):
            prefix = f"member.{member}."
            state = {
                name.removeprefix(prefix): torch.from_numpy(array)
                for name, array in self._arrays.items()
                if name.startswith(prefix)
            }
            try:
                _restore(trainings[member], record, state)
            except MemoryError:
                raise
            except Exception as error:  # what else can go wrong is in the file
                reason = str(error).partition("\n")[0]
                raise ModelFileError(
                    f"{self.path.name} does not fit this model: {reason}"
                ) from error

    def write(self, trainings: list[Training]) -> None:
        """Write the state of all members that have begun."""
        if not self.processes.is_first:
            return
        begun = [training for training in trainings if training.epoch]
        arrays = {
            f"member.{member}.{name}": tensor.cpu().numpy()
            for member, training in enumerate(begun)
            for name, tensor in _tensors(training).items()
        }
        members = [{"history": t.history, "best_epoch": t.best_epoch} for t in begun]
        settings = {"identity": self.identity, "seed": self.seed, "members": members}
        found = {"graph": self.graph, "choice": self.choice}
        write_file(self.path, KIND, arrays, settings | found)

    def _read(self) -> tuple[dict[str, np.ndarray], dict[str, Any]] | None:
        return read_file(self.path, KIND) if self.path.exists() else None

    def _refuse_another_fit(self, theirs: Any) -> None:
        if not isinstance(theirs, dict):
            raise ModelFileError(f"{self.path.name} is not a whole checkpoint.")
        change = first_change(theirs, self.identity)
        if change is not None:
            raise self._another_fit(change)

    def _another_fit(self, difference: str) -> ValueError:
        return ValueError(
            f"The checkpoint {self.path.name} belongs to another fit: {difference}. Call fit with "
            "the same arguments, or remove the file, or choose another."
        )


def _tensors(training: Training) -> dict[str, Tensor]:
    """Return what the next epoch needs, or the best weights if training is finished."""
    best = {f"best.{name}": tensor for name, tensor in training.best.items()}
    if training.is_finished:
        return best
    weights = {f"weights.{name}": t for name, t in training.network.state_dict().items()}
    moments = {
        f"solver.{place}.{name}": tensor
        for place, values in training.optimizer.state_dict()["state"].items()
        for name, tensor in values.items()
    }
    return weights | moments | ({} if training.best_epoch == training.epoch else best)


def _restore(training: Training, record: dict[str, Any], state: dict[str, Tensor]) -> None:
    training.history = _check_history(record["history"], training)
    training.best_epoch = check_integer(
        record["best_epoch"], "best_epoch", minimum=1, maximum=training.epoch
    )
    groups: dict[str, dict[str, Tensor]] = {"best": {}, "weights": {}, "solver": {}}
    for name, tensor in state.items():
        group, rest = name.split(".", 1)
        groups[group][rest] = tensor
    weights = groups["weights"] or groups["best"]
    for name, tensor in [*weights.items(), *groups["best"].items()]:
        if not tensor.isfinite().all():
            raise ValueError(f"{name} must be finite.")
    training.network.load_state_dict(weights)
    training.best = {
        name: tensor.to(training.table.device)
        for name, tensor in (groups["best"] or weights).items()
    }
    moments: dict[int, dict[str, Tensor]] = {}
    parameters = list(training.network.parameters())
    for name, tensor in groups["solver"].items():
        place, rest = name.split(".", 1)
        parameter = parameters[check_integer(int(place), "place", minimum=0)]
        wanted = torch.Size() if rest == "step" else parameter.shape
        if (tensor.shape, tensor.dtype) != (wanted, torch.float32):
            raise ValueError(f"{name} has the shape {tuple(tensor.shape)} of {tensor.dtype}.")
        moments.setdefault(int(place), {})[rest] = tensor
    if not training.is_finished:
        _check_moments(moments, parameters, training)
    param_groups = training.optimizer.state_dict()["param_groups"]
    training.optimizer.load_state_dict({"state": moments, "param_groups": param_groups})


def _check_history(history: Any, training: Training) -> list[dict[str, Any]]:
    """Return the records of a member's epochs, each with what an epoch writes."""
    if not isinstance(history, list) or not 1 <= len(history) <= training.settings.max_iter:
        raise ValueError("the history must be a list of epochs.")
    names = ["loss", "seconds"] + ["validation_score"] * (training.score is not None)
    for epoch, record in enumerate(history, start=1):
        if (record["member"], record["epoch"]) != (training.randomness[1], epoch):
            raise ValueError("the history must list the epochs of its member in order.")
        for name in names:
            check_number(record[name], name, minimum=-math.inf, is_open=True)
    return history


def _check_moments(
    moments: dict[int, dict[str, Tensor]], parameters: Sequence[Tensor], training: Training
) -> None:
    """Refuse moments that the solver could not go on with.

    A frozen weight has none, and "lbfgs" keeps none from one epoch to the next.
    """
    is_whole = training.settings.solver == WHOLE
    n_trained = 0 if is_whole else sum(parameter.requires_grad for parameter in parameters)
    if len(moments) != n_trained:
        raise ValueError(f"there must be moments of {n_trained} weights; there are {len(moments)}.")
    n_steps = float(training.epoch * len(training.batches))
    for state in moments.values():
        if state.keys() != {"step", "exp_avg", "exp_avg_sq"}:
            raise ValueError(f"the moments of a weight must not be {sorted(state)}.")
        if float(state["step"]) != n_steps:
            raise ValueError(f"the solver must have taken {n_steps:g} steps.")
        if not all(each.isfinite().all() for each in state.values()):
            raise ValueError("the moments must be finite.")
        if (state["exp_avg_sq"] < 0).any():
            raise ValueError("the averages of squares must not be negative.")
