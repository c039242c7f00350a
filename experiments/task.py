"""One run: trained, scored, and kept as a record."""

import hashlib
import json
import os
import tempfile
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.machine import provenance
from experiments.averages import AVERAGED
from experiments.choice import choose, without_among
from experiments.data import Data
from experiments.fitted import Run
from experiments.methods import METHODS, prepare
from experiments.records import read_record, record_path, write_record
from experiments.rows import Row
from experiments.splits import hold_out, load_splits

UNFINISHED = Path(tempfile.gettempdir()) / f"walkconv-experiments-{os.getuid()}"
SMOKE = {"max_iter": 1, "n_estimators": 5, "n_members": 2}


@dataclass(frozen=True)
class Task:
    """One run: a row, a protocol and a seed, and how it is meant."""

    row: Row
    protocol: str
    seed: int
    is_smoke: bool = False
    is_validation: bool = False

    @property
    def settings(self) -> dict[str, Any]:
        """What the method is told; for a smoke run nothing takes long."""
        settings = self.row.settings[self.protocol]
        return _shortened(settings) if self.is_smoke else settings

    @property
    def path(self) -> Path:
        """Where its record belongs."""
        return record_path(self.row, self.protocol, self.seed)

    @property
    def is_finished(self) -> bool:
        """Whether there is a record of the method and settings that the row has now."""
        return read_record(self.row, self.protocol, self.seed) is not None

    def __str__(self) -> str:
        return f"{self.row.table:15} {self.row.key:24} {self.protocol:6} seed {self.seed}"


def run_task(task: Task, n_threads: int) -> dict[str, Any]:
    """Run one task and return its record, which is written unless the run is only a trial."""
    torch.set_num_threads(n_threads)
    machine = _machine()
    row = task.row
    splits = load_splits(row.table, seed=task.seed, merck_set=row.merck_set, is_smoke=task.is_smoke)
    if task.is_validation:
        splits = [hold_out(data, task.seed) for data in splits]
    runs = [_run_split(task, data, number) for number, data in enumerate(splits)]
    first, data = runs[0], splits[0]
    record = {
        "table": row.table,
        "row": row.key,
        "protocol": task.protocol,
        "seed": task.seed,
        "score": float(np.mean([run["score"] for run in runs])),
        "seconds": sum(run["seconds"] for run in runs),
        "core_seconds": sum(run["core_seconds"] for run in runs),
        "n_parameters": first["n_parameters"],
        "method": row.method,
        "settings": task.settings,
        "n_train": len(data.y_train),
        "n_test": len(data.y_test),
        "machine": machine,
    }
    if len(runs) > 1:
        record["scores"] = [run["score"] for run in runs]  # fold by fold
    else:
        record |= {"n_columns": data.X_train.shape[1], "history": first["history"]}
    if first["chosen"]:
        record["chosen"] = [run["chosen"] for run in runs]
    if row.table in AVERAGED:
        record["prediction"] = [float(f"{value:.5g}") for value in first["prediction"]]
    if not (task.is_smoke or task.is_validation):
        write_record(task.path, record)
        for number in range(len(splits)):
            _unfinished(task, number).unlink(missing_ok=True)
    return record


def _run_split(task: Task, data: Data, number: int) -> dict[str, Any]:
    """Train on one division of the data and score it."""
    is_trial = task.is_smoke or task.is_validation
    checkpoint = None if is_trial else _unfinished(task, number)
    started, started_core = time.perf_counter(), time.process_time()
    data, settings = prepare(data, task.settings)
    run = Run(task.seed, checkpoint, watches_test=task.protocol == "paper")
    fit = METHODS[task.row.method]
    chosen = choose(fit, data, settings, task.seed)
    fitted = fit(data, without_among(settings) | chosen, run)
    # A training that was continued has spent more than this process knows of.
    history = fitted.history
    seconds = max(time.perf_counter() - started, sum(e["seconds"] for e in history))
    core_seconds = time.process_time() - started_core
    core_seconds = max(core_seconds, sum(e.get("core_seconds", 0.0) for e in history))
    prediction = fitted.predict(data.X_test)
    _check_parameters(task, fitted.n_parameters)
    return {
        "score": data.score(prediction),
        "seconds": seconds,
        "core_seconds": core_seconds,
        "n_parameters": fitted.n_parameters,
        "history": history,
        "prediction": prediction,
        "chosen": chosen,
    }


def _shortened(settings: dict[str, Any]) -> dict[str, Any]:
    """Return settings with which nothing takes long."""
    short = {name: min(settings[name], SMOKE[name]) for name in SMOKE.keys() & settings.keys()}
    nested = {
        name: _shortened(value)
        for name, value in settings.items()
        if isinstance(value, dict) and name != "among"
    }
    return settings | short | nested


@cache
def _machine() -> dict[str, Any]:
    """Return machine, threads, versions and commit as they were when this process began."""
    return provenance("scikit-learn", "scipy", "lightgbm")


def _unfinished(task: Task, number: int) -> Path:
    """Return the file that follows an unfinished training; other settings have another."""
    UNFINISHED.mkdir(exist_ok=True)
    made_with = json.dumps([task.row.method, task.settings], sort_keys=True).encode()
    place = "-".join(filter(None, (task.row.table, task.row.merck_set, task.path.stem)))
    return UNFINISHED / f"{place}.{hashlib.sha256(made_with).hexdigest()[:8]}.{number}.safetensors"


def _check_parameters(task: Task, n_parameters: int | None) -> None:
    expected = task.row.parameters
    if expected is not None and n_parameters != expected and not task.is_smoke:
        raise ValueError(f"{task.row.name} must have {expected} parameters; it has {n_parameters}.")
