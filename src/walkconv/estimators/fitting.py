"""From samples to trained networks, step by step. Nothing here writes on an estimator."""

import json
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from numbers import Number
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from sklearn.utils import check_array, check_consistent_length, check_random_state
from sklearn.utils.validation import validate_data
from torch import Tensor, nn

from walkconv._checks import as_real, describe, is_missing, refuse_masked
from walkconv._samples import kind_of_samples
from walkconv.estimators.choice import Choice
from walkconv.estimators.choosing import choose
from walkconv.estimators.graph_samples import GraphSamples, Nodes
from walkconv.estimators.identity import (
    digest,
    has_same_positions,
    identify,
    is_same_graph,
    weights_digest,
)
from walkconv.estimators.records import Fitted, Request, Rows, Target
from walkconv.estimators.samples import Learned, Lesson, Samples
from walkconv.estimators.settings import Settings, check_calibration_rows
from walkconv.estimators.table_samples import Columns, NeedsTarget, TableSamples
from walkconv.estimators.trials import Parts
from walkconv.estimators.validation import hold_back, scorer
from walkconv.networks.network import Network, NetworkPlan
from walkconv.persistence import ModelFileError
from walkconv.training.checkpoint import Checkpoint
from walkconv.training.countdown import Countdown, start_countdown
from walkconv.training.loop import (
    BatchLoss,
    Training,
    say,
    seeded,
    single_precision,
    train_members,
)
from walkconv.training.processes import Processes, current_processes, on_its_own

KINDS: dict[str, type[Columns] | type[Nodes]] = {kind.kind: kind for kind in (Columns, Nodes)}
"""What can be learned about samples, by the kind of the samples."""

READERS = {
    "table": TableSamples.read,
    "stored table": TableSamples.read_stored,
    "graphs": GraphSamples.read,
}
"""How samples of each kind are read; `kind_of_samples` says which they are."""


def read_samples(X: Any) -> Samples:
    """Return checked samples to learn from."""
    return READERS[kind_of_samples(X)](X)


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
    is_given = y is not None  # scikit-learn says that it is not
    if is_given and target.get("y_numeric") and (values := np.asarray(y)).dtype.kind == "O":
        y = as_real(values, "y")
    samples = read(X)
    y = validate_data(NeedsTarget(), "no_validation", y, **target)
    weight = np.ones(len(samples))
    check_consistent_length(weight, y)
    if sample_weight is None:
        return Rows(samples, y, weight, y)
    weight = _check_weight(sample_weight, len(samples))
    is_kept = weight > 0
    if is_kept.sum() < 2:
        raise ValueError(
            f"At least two rows must have a sample_weight above zero; got {is_kept.sum()}."
        )
    rows = Rows(samples, y, weight, y)
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
    elif (values := np.asarray(sample_weight)).dtype.kind != "O":
        as_real(values, "sample_weight")
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
    if request.calibrates:
        check_calibration_rows(len(rows.y))
    if request.is_part and len(rows.samples) < 2:
        raise ValueError(
            f"A part of a stream must have at least two rows; got {len(rows.samples)}. Collect "
            "more."
        )
    if past is not None:
        _refuse_another_network(settings, past, rows)
    target = request.learn_target(rows.y, settings) if past is None else past.target
    rows = replace(rows, y=target.encode(rows.y))
    validation = _read_validation(request, validation_data, rows, target)
    drawn = int(check_random_state(request.random_state).randint(2**31 - 1))
    seed = processes.from_first(lambda: drawn)
    with _open_checkpoint(request, rows, validation, seed, processes) as checkpoint:
        return train(request, target, rows, validation, seed, time_left, checkpoint)


def _refuse_another_network(settings: Settings, past: Fitted, rows: Rows) -> None:
    """Refuse to continue a fit with another loss, other layers or other columns."""
    past.learned.check(rows.samples)
    if settings.loss != past.settings.loss:
        raise ValueError(
            f"warm_start needs the loss of the first fit, {past.settings.loss.setting!r}; got "
            f"{settings.loss.setting!r}. Set warm_start=False to start again."
        )
    before = past.settings
    if (
        settings.kept_by_warm_start != before.kept_by_warm_start
        or not is_same_graph(settings, before)
        or not has_same_positions(settings, before)
    ):
        raise ValueError(
            "warm_start needs the C and P layers, graph, n_neighbors, n_steps, order, n_dims, "
            "weighting, standardize and soft_clip of the first fit; they have changed. Set "
            "warm_start=False to start again."
        )


def train(
    request: Request,
    target: Target,
    rows: Rows,
    validation: Rows | None,
    seed: int,
    time_left: Countdown | None = None,
    checkpoint: Checkpoint | None = None,
) -> Fitted:
    """Return what is learned from checked rows whose targets are encoded."""
    processes, past = current_processes(), request.past
    seed = seed if checkpoint is None else checkpoint.seed
    if request.is_part:
        seed += 0 if past is None else len(past.history)  # other shuffles than the last part
    elif validation is None and request.settings.stops_early:
        rows, validation = hold_back(rows, target, request.settings, seed)
    choice = None if past is None else past.choice
    if past is None and request.is_open:
        choice = _search(request, target, rows, seed, time_left, checkpoint)
        request = _with_choice(request, choice, time_left)
    if request.is_part:
        request = replace(request, settings=_one_pass(request.settings))
    settings = request.settings
    class_weight = request.parameters.get("class_weight")
    loss_weight = target.loss_weight(rows.y, rows.weight, class_weight)
    learned = _learn(request, target, rows, loss_weight, seed, choice)
    if checkpoint is not None and settings.graph_source == "callable":
        checkpoint.confirm_graph(digest([learned.attributes()["graph_"]]))
    if validation is not None:
        learned.check(validation.samples, "validation_data")
    networks = _make_networks(request, learned.plan(settings, target.n_outputs), seed)
    if request.calibrates and target.is_classification:
        _refuse_foreign_outputs(networks)
    if processes.size > 1:
        processes.refuse_differences({"the network": [weights_digest(each) for each in networks]})
    batches = learned.training_batches(rows.samples, settings)
    score = None if validation is None else scorer(validation, learned, target, settings)
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
    return _train_all(trainings, request, learned, target, choice, time_left, checkpoint)


def _train_all(
    trainings: list[Training],
    request: Request,
    learned: Learned,
    target: Target,
    choice: Choice | None,
    time_left: Countdown | None,
    checkpoint: Checkpoint | None,
) -> Fitted:
    """Run the trainings to their end, with what is asked after every epoch."""
    settings = request.settings
    before = [] if request.past is None else request.past.history

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

    verbose = settings.verbose if current_processes().is_first else 0
    fitted = model(
        *train_members(trainings, verbose=verbose, after_epoch=finish_epoch, time_left=time_left)
    )
    if not request.is_part:
        return fitted
    return replace(fitted, solvers=[each.optimizer.state_dict() for each in trainings])


def _learn(
    request: Request,
    target: Target,
    rows: Rows,
    loss_weight: np.ndarray,
    seed: int,
    choice: Choice | None,
) -> Learned:
    """Return what precedes the weights: of these rows, or of the fit that is continued."""
    if request.past is not None:
        return request.past.learned
    known = None if choice is None else choice.relations
    lesson = Lesson(
        request.settings, rows.given, target.is_classification, loss_weight, seed, known
    )
    return rows.samples.learn(lesson, None if request.filters is None else request.filters.learned)


def _search(
    request: Request,
    target: Target,
    rows: Rows,
    seed: int,
    time_left: Countdown | None,
    checkpoint: Checkpoint | None,
) -> Choice:
    """Return what the search chooses, the same in all processes."""
    processes = current_processes()
    numbers, samples = rows.samples.in_memory(request.settings, seed)
    some = Rows(samples, rows.y[numbers], rows.weight[numbers], rows.given[numbers])
    is_whole = not request.is_part and len(numbers) == len(rows.y)
    parts = Parts(request, target, some, seed, _make_networks, _batch_loss, time_left, is_whole)
    choice = processes.from_first(lambda: _find_choice(parts, checkpoint, processes))
    # What was found on some of the rows is not the graph of all rows.
    return replace(choice, relations=None) if rows.samples.is_lazy else choice


def _with_choice(request: Request, choice: Choice, time_left: Countdown | None) -> Request:
    """Return the request with the settings that were chosen, and say which these are."""
    request = request.choosing(choice.settings)
    request = replace(request, settings=_in_time(request.settings, choice, time_left))
    if request.settings.verbose and current_processes().is_first:
        say(choice.in_words)
    return request


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
    return replace(rows, y=target.encode(rows.y))


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


def _refuse_foreign_outputs(networks: list[nn.Module]) -> None:
    """Refuse to calibrate a classifier whose last layer is not known to be linear."""
    if not all(isinstance(network, Network) for network in networks):
        raise ValueError(
            "calibrate needs the networks of walkconv in a classifier: it divides their outputs by "
            f"a temperature. Got {type(networks[0]).__name__} from make_network. Leave it out."
        )


def _batch_loss(
    target: Target, y: np.ndarray, weight: np.ndarray, device: torch.device
) -> BatchLoss:
    """Return the weighted mean loss of outputs for some of the rows."""
    encoded = torch.from_numpy(y)
    with np.errstate(over="ignore"):
        mean = weight.mean()
    if not np.isfinite(mean):
        raise ValueError(
            "The weights of the rows must have a sum that a float can hold; the largest is "
            f"{weight.max():g}. Divide sample_weight or class_weight by a constant."
        )
    share = torch.from_numpy((weight / mean).astype(np.float32))

    def loss(outputs: Tensor, batch: Tensor) -> Tensor:
        losses = target.row_losses(outputs, encoded[batch].to(device))
        return (losses * share[batch].to(device)).mean()

    return loss
