"""A file becomes a fitted estimator; all it says is checked, for anyone may have changed it."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import nn

from walkconv._checks import check_flag, check_integer
from walkconv.estimators.base import GraphCNN
from walkconv.estimators.classifier import GraphCNNClassifier
from walkconv.estimators.columns import keep_columns
from walkconv.estimators.kinds import walks_of
from walkconv.estimators.level_file import Arrays, read_levels, read_orientation, under
from walkconv.estimators.model_file import ENCODING, GRAPH_PARTS, KIND
from walkconv.estimators.regressor import GraphCNNRegressor
from walkconv.estimators.settings import Settings, check_settings
from walkconv.models.encoding import NodeEncoding
from walkconv.models.scaling import Scaling
from walkconv.persistence import ModelFileError, read_file

ESTIMATORS = {kind.__name__: kind for kind in (GraphCNNClassifier, GraphCNNRegressor)}


def load(path: str | os.PathLike) -> GraphCNN:
    """Return the fitted estimator that `save` wrote, with the same predictions bit for bit.

    Reading runs no code from the file. The learned `graph_` is not in a file: it is None, while
    `neighbors_` is there. A graph that was given stays the setting `graph`.

    Parameters
    ----------
    path : path
        A file written by ``model.save(path)``.

    Returns
    -------
    GraphCNNClassifier or GraphCNNRegressor

    Raises
    ------
    ModelFileError
        A ValueError: the file is cut short, changed, of a newer format or no model.

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
        return _restore(arrays, content)
    except KeyError as error:
        raise ModelFileError(
            f"{Path(path).name} is not a whole model: {error} is missing."
        ) from None
    except (ValueError, TypeError, AttributeError, RuntimeError, OverflowError) as error:
        raise ModelFileError(f"{Path(path).name} is not a whole model: {error}") from None


def _restore(arrays: Arrays, content: dict[str, Any]) -> GraphCNN:
    model = ESTIMATORS[content["estimator"]](**_parameters(content["parameters"]))
    model.positions = arrays.get("positions")
    settings = check_settings(model)
    model.walks_ = walks_of(model)
    if content["uses_degree"] is None:
        _restore_columns(model, settings, arrays, content)
    else:
        model.encoding_ = _encoding(under("encoding.", arrays), content["uses_degree"])
        model.scaling_ = None
        keep_columns(model, None, [])
    model._restore_target(content["target"], under("target.", arrays))
    n_modules = check_integer(content["n_modules"], "n_modules", minimum=1, maximum=len(arrays))
    modules = [_module(model, settings, under(f"module.{m}.", arrays)) for m in range(n_modules)]
    model._keep(modules, _history(content["history"]))
    return model


def _restore_columns(
    model: GraphCNN, settings: Settings, arrays: Arrays, content: dict[str, Any]
) -> None:
    model.encoding_ = None
    model.scaling_ = Scaling(arrays["scaling.mean"], arrays["scaling.deviation"]).checked()
    n_nodes = model.n_features_in_ = model.scaling_.mean.shape[0]
    if content["names"]:
        model.feature_names_in_ = _names(content["names"], n_nodes)
    graph = None
    if any(name.startswith("graph.") for name in arrays):
        graph = model.graph = _graph(under("graph.", arrays), n_nodes)
    if "ties" in arrays:
        model.ties = arrays["ties"]
    levels = read_levels(settings.layers, content["n_steps"], arrays, n_nodes)
    keep_columns(model, graph, levels, read_orientation(content, arrays, levels))


def _encoding(arrays: Arrays, uses_degree: Any) -> NodeEncoding:
    tags, mean, deviation = (arrays[name] for name in ENCODING)
    if [a.dtype for a in (tags, mean, deviation)] != [np.int64, np.float64, np.float64]:
        raise TypeError("the tags must be int64, the mean and the deviation of numbers float64.")
    if tags.ndim != 1 or (tags[:-1] >= tags[1:]).any():
        raise ValueError("the tags must stand in order, each once.")
    if mean.ndim != 1 or mean.shape != deviation.shape or not len(tags) + len(mean):
        raise ValueError("there must be a mean and a deviation for each number of a node.")
    if not (np.isfinite(mean).all() and np.isfinite(deviation).all() and (deviation > 0).all()):
        raise ValueError("the mean must be finite and the deviation positive.")
    uses_degree = check_flag(uses_degree, "uses_degree")
    if uses_degree and (len(tags), len(mean)) != (0, 1):
        raise ValueError("the degree is the only number where it is used.")
    return NodeEncoding(tags, mean, deviation, uses_degree)


def _parameters(parameters: dict[str, Any]) -> dict[str, Any]:
    return {
        name: dict(value["pairs"]) if isinstance(value, dict) else value
        for name, value in parameters.items()
    }


def _names(names: Any, n_nodes: int) -> np.ndarray:
    if len(names) != n_nodes or not all(isinstance(name, str) for name in names):
        raise ValueError(f"there must be a name for each of {n_nodes} columns.")
    return np.array(names, dtype=object)


def _graph(arrays: Arrays, n_nodes: int) -> sp.csr_array:
    parts = tuple(arrays[part] for part in GRAPH_PARTS)
    graph = sp.csr_array(parts, shape=(n_nodes, n_nodes))
    graph.check_format(full_check=True)
    return graph


def _module(model: GraphCNN, settings: Settings, arrays: Arrays) -> nn.Module:
    with torch.device("meta"):  # shapes only: a file cannot ask for more memory than it fills
        network = model._make_network().float()
    wanted = network.state_dict()
    if set(wanted) != set(arrays):
        raise ValueError(f"the weights must be {sorted(wanted)}; they are {sorted(arrays)}.")
    state = {name: torch.from_numpy(array) for name, array in arrays.items()}
    for name, tensor in state.items():
        if (tensor.shape, tensor.dtype) != (wanted[name].shape, wanted[name].dtype):
            raise ValueError(
                f"{name} must be {wanted[name].dtype} of shape {tuple(wanted[name].shape)}; "
                f"it is {tensor.dtype} of shape {tuple(tensor.shape)}."
            )
    network.load_state_dict(state, assign=True)
    return network.to(settings.device).eval()


def _history(history: Any) -> list[dict[str, Any]]:
    if not all(isinstance(r, dict) and {"member", "epoch", "loss"} <= set(r) for r in history):
        raise ValueError("the history must be a list of epochs.")
    return list(history)
