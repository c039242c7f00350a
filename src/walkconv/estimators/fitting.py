"""From samples to trained networks, step by step. Nothing here writes on an estimator."""

import json
import math
import os
import warnings
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from numbers import Number
from typing import Any, ClassVar, Protocol, Self

import numpy as np
import scipy.sparse as sp
import torch
from sklearn.model_selection import train_test_split
from sklearn.utils import check_array, check_consistent_length, check_random_state
from sklearn.utils.validation import validate_data
from torch import Tensor, nn

from walkconv._checks import describe, is_missing, refuse_masked
from walkconv._samples import kind_of_samples
from walkconv.estimators.filters import Filters
from walkconv.estimators.graph_samples import GraphSamples, Nodes
from walkconv.estimators.identity import digest, identify, is_same_graph, weights_digest
from walkconv.estimators.samples import Learned, Lesson, Samples
from walkconv.estimators.settings import CHOSEN, Settings, check_settings, is_open, is_option
from walkconv.estimators.table_samples import Columns, NeedsTarget, TableSamples
from walkconv.estimators.trials import Choice, Parts, choose
from walkconv.networks.network import NetworkPlan
from walkconv.persistence import ModelFileError
from walkconv.training.batches import predict
from walkconv.training.checkpoint import Checkpoint
from walkconv.training.countdown import Countdown, start_countdown
from walkconv.training.loop import (
    BatchLoss,
    Score,
    Training,
    say,
    seeded,
    single_precision,
    train_members,
)
from walkconv.training.processes import Processes, current_processes, on_its_own
from walkconv.training.scoring import PredictedClasses, PredictedValues, score_predictions

KINDS: dict[str, type[Columns] | type[Nodes]] = {kind.kind: kind for kind in (Columns, Nodes)}
"""What can be learned about samples, by the kind of the samples."""

READERS = {
    "table": TableSamples.read,
    "stored table": TableSamples.read_stored,
    "graphs": GraphSamples.read,
}
"""How samples of each kind are read; `kind_of_samples` says which they are."""


class Target(Protocol):
    """What y means: classes or values. Learned from the training rows, frozen."""

    is_classification: ClassVar[bool]

    @property
    def n_outputs(self) -> int:
        """Outputs of the network."""
        ...

    def encode(self, y: np.ndarray) -> np.ndarray:
        """Return y as the loss takes it, one row for each sample."""
        ...

    def loss_weight(self, y: np.ndarray, weight: np.ndarray, class_weight: Any) -> np.ndarray:
        """Return the weight (n_samples,) of each row in the loss; y is encoded."""
        ...

    def row_losses(self, outputs: Tensor, target: Tensor) -> Tensor:
        """Return the loss (m,) of outputs (m, n_outputs)."""
        ...

    def errors(self, outputs: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the error (m,) of each sample for encoded y; the search compares their means."""
        ...

    def score(self, outputs: np.ndarray, y: np.ndarray, weight: np.ndarray) -> float:
        """Return how good the outputs are for encoded y; higher is better."""
        ...

    def output_of(self, target: Any) -> int:
        """Return the number of the output that users call `target`."""
        ...

    def prediction(self, outputs: Tensor, which: Tensor) -> Tensor:
        """Return what is predicted (m,) by output `which` (m,) of outputs (m, n_outputs)."""
        ...

    def answers(self, outputs: np.ndarray) -> PredictedClasses | PredictedValues:
        """Return an estimator that knows the answers of outputs (n_samples, n_outputs)."""
        ...

    def calibrated(self, outputs: np.ndarray, y: np.ndarray) -> tuple[Self, float]:
        """Return what outputs (n_members, n_samples, n_outputs) for unseen rows with encoded y say.

        A target that knows its uncertainty, and the temperature to divide outputs by.
        """
        ...

    def attributes(self) -> dict[str, Any]:
        """Return the fitted attributes of the estimator."""
        ...

    def to_arrays(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Return the record as arrays and plain values, for a file."""
        ...

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray], plain: Mapping[str, Any]) -> Self:
        """Return the record that `to_arrays` wrote, or raise an error if it is not whole."""
        ...


@dataclass(frozen=True, eq=False)
class Fitted:
    """All that a fit has learned.

    Attributes
    ----------
    settings : Settings
    parameters : dict
        The parameters of the estimator at the time of the fit.
    learned : Learned
        What was learned about the samples before any weight.
    target : Target
    modules : list of Module
        The ensemble members.
    history : list of dict
        A record for each epoch.
    choice : Choice or None
        What the search chose; None if the architecture was given.
    solvers : list of dict or None
        The moments of the solver of every member, if further parts of a stream may follow.
    """

    settings: Settings
    parameters: dict[str, Any]
    learned: Learned
    target: Target
    modules: list[nn.Module]
    history: list[dict[str, Any]]
    choice: Choice | None = None
    solvers: list[dict[str, Any]] | None = None


@dataclass(frozen=True, eq=False)
class Request:
    """What a fit is asked to do.

    Attributes
    ----------
    settings : Settings
        Before a search has chosen, with the values of a given architecture for open settings.
    parameters : dict
        The parameters of the estimator.
    given : dict
        The parameters and the class attributes that `check_settings` takes, open ones included.
    target_checks : dict
        Of scikit-learn's checks of y.
    learn_target : callable
        From y and the settings to a `Target`.
    make_network : callable
        From a plan to a new module.
    random_state
    past : Fitted or None
        What to continue from, for a warm start.
    filters : Filters or None
        Filters of another model to start with.
    checkpoint : path or None
    after_epoch : callable or None
        Takes the model after an epoch and returns what joins the record of that epoch.
    is_part : bool
        Whether the rows are a part of a stream: they are passed over once.
    """

    settings: Settings
    parameters: dict[str, Any]
    given: dict[str, Any]
    target_checks: dict[str, bool]
    learn_target: Callable[[np.ndarray, Settings], Target]
    make_network: Callable[[NetworkPlan], nn.Module]
    random_state: Any
    past: Fitted | None = None
    filters: Filters | None = None
    checkpoint: str | os.PathLike | None = None
    after_epoch: Callable[[Fitted], Any] | None = None
    is_part: bool = False

    @property
    def is_open(self) -> bool:
        """Whether a search chooses the architecture."""
        return is_open("architecture", self.given["architecture"])

    @property
    def given_settings(self) -> dict[str, Any]:
        """The settings that the search would choose, but which were given."""
        return {
            name: self.given[name]
            for name in CHOSEN
            if not is_open(name, self.given[name])
            and not (name == "order" and is_option(self.given[name], "auto"))
        }

    def choosing(self, choice: Mapping[str, Any]) -> "Request":
        """Return the request with the settings of a choice."""
        return replace(self, settings=check_settings({**self.given, **choice}))


def read_samples(X: Any) -> Samples:
    """Return checked samples to learn from."""
    return READERS[kind_of_samples(X)](X)


@dataclass(frozen=True, eq=False)
class Rows:
    """Samples with their targets and weights.

    Attributes
    ----------
    samples : Samples
    y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
    weight : ndarray of shape (n_samples,), float64
    given : ndarray of the shape of y, or None
        The targets of validation rows as they were given, if y is encoded.
    """

    samples: Samples
    y: np.ndarray
    weight: np.ndarray
    given: np.ndarray | None = None

    def take(self, rows: np.ndarray) -> "Rows":
        """Return some of the rows."""
        return Rows(self.samples.take(rows), self.y[rows], self.weight[rows])


def read_rows(
    X: Any, y: Any, sample_weight: Any, read: Callable[[Any], Samples], **target: bool
) -> Rows:
    """Return samples with their targets and weights; rows of weight 0 are dropped.

    Parameters
    ----------
    X, y, sample_weight
        As `fit` takes them.
    read : callable
        `read_samples`; or `Learned.read` or `Samples.read_like`, if they must match other samples.
    **target : bool
        Of scikit-learn's checks of y: `multi_output`, `y_numeric`.
    """
    refuse_masked(y, "y")
    refuse_masked(sample_weight, "sample_weight")
    if sp.issparse(y):
        raise TypeError(f"y must be a dense array; got {describe(y)}. Call y.toarray() first.")
    _refuse_missing(y)
    samples = read(X)
    y = validate_data(NeedsTarget(), "no_validation", y, **target)
    weight = np.ones(len(samples))
    check_consistent_length(weight, y)
    if sample_weight is None:
        return Rows(samples, y, weight)
    weight = _check_weight(sample_weight, len(samples))
    is_kept = weight > 0
    if is_kept.sum() < 2:
        raise ValueError(
            f"At least two rows must have a sample_weight above zero; got {is_kept.sum()}."
        )
    rows = Rows(samples, y, weight)
    return rows if is_kept.all() else rows.take(np.flatnonzero(is_kept))


def _refuse_missing(y: Any) -> None:
    """Refuse None, NaN and pandas.NA among objects: they cannot be compared with labels."""
    if y is None or not hasattr(y, "__len__"):
        return
    values = y if isinstance(y, np.ndarray) else np.asarray(y)
    if values.dtype != object:
        return
    missing = [is_missing(value) for value in values.flat]
    if any(missing):
        raise ValueError(
            f"y must have no missing values; {sum(missing)} of {len(missing)} are missing, the "
            f"first at {missing.index(True)}. Drop these rows."
        )


def _check_weight(sample_weight: Any, n_rows: int) -> np.ndarray:
    if isinstance(sample_weight, Number):
        sample_weight = np.full(n_rows, sample_weight)
    weight = check_array(
        sample_weight, ensure_2d=False, dtype=np.float64, input_name="sample_weight"
    )
    if weight.shape != (n_rows,):
        raise ValueError(
            f"sample_weight must have shape ({n_rows},), one for each row; got {weight.shape}."
        )
    if (weight < 0).any():
        raise ValueError(f"sample_weight must not be negative; got {weight.min():g}.")
    return weight


def fit_model(request: Request, X: Any, y: Any, sample_weight: Any, validation_data: Any) -> Fitted:
    """Return what is learned from samples X, targets y and their weights.

    Processes that were joined come here with the same arguments. Each of them learns the graph and
    makes the networks by itself.
    """
    processes = current_processes()
    if request.past is not None and request.past.choice is not None and request.is_open:
        request = request.choosing(request.past.choice.settings)
    settings, past = request.settings, request.past
    settings.loss.refuse_lost()
    time_left = None if settings.time_limit is None else start_countdown(settings.time_limit)
    if request.checkpoint is not None and request.parameters["warm_start"]:
        raise ValueError("checkpoint and warm_start do not go together. Choose one.")
    if settings.time_limit is not None and (request.checkpoint is not None or processes.size > 1):
        raise ValueError(
            "time_limit does not go with a checkpoint or with several processes: what time decides "
            "is not the same twice. Leave it out, or lower max_iter."
        )
    read = read_samples if past is None else past.learned.read
    rows = read_rows(X, y, sample_weight, read, **request.target_checks)
    if request.is_part and len(rows.samples) < 2:
        raise ValueError(
            f"A part of a stream must have at least two rows; got {len(rows.samples)}. Collect "
            "more."
        )
    if past is not None:
        past.learned.check(rows.samples)
        if settings.loss != past.settings.loss:
            raise ValueError(
                f"warm_start needs the loss of the first fit, {past.settings.loss.setting!r}; got "
                f"{settings.loss.setting!r}. Set warm_start=False to start again."
            )
        if settings.walks != past.settings.walks or not is_same_graph(settings, past.settings):
            raise ValueError(
                "warm_start needs the C and P layers, graph, n_neighbors, n_steps, order, "
                "weighting, standardize and soft_clip of the first fit; they have changed. Set "
                "warm_start=False to start again."
            )
    target = request.learn_target(rows.y, settings) if past is None else past.target
    given_y, rows = rows.y, replace(rows, y=target.encode(rows.y))
    validation = _read_validation(request, validation_data, rows, target)
    drawn = int(check_random_state(request.random_state).randint(2**31 - 1))
    seed = processes.from_first(lambda: drawn)
    with _open_checkpoint(request, rows, validation, seed, processes) as checkpoint:
        return train(request, target, given_y, rows, validation, seed, time_left, checkpoint)


def train(
    request: Request,
    target: Target,
    given_y: np.ndarray,
    rows: Rows,
    validation: Rows | None,
    seed: int,
    time_left: Countdown | None,
    checkpoint: Checkpoint | None,
) -> Fitted:
    """Return what is learned from checked rows, whose targets are encoded; `given_y` are not."""
    processes = current_processes()
    settings, past = request.settings, request.past
    seed = seed if checkpoint is None else checkpoint.seed
    if request.is_part:
        settings = _one_pass(settings)
        seed += 0 if past is None else len(past.history)  # other shuffles than the last part
    if validation is None and settings.stops_early:
        seen, apart = _hold_back(rows.y, target, settings, seed)
        if rows.samples.is_lazy:  # rows that are read in blocks must ascend
            seen, apart = np.sort(seen), np.sort(apart)
        validation = replace(rows.take(apart), given=given_y[apart])
        given_y, rows = given_y[seen], rows.take(seen)
    choice = None if past is None else past.choice
    if past is None and request.is_open:
        numbers, samples = rows.samples.in_memory(settings, seed)
        some = Rows(samples, rows.y[numbers], rows.weight[numbers])
        some_y = given_y[numbers]
        parts = Parts(request, target, some, some_y, seed, _make_networks, _batch_loss, time_left)
        choice = processes.from_first(lambda: _find_choice(parts, checkpoint, processes))
        if rows.samples.is_lazy:  # what was found there is not the graph of all rows
            choice = replace(choice, relations=None)
        request = request.choosing(choice.settings)
        settings = _in_time(request.settings, choice, time_left)
        settings = _one_pass(settings) if request.is_part else settings
        request = replace(request, settings=settings)
        if settings.verbose and processes.is_first:
            say(choice.in_words)
    class_weight = request.parameters.get("class_weight")
    loss_weight = target.loss_weight(rows.y, rows.weight, class_weight)
    if past is None:
        like = None if request.filters is None else request.filters.learned
        known = None if choice is None else choice.relations
        lesson = Lesson(settings, given_y, target.is_classification, loss_weight, seed, known)
        learned = rows.samples.learn(lesson, like)
    else:
        learned = past.learned
    if checkpoint is not None and settings.graph_source == "callable":
        checkpoint.confirm_graph(digest([learned.attributes()["graph_"]]))
    if validation is not None:
        learned.check(validation.samples, "validation_data")
    networks = _make_networks(request, learned.plan(settings, target.n_outputs), seed)
    if processes.size > 1:
        processes.refuse_differences({"the network": [weights_digest(each) for each in networks]})
    batches = learned.training_batches(rows.samples, settings)
    score = None if validation is None else _scorer(validation, learned, target, settings)
    loss = _batch_loss(target, rows.y, loss_weight, settings.device)
    trainings = [
        Training(network, batches, loss, settings.training, (seed, member), score, processes)
        for member, network in enumerate(networks)
    ]
    if checkpoint is not None:
        checkpoint.restore(trainings)
    if request.is_part and past is not None and past.solvers is not None:
        for training, state in zip(trainings, past.solvers, strict=True):
            training.optimizer.load_state_dict(state)
    before = [] if past is None else past.history

    def model(modules: list[nn.Module], history: list[dict[str, Any]]) -> Fitted:
        records = [*before, *history]
        return Fitted(settings, request.parameters, learned, target, modules, records, choice)

    def finish_epoch(training: Training) -> None:
        if request.after_epoch is not None:
            begun = [each for each in trainings if each.epoch]
            records = [record for each in begun for record in each.history]
            now = model([each.network for each in begun], records)
            training.history[-1] |= plain_notes(request.after_epoch(now), training.history[-1])
        if checkpoint is not None:
            checkpoint.write(trainings)

    verbose = settings.verbose if processes.is_first else 0
    fitted = model(
        *train_members(trainings, verbose=verbose, after_epoch=finish_epoch, time_left=time_left)
    )
    if not request.is_part:
        return fitted
    return replace(fitted, solvers=[each.optimizer.state_dict() for each in trainings])


def _one_pass(settings: Settings) -> Settings:
    """Return the settings for a part of a stream: one epoch at a constant learning rate."""
    training = replace(settings.training, max_iter=1, schedule="constant", patience=None)
    return replace(settings, training=training, stops_early=False)


def _in_time(settings: Settings, choice: Choice, time_left: Countdown | None) -> Settings:
    """Return the settings with as many members as there is time for."""
    if time_left is None:
        return settings
    n_members = int(time_left() / choice.member_seconds) if choice.member_seconds else 1
    return replace(settings, n_members=min(max(1, n_members), settings.n_members))


def _find_choice(parts: Parts, checkpoint: Checkpoint | None, processes: Processes) -> Choice:
    """Return what the search chooses, or what it chose before the process ended."""
    if checkpoint is not None and checkpoint.choice is not None:
        return _read_choice(parts.request, checkpoint)
    with on_its_own():  # a graph may be learned by a fit
        choice = choose(parts)
    if checkpoint is not None:
        checkpoint.choice = choice.to_plain()
    # The other processes find the graph by themselves: it may be larger than what they wait for.
    return choice if processes.size == 1 else replace(choice, relations=None)


def _read_choice(request: Request, checkpoint: Checkpoint) -> Choice:
    """Return the choice that a checkpoint holds, checked."""
    try:
        choice = Choice.from_plain(checkpoint.choice)
        request.choosing(choice.settings)
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise ModelFileError(
            f"{checkpoint.path.name} is not a whole checkpoint: the choice of its search cannot "
            f"be read ({error}). Delete it to start again."
        ) from None
    return choice


def _read_validation(request: Request, pair: Any, training: Rows, target: Target) -> Rows | None:
    """Return the validation rows, of the same kind and columns as the training rows."""
    if pair is None:
        return None
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise TypeError(f"validation_data must be a pair (X, y); got {describe(pair)}.")
    X, y = pair
    rows = read_rows(X, y, None, training.samples.read_like, **request.target_checks)
    return replace(rows, y=target.encode(rows.y), given=rows.y)


def _open_checkpoint(
    request: Request, rows: Rows, validation: Rows | None, seed: int, processes: Processes
) -> AbstractContextManager[Checkpoint | None]:
    """Return a context with the file that follows the training, if there is to be one.

    Processes that fit something else than the first are refused.
    """
    is_wanted = request.checkpoint is not None
    if not is_wanted and processes.size == 1:
        return nullcontext()
    identity = identify(request, rows, validation)
    warm = {"checkpoint": is_wanted, "warm_start": request.parameters["warm_start"]}
    processes.refuse_differences(identity | warm)
    if request.checkpoint is None:
        return nullcontext()
    # torch's dense layers add in another order with other threads.
    identity["threads of torch (torch.set_num_threads)"] = torch.get_num_threads()
    return Checkpoint.open(request.checkpoint, identity, seed, processes)


def plain_notes(returned: Any, record: dict[str, Any]) -> dict[str, Any]:
    """Return what `after_epoch` returned as plain values that join the record of an epoch."""
    pairs = {} if returned is None else returned
    if not isinstance(pairs, dict):
        raise TypeError(f"after_epoch must return a dict or None; got {describe(returned)}.")
    plain = {
        name: value.item() if hasattr(value, "item") and np.ndim(value) == 0 else value
        for name, value in pairs.items()
    }
    for name, value in plain.items():
        if not isinstance(name, str) or not _is_json(value):
            raise TypeError(
                "after_epoch must return plain values by name: numbers, text, and lists and dicts "
                f"of these; got {describe(value)} for {name!r}."
            )
    if taken := record.keys() & plain.keys():
        raise TypeError(
            f"after_epoch must return names that an epoch does not have; got {sorted(taken)}."
        )
    return plain


def _is_json(value: Any) -> bool:
    try:
        json.dumps(value)
    except (TypeError, ValueError):
        return False
    return True


def _hold_back(
    y: np.ndarray, target: Target, settings: Settings, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows to train on and the rows to score after every epoch."""
    if target.is_classification:
        _check_every_class_is_split(y, target, settings.validation_fraction)
    train, apart = train_test_split(
        np.arange(len(y)),
        test_size=settings.validation_fraction,
        random_state=seed,
        stratify=y if target.is_classification else None,
    )
    return train, apart


def _check_every_class_is_split(y: np.ndarray, target: Target, fraction: float) -> None:
    """Refuse classes of which not both parts of the rows can hold some."""
    present, counts = np.unique(y, return_counts=True)
    if counts.min() < 2:
        rarest = target.attributes()["classes_"].tolist()[present[counts.argmin()]]
        raise ValueError(
            f"early_stopping needs two rows of each class; {rarest!r} has {counts.min()}. Add "
            "some, drop the class, or give validation_data."
        )
    n_apart = math.ceil(fraction * len(y))
    n_fewest = min(n_apart, len(y) - n_apart)
    if n_fewest < len(counts):
        raise ValueError(
            "early_stopping needs at least as many rows to score, and to train on, as there are "
            f"classes ({len(counts)}); got {n_fewest}. Change validation_fraction or give "
            "validation_data."
        )


def _make_networks(request: Request, plan: NetworkPlan, seed: int) -> list[nn.Module]:
    """Return a network for every member: new, with learned filters, or with all past weights."""
    settings, networks = request.settings, []
    for member in range(settings.n_members):
        with seeded(seed, member, 0, device=settings.device), single_precision():
            network = request.make_network(plan)
            if not isinstance(network, nn.Module):
                raise TypeError(f"make_network must return a Module; got {describe(network)}.")
            networks.append(network.to(settings.device))
    if request.filters is not None:
        request.filters.put_into(networks)
    if request.past is not None:
        learned = [module.state_dict() for module in request.past.modules]
        shapes = [{k: v.shape for k, v in state.items()} for state in learned]
        wanted = [{k: v.shape for k, v in n.state_dict().items()} for n in networks]
        if shapes != wanted:
            raise ValueError(
                "warm_start needs the architecture and n_members of the first fit; they have "
                "changed. Set warm_start=False to start again."
            )
        for network, state in zip(networks, learned, strict=True):
            network.load_state_dict(state)
    return networks


def _batch_loss(
    target: Target, y: np.ndarray, weight: np.ndarray, device: torch.device
) -> BatchLoss:
    """Return the weighted mean loss of outputs for some of the rows."""
    encoded = torch.from_numpy(y)
    share = torch.from_numpy((weight / weight.mean()).astype(np.float32))

    def loss(outputs: Tensor, batch: Tensor) -> Tensor:
        losses = target.row_losses(outputs, encoded[batch].to(device))
        return (losses * share[batch].to(device)).mean()

    return loss


def _scorer(rows: Rows, learned: Learned, target: Target, settings: Settings) -> Score:
    """Return the score of a network on validation rows, NaN where the outputs overflow."""
    if len(rows.y) < 2:
        raise ValueError(
            f"There must be at least two validation rows; got {len(rows.y)}. "
            "Raise validation_fraction or give validation_data."
        )
    batches = learned.batches(rows.samples, settings.device)

    def score_of(outputs: np.ndarray) -> float:
        if settings.scoring is None:
            return target.score(outputs, rows.y, rows.weight)
        assert rows.given is not None
        return score_predictions(settings.scoring, target.answers(outputs), rows.given, rows.weight)

    def score(network: nn.Module) -> float:
        outputs = predict(network, batches, settings.training.batch_size)
        return score_of(outputs) if np.isfinite(outputs).all() else np.nan

    if settings.scoring is not None:
        with warnings.catch_warnings():  # whether it fits, before any work
            warnings.simplefilter("ignore")
            drawn = np.random.default_rng(0).normal(size=(len(rows.y), target.n_outputs))
            score_of(drawn.astype(np.float32))
    return score
