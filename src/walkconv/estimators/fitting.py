"""From samples to trained networks, step by step."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from sklearn.utils import check_random_state
from torch import nn

from walkconv._checks import refuse_masked
from walkconv._samples import is_list_of_samples
from walkconv.estimators.epoch_notes import plain_notes
from walkconv.estimators.filters import Filters
from walkconv.estimators.graph_inputs import check_fitted_kind, check_same_kind, read_graphs
from walkconv.estimators.held_back import hold_back
from walkconv.estimators.identity import digest, identify
from walkconv.estimators.inputs import Rows, read_rows
from walkconv.estimators.kinds import check_same_walks, learn_samples, make_training_table
from walkconv.estimators.objective import batch_loss, scorer
from walkconv.estimators.settings import Settings, check_settings
from walkconv.models.checkpoint import Checkpoint
from walkconv.models.members import train_members
from walkconv.models.processes import Processes, current_processes
from walkconv.models.training import Training
from walkconv.models.turns import seeded, single_precision


@contextmanager
def all_or_nothing(model: Any) -> Iterator[None]:
    """Leave a model as it was where its fit fails: what it knows belongs together."""
    before = dict(vars(model))
    try:
        yield
    except BaseException:
        vars(model).clear()
        vars(model).update(before)
        raise


def fit_model(
    model: Any,
    X: Any,
    y: Any,
    sample_weight: Any,
    validation_data: Any,
    *,
    after_epoch: Callable[[Any], dict[str, Any] | None] | None = None,
    filters: Filters | None = None,
) -> Any:
    """Fit a `GraphCNN` and return it; arguments as in its `fit`.

    `filters` are those of another model, to begin with. Processes that were joined come here with
    the same arguments, and each learns the graph and makes the networks by itself.
    """
    processes = current_processes()
    settings = check_settings(model)
    is_warm = model.warm_start and hasattr(model, "modules_")
    rows = _read_rows(model, X, y, sample_weight, is_first=not is_warm)
    if is_warm:
        check_fitted_kind(model, rows.X)
        check_same_walks(model)
    else:
        model._learn_target(rows.y)
    rows = replace(rows, y=model._encode_target(rows.y))
    validation = _read_validation(model, validation_data, rows.X)
    drawn = int(check_random_state(model.random_state).randint(2**31 - 1))
    seed = processes.from_first(lambda: drawn)
    checkpoint = _open_checkpoint(model, rows, validation, seed, processes)
    seed = seed if checkpoint is None else checkpoint.seed
    if validation is None and model.early_stopping:
        rows, validation = hold_back(model, rows, seed)
    if not is_warm:
        encoding = None if filters is None else filters.encoding_for(rows.X)
        learn_samples(model, rows, settings, seed, encoding)
    networks = _make_networks(model, settings, seed, is_warm=is_warm)
    if filters is not None:
        filters.put_into(networks)
    if processes.size > 1:
        processes.refuse_differences({"the network": [_digest(each) for each in networks]})
    trainings = _make_trainings(model, networks, rows, validation, settings, seed, processes)
    if checkpoint is not None:
        checkpoint.restore(trainings)
    past = model.history_ if is_warm else []

    def finish_epoch(training: Training) -> None:
        if after_epoch is not None:
            begun = [each for each in trainings if each.epoch]
            records = [record for each in begun for record in each.history]
            model._keep([each.network for each in begun], [*past, *records])
            training.history[-1] |= plain_notes(after_epoch(model), training.history[-1])
        if checkpoint is not None:
            checkpoint.write(trainings)

    verbose = model.verbose if processes.is_first else 0
    modules, history = train_members(trainings, verbose=verbose, after_epoch=finish_epoch)
    model._keep(modules, [*past, *history])
    return model


def _read_rows(model: Any, X: Any, y: Any, sample_weight: Any, *, is_first: bool) -> Rows:
    """Return the rows of a table, or graphs: the input decides."""
    refuse_masked(y, "y")
    refuse_masked(sample_weight, "sample_weight")
    read = read_graphs if is_list_of_samples(X) else read_rows
    return read(model, X, y, sample_weight, is_first=is_first, **model._target_checks)


def _read_validation(model: Any, pair: Any, training: Any) -> Rows | None:
    if pair is None:
        return None
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise TypeError("validation_data must be a pair (X, y).")
    X, y = pair
    rows = _read_rows(model, X, y, None, is_first=False)
    check_same_kind(rows.X, training)
    return replace(rows, y=model._encode_target(rows.y))


def _open_checkpoint(
    model: Any, rows: Rows, validation: Rows | None, seed: int, processes: Processes
) -> Checkpoint | None:
    """Return the file that follows the training, if there is to be one.

    Processes that fit something else than the first are refused.
    """
    is_wanted = model.checkpoint is not None
    if is_wanted and model.warm_start:
        raise ValueError("checkpoint and warm_start do not go together. Choose one.")
    if not is_wanted and processes.size == 1:
        return None
    identity = identify(model, rows, validation)
    processes.refuse_differences(
        identity | {"checkpoint": is_wanted, "warm_start": model.warm_start}
    )
    return Checkpoint(model.checkpoint, identity, seed, processes) if is_wanted else None


def _make_networks(model: Any, settings: Settings, seed: int, *, is_warm: bool) -> list[nn.Module]:
    """Return a network for every member, new or with the weights learned before."""
    networks = []
    for member in range(settings.n_members):
        with seeded(seed, member, 0, device=settings.device), single_precision():
            networks.append(model._make_network().to(settings.device))
    if is_warm:
        learned = [module.state_dict() for module in model.modules_]
        shapes = [{k: v.shape for k, v in state.items()} for state in learned]
        wanted = [{k: v.shape for k, v in n.state_dict().items()} for n in networks]
        if shapes != wanted:
            raise ValueError(
                "warm_start needs the architecture, normalization and n_members of the "
                "first fit; they have changed. Set warm_start=False to start anew."
            )
        for network, state in zip(networks, learned, strict=True):
            network.load_state_dict(state)
    return networks


def _digest(network: nn.Module) -> list[str]:
    """Return a digest of every weight and every table of neighbours."""
    tensors = [*network.parameters(), *network.buffers()]
    return [digest(tensor.detach().cpu().numpy()) for tensor in tensors]


def _make_trainings(
    model: Any,
    networks: list[nn.Module],
    rows: Rows,
    validation: Rows | None,
    settings: Settings,
    seed: int,
    processes: Processes,
) -> list[Training]:
    table = make_training_table(model, rows.X, settings.device)
    score = None if validation is None else scorer(model, validation, settings)
    loss = batch_loss(model, rows, settings.device)
    return [
        Training(network, table, loss, settings.training, (seed, member), score, processes)
        for member, network in enumerate(networks)
    ]
