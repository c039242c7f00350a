"""The state of a training after its last epoch, in a file that is always whole.

An epoch depends on the weights, the moments of the solver, the number of the epoch and the seed
(see `training`), so these are all a file holds, with the best weights so far and the history. The
file also says what it belongs to, and another fit is refused.
"""

import os
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from walkconv._files import check_writable, remove_leftovers
from walkconv.models.processes import ALONE, Processes
from walkconv.models.training import Training
from walkconv.persistence import ModelFileError, read_file, write_file

KIND = "checkpoint"


class Checkpoint:
    """A file that follows the training of some members.

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
        found = processes.from_first(self._read)
        if found is not None:
            self._arrays, settings = found
            self._refuse_another_fit(settings.get("identity"))
            try:
                self.seed, self._members = int(settings["seed"]), list(settings["members"])
            except (KeyError, TypeError, ValueError):
                raise ModelFileError(f"{self.path.name} is not a whole checkpoint.") from None

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
            except (KeyError, IndexError, TypeError, ValueError, RuntimeError) as error:
                raise ModelFileError(f"{self.path.name} does not fit this model: {error}") from None

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
        write_file(self.path, KIND, arrays, settings)

    def _read(self) -> tuple[dict[str, np.ndarray], dict[str, Any]] | None:
        check_writable(self.path)
        remove_leftovers(self.path)
        return read_file(self.path, KIND) if self.path.exists() else None

    def _refuse_another_fit(self, theirs: Any) -> None:
        if not isinstance(theirs, dict):
            raise ModelFileError(f"{self.path.name} is not a whole checkpoint.")
        for name in sorted({*theirs, *self.identity}):
            was, now = theirs.get(name), self.identity.get(name)
            if was != now:
                is_digest = name.startswith("data: ")
                change = "has changed" if is_digest else f"was {was!r} and is {now!r}"
                raise ValueError(
                    f"The checkpoint {self.path.name} belongs to another fit: "
                    f"{name.removeprefix('data: ')} {change}. Call fit with the same arguments, "
                    "or remove the file, or choose another."
                )


def _tensors(training: Training) -> dict[str, Tensor]:
    """Return what the next epoch needs, or the best weights where there is none."""
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
    training.history = list(record["history"])
    training.best_epoch = int(record["best_epoch"])
    groups: dict[str, dict[str, Tensor]] = {"best": {}, "weights": {}, "solver": {}}
    for name, tensor in state.items():
        group, rest = name.split(".", 1)
        groups[group][rest] = tensor
    weights = groups["weights"] or groups["best"]
    training.network.load_state_dict(weights)
    training.best = {
        name: tensor.to(training.table.device)
        for name, tensor in (groups["best"] or weights).items()
    }
    moments: dict[int, dict[str, Tensor]] = {}
    parameters = list(training.network.parameters())
    for name, tensor in groups["solver"].items():
        place, rest = name.split(".", 1)
        if tensor.shape not in (torch.Size(), parameters[int(place)].shape):
            raise ValueError(f"{name} has the shape {tuple(tensor.shape)}.")
        moments.setdefault(int(place), {})[rest] = tensor
    param_groups = training.optimizer.state_dict()["param_groups"]
    training.optimizer.load_state_dict({"state": moments, "param_groups": param_groups})
