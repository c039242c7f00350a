"""Attributions of a fitted model as tables: of each row, and over many rows."""

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import scipy.sparse as sp
import torch
from sklearn.utils import check_random_state
from torch import Tensor

from walkconv._checks import check_integer, check_number, check_option
from walkconv.estimators.fitting import read_rows
from walkconv.estimators.records import Fitted
from walkconv.estimators.samples import Samples
from walkconv.inspection import Value, attribute
from walkconv.training.batches import Batches, predict

if TYPE_CHECKING:
    from walkconv.estimators.answers import Answers


def explain(
    model: "Answers", X: Any, *, target: Any, baseline: Any, n_steps: int, tolerance: float
) -> pl.DataFrame:
    """Return the attributions of every row, or of every node; see `GraphCNN.explain`."""
    fitted = model._fitted
    n_steps = check_integer(n_steps, "n_steps", minimum=1, maximum=1024)
    tolerance = check_number(tolerance, "tolerance", minimum=0, is_open=True)
    samples, batches = _read(model, X)
    if target is None:
        which = _default_outputs(fitted, batches)
    else:
        which = torch.full((len(samples),), fitted.target.output_of(target))
    base = None if baseline is None else _read_baseline(model, baseline)
    found = attribute(
        fitted.modules,
        batches,
        samples.sizes,
        _prediction(fitted, which),
        baseline=base,
        n_points=n_steps,
        tolerance=tolerance,
    )
    mean = [shares.mean(axis=0) for shares in found.shares]
    return pl.DataFrame(fitted.learned.list_shares(samples, mean))


def rank_columns(
    model: "Answers", X: Any, y: Any, *, by: str, max_samples: int, random_state: Any
) -> pl.DataFrame:
    """Return the columns with their importance, most important first; see `GraphCNN.importance`."""
    fitted = model._fitted
    check_option(by, "by", ["column", "neighborhood"])
    max_samples = check_integer(max_samples, "max_samples", minimum=1)
    random = check_random_state(random_state)
    groups = fitted.learned.neighborhoods() if by == "neighborhood" else None
    samples, _ = _read(model, X)
    chosen = np.arange(len(samples))
    if len(chosen) > max_samples:
        chosen = np.sort(random.choice(chosen, max_samples, replace=False))
    samples, batches = _read(model, X, chosen)
    which = _default_outputs(fitted, batches)
    value = _prediction(fitted, which)
    if not fitted.target.is_classification and fitted.target.n_outputs > 1:
        # Each row explains one output: the mean over all outputs costs no more than one of them.
        which = torch.from_numpy(random.randint(fitted.target.n_outputs, size=len(samples)))
        value = _scaled_output(which)
    shares = _shares_of_inputs(fitted, samples, batches, value, groups)
    table: dict[str, Any] = {
        "column": fitted.learned.input_names(),
        "importance": np.abs(shares.mean(axis=0)).mean(axis=0),
        "spread": _spread(np.abs(shares).mean(axis=1)),
    }
    if y is not None:
        rows = read_rows(X, y, None, fitted.learned.read, **model._target_checks)
        truth = torch.from_numpy(fitted.target.encode(rows.y[chosen]))
        gains = _shares_of_inputs(fitted, samples, batches, _gain(fitted, truth), groups)
        table["gain"] = gains.mean(axis=(0, 1))
    return pl.DataFrame(table).sort("importance", descending=True, maintain_order=True)


def _read(model: "Answers", X: Any, chosen: np.ndarray | None = None) -> tuple[Samples, Batches]:
    """Return checked samples, all or those chosen, and their batches."""
    learned = model._fitted.learned
    samples = learned.read(X)
    learned.check(samples)
    samples = samples if chosen is None else samples.take(chosen)
    return samples, learned.batches(samples, model._place)


def _default_outputs(fitted: Fitted, batches: Batches) -> Tensor:
    """Return the number (n_samples,) of the predicted class of each row, 0 for values."""
    if not fitted.target.is_classification:
        return torch.zeros(len(batches), dtype=torch.int64)
    chances = [
        torch.from_numpy(predict(module, batches)).softmax(dim=1) for module in fitted.modules
    ]
    return torch.stack(chances).mean(dim=0).argmax(dim=1)


def _read_baseline(model: "Answers", baseline: Any) -> Tensor:
    """Return the rows to compare with (n_baselines, n_nodes, n_channels), scaled."""
    _, batches = _read(model, baseline)
    first, *missing = batches.batch(slice(None))
    if not isinstance(first, Tensor):
        raise ValueError(
            "baseline must be left out if samples are graphs: each graph is compared with itself "
            "without node features."
        )
    return first.masked_fill(missing[0], 0) if missing else first


def _prediction(fitted: Fitted, which: Tensor) -> Value:
    return lambda outputs, rows: fitted.target.prediction(outputs, which.to(outputs.device)[rows])


def _scaled_output(which: Tensor) -> Value:
    return lambda outputs, rows: outputs.gather(1, which.to(outputs.device)[rows, None])[:, 0]


def _gain(fitted: Fitted, truth: Tensor) -> Value:
    """Return the loss with the opposite sign: what rises when a row is predicted better."""
    return lambda outputs, rows: -fitted.target.row_losses(outputs, truth.to(outputs.device)[rows])


def _shares_of_inputs(
    fitted: Fitted,
    samples: Samples,
    batches: Batches,
    value: Value,
    groups: sp.csr_array | None,
) -> np.ndarray:
    """Return the shares (n_members, n_samples, n_inputs), of neighbourhoods if there are groups."""
    found = attribute(fitted.modules, batches, samples.sizes, value).shares
    by_input = fitted.learned.by_input
    shares = np.stack([[by_input(member) for member in each] for each in found], axis=1)
    return shares if groups is None else np.stack([each @ groups.T for each in shares])


def _spread(importance: np.ndarray) -> pl.Series:
    """Return the standard deviation over the members (n_members, n_inputs), None for one member."""
    if len(importance) == 1:
        return pl.Series([None] * importance.shape[1], dtype=pl.Float64)
    return pl.Series(importance.std(axis=0, ddof=1))
