"""Run rows of a table, each protocol and seed once, and keep a record of each.

    python -m experiments.run mnist                         what is not finished yet
    python -m experiments.run mnist --row c20 --protocol sound --seeds 0 1 2
    python -m experiments.run merck --set DPP4              another set of the challenge
    python -m experiments.run mnist --list                  what there is and what is finished
    python -m experiments.run mnist --smoke                 every row, tiny, kept nowhere
    python -m experiments.run mnist --row c20 --validate --try learning_rate=1e-3

Stopped at any time, it goes on where it was when called again. `--validate` is how settings are
chosen: it holds back training rows, scores them instead of the test rows, and keeps nothing.
"""

import argparse
import hashlib
import json
import os
import sys
import tempfile
import time
import tomllib
import traceback
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.machine import provenance
from experiments.averages import AVERAGED, write_average
from experiments.data import Data
from experiments.fitted import Run
from experiments.methods import METHODS, prepare
from experiments.records import RESULTS, read_record, record_path, write_record
from experiments.rows import PROTOCOLS, Row, read_rows
from experiments.small import SMALL_TABLES
from experiments.splits import COLLECTIONS, load_splits

TABLES = (
    "mnist",
    "grid",
    "oriented",
    "merck",
    *COLLECTIONS,
    "traffic",
    "transfer-digits",
    "transfer-metab",
    *SMALL_TABLES,
)
UNFINISHED = Path(tempfile.gettempdir()) / f"walkconv-experiments-{os.getuid()}"
SMOKE = {"max_iter": 1, "n_estimators": 5, "n_members": 2}


@dataclass(frozen=True)
class Task:
    """One run: a row, a protocol and a seed, and how it is meant."""

    row: Row
    protocol: str
    seed: int
    merck_set: str = "METAB"
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
        return record_path(self.row, self.protocol, self.seed, merck_set=self.merck_set)

    @property
    def is_finished(self) -> bool:
        """Whether there is a record made with the settings that the row has now."""
        record = read_record(self.path)
        return record is not None and record["settings"] == self.settings

    def __str__(self) -> str:
        return f"{self.row.table:15} {self.row.key:24} {self.protocol:6} seed {self.seed}"


def main(arguments: list[str] | None = None) -> int:
    """Run what is asked for; return 1 if a run failed."""
    asked = _parse(arguments)
    tasks = _tasks(asked)
    if asked.list:
        for task in tasks:
            print(f"{task}  {'finished' if task.is_finished else '-'}")
        return 0
    if not (asked.smoke or asked.validate):
        tasks = [task for task in tasks if not task.is_finished]
    n_threads = max(1, (os.cpu_count() or 1) // asked.jobs)
    n_failed = 0
    for task, run in _start(tasks, asked.jobs, n_threads):
        try:
            record = run.result()
        except Exception:
            n_failed += 1
            print(f"{task}  failed\n{traceback.format_exc()}", flush=True)
        else:
            print(f"{task}  {record['score']:.4f}  {record['seconds']:.0f} s", flush=True)
            if not (asked.smoke or asked.validate):
                write_average(task.row, task.protocol, task.merck_set)
    return int(n_failed > 0)


def run_task(task: Task, n_threads: int) -> dict[str, Any]:
    """Run one task and return its record, which is written unless the run is only a trial."""
    torch.set_num_threads(n_threads)
    machine = _machine()
    splits = load_splits(
        task.row.table, seed=task.seed, merck_set=task.merck_set, is_smoke=task.is_smoke
    )
    if task.is_validation:
        splits = [hold_out(data, task.seed) for data in splits]
    runs = [_run_split(task, data, number) for number, data in enumerate(splits)]
    first, data = runs[0], splits[0]
    record = {
        "table": task.row.table,
        "row": task.row.key,
        "protocol": task.protocol,
        "seed": task.seed,
        "score": float(np.mean([run["score"] for run in runs])),
        "seconds": sum(run["seconds"] for run in runs),
        "core_seconds": sum(run["core_seconds"] for run in runs),
        "n_parameters": first["n_parameters"],
        "method": task.row.method,
        "settings": task.settings,
        "n_train": len(data.y_train),
        "n_test": len(data.y_test),
        "machine": machine,
    }
    if len(runs) > 1:
        record["scores"] = [run["score"] for run in runs]  # fold by fold
    else:
        record |= {"n_columns": data.X_train.shape[1], "history": first["history"]}
    if task.row.table in AVERAGED:
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
    fitted = METHODS[task.row.method](data, settings, run)
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
    }


def hold_out(data: Data, seed: int) -> Data:
    """Return the training rows alone, some of them in the place of the test rows.

    A sixth of them, drawn at random; of moments one after the other the last eighth.
    """
    if data.source is not None:
        raise ValueError(
            "--validate is not for tables with a source: it has the rows that would be held back."
        )
    n_rows = len(data.y_train)
    if data.period:
        kept, held = np.split(np.arange(n_rows), [n_rows - n_rows // 8])
    else:
        order = np.random.default_rng(seed).permutation(n_rows)
        kept, held = np.split(order, [n_rows - n_rows // 6])
    X, y = data.X_train, data.y_train
    return replace(data, X_train=X[kept], y_train=y[kept], X_test=X[held], y_test=y[held])


def _shortened(settings: dict[str, Any]) -> dict[str, Any]:
    """Return settings with which nothing takes long."""
    short = {name: min(settings[name], SMOKE[name]) for name in SMOKE.keys() & settings.keys()}
    nested = {name: _shortened(v) for name, v in settings.items() if isinstance(v, dict)}
    return settings | short | nested


def _start(tasks: list[Task], n_jobs: int, n_threads: int):
    """Yield each task with its finished run, in the order they finish."""
    if n_jobs == 1:
        for task in tasks:
            run: Future = Future()
            try:
                run.set_result(run_task(task, n_threads))
            except Exception as error:
                run.set_exception(error)
            yield task, run
        return
    os.environ["OMP_NUM_THREADS"] = str(n_threads)  # read by libraries when a process begins
    with ProcessPoolExecutor(n_jobs, mp_context=get_context("spawn")) as pool:
        runs = {pool.submit(run_task, task, n_threads): task for task in tasks}
        for run in as_completed(runs):
            yield runs[run], run


@cache
def _machine() -> dict[str, Any]:
    """Return machine, threads, versions and commit as they were when this process began."""
    return provenance("scikit-learn", "scipy", "lightgbm")


def _unfinished(task: Task, number: int) -> Path:
    """Return the file that follows an unfinished training; other settings have another."""
    UNFINISHED.mkdir(exist_ok=True)
    settings = hashlib.sha256(json.dumps(task.settings, sort_keys=True).encode()).hexdigest()
    parts = task.path.relative_to(RESULTS).with_suffix("").parts
    return UNFINISHED / f"{'-'.join(parts)}.{settings[:8]}.{number}.safetensors"


def _check_parameters(task: Task, n_parameters: int | None) -> None:
    expected = task.row.parameters
    if expected is not None and n_parameters != expected and not task.is_smoke:
        raise ValueError(f"{task.row.name} must have {expected} parameters; it has {n_parameters}.")


def _tasks(asked: argparse.Namespace) -> list[Task]:
    rows = read_rows(asked.table)
    if unknown := set(asked.row or []) - {row.key for row in rows}:
        raise SystemExit(f"--row must be among {[r.key for r in rows]}; got {sorted(unknown)}.")
    tried = tomllib.loads("\n".join(asked.tried or []))
    if tried and not asked.validate:
        raise SystemExit("--try is for --validate: what is kept is made with the settings on file.")
    rows = [
        replace(row, settings={p: values | tried for p, values in row.settings.items()})
        for row in rows
        if not asked.row or row.key in asked.row
    ]
    chosen = [asked.protocol] if asked.protocol else PROTOCOLS
    return [
        Task(row, protocol, seed, asked.set, asked.smoke, asked.validate)
        for protocol in chosen
        for row in rows
        if protocol in row.settings
        for seed in ([0] if asked.smoke else asked.seeds or row.seeds[protocol])
    ]


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m experiments.run", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("table", choices=TABLES)
    parser.add_argument("--row", nargs="+", help="only these rows, by the names of their files")
    parser.add_argument("--protocol", choices=PROTOCOLS)
    parser.add_argument("--seeds", nargs="+", type=int)
    parser.add_argument("--set", default="METAB", help="which Merck set")
    parser.add_argument("--jobs", type=int, default=1, help="runs side by side")
    parser.add_argument("--smoke", action="store_true", help="every row on tiny data")
    parser.add_argument("--list", action="store_true", help="say what there is, run nothing")
    parser.add_argument("--validate", action="store_true", help="score held-back training rows")
    parser.add_argument("--try", nargs="+", dest="tried", metavar="NAME=VALUE")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
