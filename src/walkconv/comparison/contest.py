"""The comparison: which fits, in which order, and what they amount to."""

import hashlib
import json
import os
import sys
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from typing import Any

import numpy as np
import polars as pl
import torch
from joblib import Parallel, delayed, parallel_config
from sklearn.base import is_classifier
from sklearn.model_selection import RepeatedKFold, RepeatedStratifiedKFold
from tqdm import tqdm

from walkconv._checks import check_flag, check_integer, describe
from walkconv._files import only_user
from walkconv._samples import as_samples, kind_of_samples
from walkconv.comparison.fits import Result, Split, run_networks, run_simple_models
from walkconv.comparison.progress_file import ProgressFile
from walkconv.comparison.verdict import ALONE, MODEL, RANDOM, RANKS, Comparison, conclude
from walkconv.estimators.base import GraphCNN
from walkconv.estimators.fitting import read_rows, read_samples
from walkconv.estimators.identity import identify
from walkconv.estimators.records import Rows

Task = Callable[[GraphCNN, Any, np.ndarray, Split], list[Result]]


def compare(
    model: GraphCNN,
    X: Any,
    y: Any,
    *,
    n_splits: int = 5,
    n_repeats: int = 2,
    simple_models: bool = True,
    n_jobs: int | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    random_state: int = 0,
    verbose: int = 0,
) -> Comparison:
    """Return whether the graph of a model helps, by repeated cross-validation.

    On the same splits these are fitted and tested: the model; its twin in which every filter sees
    its own column only; its twin with random neighbours, as many as in the model; if its slots are
    directions, its twin with the same neighbours in the order of ranks; ridge or logistic
    regression, and LightGBM if it is installed. All that a fit learns, the graph too, it learns
    from the training rows of the split.

    Parameters
    ----------
    model : GraphCNNClassifier or GraphCNNRegressor
        Fitted or not: its settings count. If a search chooses the architecture, it does so on the
        training rows of each split, and the twins follow its choice.
    X, y
        As `fit` takes them.
    n_splits : int, default 5
        Folds of a cross-validation.
    n_repeats : int, default 2
        Cross-validations, each with other folds. More make the interval of the verdict narrower.
    simple_models : bool, default True
        Whether regression and LightGBM take part. They do not if samples are graphs.
    n_jobs : int, optional
        Processes that fit at the same time, as in joblib; 1 by default.
    checkpoint : path, optional
        A file that follows the comparison, split by split. If the process ends, the same call
        continues from it; another comparison is refused.
    random_state : int, default 0
        Seed of the folds and of the fits.
    verbose : int, default 0
        1 shows progress.

    Returns
    -------
    Comparison
        ``print`` shows its table and its verdict. The graph helps if the model is better than both
        twins, with 95 % confidence for each; the intervals of the differences are corrected for
        training rows that the splits share (Nadeau and Bengio 2003).

    Examples
    --------
    >>> import numpy as np
    >>> import walkconv
    >>> X = np.random.default_rng(0).normal(size=(60, 8)).cumsum(axis=1)
    >>> model = walkconv.GraphCNNRegressor("C2-FC4", n_neighbors=3, max_iter=2, n_members=1)
    >>> found = walkconv.compare(model, X, X[:, 0], n_splits=2, simple_models=False)
    >>> found.table["contestant"].to_list()
    ['model', 'no neighbours', 'random neighbours']
    >>> found.finding
    'no evidence'
    """
    if not isinstance(model, GraphCNN):
        raise TypeError(
            f"model must be a GraphCNNClassifier or a GraphCNNRegressor; got {describe(model)}."
        )
    n_splits = check_integer(n_splits, "n_splits", minimum=2)
    n_repeats = check_integer(n_repeats, "n_repeats", minimum=1)
    seed = check_integer(random_state, "random_state", minimum=0, maximum=2**31 - 1)
    verbose = check_integer(verbose, "verbose", minimum=0)
    if kind_of_samples(X) == "stored table" and not hasattr(X, "__array__"):
        raise TypeError(
            "compare needs a table in memory, since it takes other rows for every split. Pass a "
            "random part of the rows as an array."
        )
    has_graphs = kind_of_samples(X) == "graphs"
    X = as_samples(X) if has_graphs else X
    rows = read_rows(X, y, None, read_samples, **model._target_checks)
    values = rows.y
    splits = _splits(values, n_splits, n_repeats, seed, is_classification=is_classifier(model))
    kinds: dict[str, Task] = {"networks": run_networks}
    if check_flag(simple_models, "simple_models") and not has_graphs:
        kinds["simple models"] = run_simple_models
    plan = [sorted(kinds), n_splits, n_repeats, seed]
    tasks = {f"{kind} {split.number}": (kinds[kind], split) for split in splits for kind in kinds}
    with nullcontext() if checkpoint is None else only_user(checkpoint):
        progress = ProgressFile.open(checkpoint, _identity(model, rows, plan))
        missing = [name for name in tasks if name not in progress.tasks]
        jobs = (delayed(_run)(name, *tasks[name], model, X, values) for name in missing)
        # A fit depends on the number of threads, so workers have as many as this process.
        with parallel_config("loky", inner_max_num_threads=torch.get_num_threads()):
            done = Parallel(n_jobs=n_jobs, return_as="generator_unordered")(jobs)
        for name, results in _shown(done, len(missing), len(tasks), verbose):
            progress.add(name, results)
    results = [each for name in tasks for each in progress.tasks[name]]
    return conclude(
        _as_table(results, splits),
        test_share=1 / (n_splits - 1),
        uses_graph=any(each.uses_graph for each in results),
    )


def _run(
    name: str, task: Task, split: Split, model: GraphCNN, X: Any, y: np.ndarray
) -> tuple[str, list[Result]]:
    return name, task(model, X, y, split)


def _splits(
    y: np.ndarray, n_splits: int, n_repeats: int, seed: int, *, is_classification: bool
) -> list[Split]:
    """Return the splits, stratified by class."""
    if len(y) < 2 * n_splits:
        raise ValueError(
            f"There must be two rows for each of the {n_splits} folds; got {len(y)} rows. Lower "
            "n_splits."
        )
    if is_classification:
        labels, counts = np.unique(y, return_counts=True)
        if counts.min() < n_splits:
            rarest = labels[counts.argmin()]
            raise ValueError(
                f"Each class needs a row in every fold: n_splits is {n_splits}, and class "
                f"{rarest!s} has {counts.min()} rows. Lower n_splits or drop the class."
            )
    kind = RepeatedStratifiedKFold if is_classification else RepeatedKFold
    folds = kind(n_splits=n_splits, n_repeats=n_repeats, random_state=seed)
    return [
        Split(number, train, test, seed + number)
        for number, (train, test) in enumerate(folds.split(np.empty(len(y)), y))
    ]


def _identity(model: GraphCNN, rows: Rows, plan: list[Any]) -> str:
    """Return a digest of all that a comparison depends on."""
    parts = [type(model).__name__, plan, identify(model._request(), rows, None)]
    return hashlib.sha256(json.dumps(parts, default=str).encode()).hexdigest()


def _as_table(results: list[Result], splits: list[Split]) -> pl.DataFrame:
    """Return a row for each contestant and split, the model first.

    On a split where the search chose no graph, the model is its own twin.
    """
    by_place = {(each.contestant, each.split): each for each in results}
    names = {each.contestant for each in results}
    order = [name for name in (MODEL, ALONE, RANDOM, RANKS) if name in names]
    order += [name for name in dict.fromkeys(each.contestant for each in results) if name in names]
    records = [
        (name, split.number, found.error, found.seconds)
        for name in dict.fromkeys(order)
        for split in splits
        for found in [by_place.get((name, split.number), by_place[MODEL, split.number])]
    ]
    return pl.DataFrame(records, schema=["contestant", "split", "error", "seconds"], orient="row")


def _shown(done: Iterable[Any], n_missing: int, n_tasks: int, verbose: int) -> Iterable[Any]:
    """Return the results with a progress bar if it is wanted."""
    if not verbose:
        return done
    return tqdm(done, total=n_tasks, initial=n_tasks - n_missing, unit="split", file=sys.stderr)
