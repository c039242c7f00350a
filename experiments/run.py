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
import os
import sys
import tomllib
import traceback
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import replace
from multiprocessing import get_context

from experiments.averages import write_average
from experiments.choice import with_tried
from experiments.rows import PROTOCOLS, read_rows
from experiments.small import SMALL_TABLES
from experiments.splits import COLLECTIONS
from experiments.task import Task, run_task

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

KEPT_MEMORY = {"MALLOC_MMAP_THRESHOLD_": str(2**30), "MALLOC_TRIM_THRESHOLD_": str(2**31 - 1)}
"""With glibc, memory that a step frees stays for the next step. By default large arrays return to
the system and are zeroed again in every step: a quarter of the time of a network of 13 million
parameters."""


def main(arguments: list[str] | None = None) -> int:
    """Run what is asked for; return 1 if a run failed."""
    asked = _parse(arguments)
    tasks = _tasks(asked)
    if asked.list:
        for task in tasks:
            print(f"{task}  {'finished' if task.is_finished else '-'}")
        return 0
    is_trial = asked.smoke or asked.validate
    missing = tasks if is_trial else [task for task in tasks if not task.is_finished]
    n_threads = max(1, (os.cpu_count() or 1) // asked.jobs)
    n_failed = 0
    for task, run in _start(missing, asked.jobs, n_threads):
        try:
            record = run.result()
        except Exception:
            n_failed += 1
            print(f"{task}  failed\n{traceback.format_exc()}", flush=True)
        else:
            print(f"{task}  {record['score']:.4f}  {record['seconds']:.0f} s", flush=True)
    if not is_trial:
        for task in {(task.row.key, task.protocol): task for task in tasks}.values():
            write_average(task.row, task.protocol)
    return int(n_failed > 0)


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
    os.environ.update(KEPT_MEMORY, OMP_NUM_THREADS=str(n_threads))  # read when a process begins
    with ProcessPoolExecutor(n_jobs, mp_context=get_context("spawn")) as pool:
        runs = {pool.submit(run_task, task, n_threads): task for task in tasks}
        for run in as_completed(runs):
            yield runs[run], run


def _tasks(asked: argparse.Namespace) -> list[Task]:
    rows = read_rows(asked.table, merck_set=asked.set)
    if unknown := set(asked.row or []) - {row.key for row in rows}:
        raise SystemExit(f"--row must be among {[r.key for r in rows]}; got {sorted(unknown)}.")
    try:
        tried = tomllib.loads("\n".join(asked.tried or []))
    except tomllib.TOMLDecodeError as error:
        raise SystemExit(
            f"--try takes TOML, such as max_iter=30 or 'readout=\"sum\"'; got "
            f"{' '.join(asked.tried)} ({error})."
        ) from None
    if tried and not asked.validate:
        raise SystemExit("--try is for --validate: what is kept is made with the settings on file.")
    rows = [
        replace(row, settings={p: with_tried(v, tried) for p, v in row.settings.items()})
        for row in rows
        if not asked.row or row.key in asked.row
    ]
    chosen = [asked.protocol] if asked.protocol else PROTOCOLS
    return [
        Task(row, protocol, seed, asked.smoke, asked.validate)
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
