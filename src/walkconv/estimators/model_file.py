"""A fitted estimator becomes one file, and a file becomes a fitted estimator.

Anyone may have changed a file, so everything in it is checked before it is used. Reading runs no
code from the file.
"""

import os
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar, overload

import torch
from torch import nn

from walkconv._checks import check_integer, check_number, listed
from walkconv.estimators.base import GraphCNN
from walkconv.estimators.choice import Choice
from walkconv.estimators.classifier import Classes, GraphCNNClassifier
from walkconv.estimators.fitting import KINDS
from walkconv.estimators.records import Fitted
from walkconv.estimators.regressor import GraphCNNRegressor, Values
from walkconv.estimators.samples import Arrays
from walkconv.estimators.settings import is_open, plain_value
from walkconv.networks.levels import under
from walkconv.persistence import ModelFileError, read_file, write_file

KIND = "model"
APART = ("graph", "order", "device")
"""Parameters that may be arrays, and the device: a file opens where there is no such device."""
KEPT = {
    field.name for kind in (GraphCNNClassifier, GraphCNNRegressor) for field in fields(kind)
} - {"device"}
"""Parameters that a file may hold, those of both estimators."""

ESTIMATORS = {
    "GraphCNNClassifier": (GraphCNNClassifier, Classes),
    "GraphCNNRegressor": (GraphCNNRegressor, Values),
}
"""What a file may hold, and what y means to each."""
Model = TypeVar("Model", GraphCNNClassifier, GraphCNNRegressor)


def save_model(estimator: type[GraphCNN], fitted: Fitted, path: str | os.PathLike) -> None:
    """Write a fitted model to a file; see `GraphCNN.save`."""
    if estimator.__module__.split(".")[0] != "walkconv":
        raise TypeError(
            "save is for GraphCNNClassifier and GraphCNNRegressor, which load can make again; got "
            f"{estimator.__name__}. Keep its weights instead: torch.save(model.module_"
            ".state_dict(), path)."
        )
    learned_arrays, learned = fitted.learned.to_arrays()
    target_arrays, target = fitted.target.to_arrays()
    arrays = {
        f"module.{member}.{name}": tensor.cpu().numpy()
        for member, module in enumerate(fitted.modules)
        for name, tensor in module.state_dict().items()
    }
    arrays |= {f"samples.{name}": array for name, array in learned_arrays.items()}
    arrays |= {f"target.{name}": array for name, array in target_arrays.items()}
    parameters = {
        name: None if callable(value) else plain_value(value, name)  # a loss, a scorer
        for name, value in fitted.parameters.items()
        if name not in APART
    }
    parameters |= _graph_and_order(fitted, learned_arrays)
    content = {
        "estimator": estimator.__name__,
        "parameters": parameters,
        "kind": fitted.learned.kind,
        "samples": learned,
        "target": target,
        "choice": None if fitted.choice is None else fitted.choice.to_plain(),
        "n_modules": len(fitted.modules),
        # Without the times, so that equal fits write equal files.
        "history": [{k: v for k, v in r.items() if k != "seconds"} for r in fitted.history],
    }
    write_file(path, KIND, arrays, content)


@overload
def load(path: str | os.PathLike) -> GraphCNNClassifier | GraphCNNRegressor: ...
@overload
def load(path: str | os.PathLike, estimator: type[Model]) -> Model: ...
def load(
    path: str | os.PathLike,
    estimator: type[GraphCNNClassifier] | type[GraphCNNRegressor] | None = None,
) -> GraphCNNClassifier | GraphCNNRegressor:
    """Return the fitted estimator that `save` wrote, with the same predictions bit for bit.

    Reading runs no code from the file. A learned `graph_` is not in a file: it is None, while
    `neighbors_` is there. A graph that was given stays the parameter `graph`.

    Parameters
    ----------
    path : path
        A file written by ``model.save(path)``.
    estimator : GraphCNNClassifier or GraphCNNRegressor, optional
        What the file must hold. Type checkers then know what comes back.

    Returns
    -------
    GraphCNNClassifier or GraphCNNRegressor

    Raises
    ------
    ModelFileError
        A ValueError: the file is cut short, changed, of a newer format or not a model, or holds
        another estimator.

    Examples
    --------
    >>> import tempfile, numpy as np, walkconv
    >>> X = np.random.default_rng(0).normal(size=(40, 5))
    >>> model = walkconv.GraphCNNRegressor("C2", max_iter=2).fit(X, X[:, 0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(f"{folder}/model.safetensors")
    ...     same = walkconv.load(f"{folder}/model.safetensors")
    >>> bool((same.predict(X) == model.predict(X)).all())
    True
    """
    arrays, content = read_file(path, KIND)
    try:
        model = _restore(arrays, content)
    except MemoryError:
        raise
    except KeyError as error:
        raise ModelFileError(
            f"{Path(path).name} is not a whole model: {error} is missing."
        ) from error
    except Exception as error:  # what else can go wrong is in the file
        raise ModelFileError(f"{Path(path).name} is not a whole model: {error}") from error
    if estimator is not None and not isinstance(model, estimator):
        raise ModelFileError(
            f"{os.path.basename(path)} must hold a {estimator.__name__}; it holds a "
            f"{type(model).__name__}."
        )
    return model


def _graph_and_order(fitted: Fitted, arrays: Arrays) -> dict[str, Any]:
    """Return these parameters where they are plain; a given graph and positions are arrays."""
    graph, order = fitted.parameters["graph"], fitted.parameters["order"]
    plain: dict[str, Any] = {}
    if graph is None or isinstance(graph, str):
        plain["graph"] = graph
    elif "graph.data" not in arrays:
        plain["graph"] = None  # a callable, or given and not used: the neighbours are saved
    if order is None or isinstance(order, str):
        plain["order"] = order
    return plain


def _restore(arrays: Arrays, content: dict[str, Any]) -> GraphCNNClassifier | GraphCNNRegressor:
    estimator, target_kind = ESTIMATORS[content["estimator"]]
    parameters = {name: _from_plain(value) for name, value in content["parameters"].items()}
    # In files of the first version it is a setting. Now a model without it is of a subclass.
    normalization = parameters.pop("normalization", "batch")
    if normalization != "batch":
        raise ValueError(f"normalization must be 'batch'; got {normalization!r}.")
    if not parameters.keys() <= KEPT:
        unknown = sorted(parameters.keys() - KEPT)
        raise ValueError(f"the settings must be those of a model; got also {listed(unknown)}.")
    model = estimator(**parameters)
    parts = under("samples.", arrays)
    if "order" not in parameters:
        model.order = parts["level.0.positions"]
    request, choice = model._request(), None
    if is_open("architecture", model.architecture):
        choice = Choice.from_plain(content["choice"])
        request = request.choosing(choice.settings)
    learned = KINDS[content["kind"]].from_arrays(parts, content["samples"], request.settings)
    if "graph" not in parameters:
        model.graph = learned.attributes()["graph_"]
    target = target_kind.from_arrays(under("target.", arrays), content["target"])
    if target.loss != request.settings.loss:
        raise ValueError("the loss of the target must be that of the settings.")
    plan = learned.plan(request.settings, target.n_outputs)
    n_modules = check_integer(content["n_modules"], "n_modules", minimum=1, maximum=len(arrays))
    modules = []
    for member in range(n_modules):
        with torch.device("meta"):  # shapes only: a file cannot ask for more memory than it fills
            network = model.make_network(plan).float()
        state = under(f"module.{member}.", arrays)
        modules.append(_with_weights(network, state).to(request.settings.device).eval())
    history = _check_history(content["history"], n_modules)
    kept = request.parameters | {"graph": model.graph}
    model._keep(Fitted(request.settings, kept, learned, target, modules, history, choice))
    return model


def _from_plain(value: Any) -> Any:
    """Return the parameter that `plain_value` wrote."""
    if isinstance(value, dict):
        return dict(value["pairs"])
    return tuple(value) if isinstance(value, list) else value


def _with_weights(network: nn.Module, arrays: Arrays) -> nn.Module:
    wanted = network.state_dict()
    if set(wanted) != set(arrays):
        differ = sorted(set(wanted) ^ set(arrays))
        raise ValueError(f"the weights must be those of the architecture; not {listed(differ)}.")
    state = {name: torch.from_numpy(array) for name, array in arrays.items()}
    for name, tensor in state.items():
        if (tensor.shape, tensor.dtype) != (wanted[name].shape, wanted[name].dtype):
            raise ValueError(
                f"{name} must be {wanted[name].dtype} of shape {tuple(wanted[name].shape)}; "
                f"it is {tensor.dtype} of shape {tuple(tensor.shape)}."
            )
        if tensor.isnan().any() or (tensor.isinf().any() and not name.endswith("running_var")):
            raise ValueError(f"{name} must be finite; it holds NaN or infinity.")
        if name.endswith("running_var") and (tensor < 0).any():
            raise ValueError(f"{name} must not be negative.")
    network.load_state_dict(state, assign=True)
    return network


def _check_history(history: Any, n_modules: int) -> list[dict[str, Any]]:
    """Return the records of the epochs, each with what `fit` writes."""
    if not isinstance(history, list) or not all(isinstance(each, dict) for each in history):
        raise ValueError("the history must be a list of epochs.")
    for record in history:
        check_integer(record["member"], "member", minimum=0, maximum=n_modules - 1)
        check_integer(record["epoch"], "epoch", minimum=1)
        for name in ("loss", "validation_score"):
            if name in record or name == "loss":
                check_number(record[name], name, minimum=-float("inf"), is_open=True)
    return history
