"""A fitted estimator becomes a file.

The reading is in `loading`, where everything that a file says is checked before it is used.
"""

import os
from typing import Any

import numpy as np

from walkconv.estimators.columns import in_column_order
from walkconv.estimators.identity import plain_value
from walkconv.estimators.level_file import level_arrays
from walkconv.persistence import write_file

KIND = "model"
APART = ("graph", "positions", "ties", "device")
"""Settings that may be arrays, and the device: a file opens where there is no such device."""
GRAPH_PARTS = ("data", "indices", "indptr")
SCALING = ("mean", "deviation")
ENCODING = ("tags", "mean", "deviation")


GIVEN = "given"
"""What stands for a graph that was given: `graph_` holds it."""


def fitted_settings(model: Any) -> dict[str, Any]:
    """Return the settings that a model has now, to be known when others are set."""
    settings = {
        name: value
        for name, value in vars(model).items()
        if not (name.startswith("_") or name.endswith("_"))
    }
    is_given = settings["graph"] is not None and not isinstance(settings["graph"], str)
    return settings | ({"graph": GIVEN} if is_given else {})


def save_model(model: Any, path: str | os.PathLike) -> None:
    """Write a fitted estimator to a file; see `GraphCNN.save`."""
    if type(model).__module__.split(".")[0] != "walkconv":
        raise TypeError(
            "save is for GraphCNNClassifier and GraphCNNRegressor, which load can make again; got "
            f"{type(model).__name__}. Keep its weights instead: torch.save(model.module_"
            ".state_dict(), path)."
        )
    made_with = model._fitted_with
    arrays = {
        f"module.{member}.{name}": tensor.cpu().numpy()
        for member, module in enumerate(model.modules_)
        for name, tensor in module.state_dict().items()
    }
    if model.encoding_ is None:
        arrays |= {f"scaling.{name}": getattr(model.scaling_, name) for name in SCALING}
    else:
        arrays |= {f"encoding.{name}": getattr(model.encoding_, name) for name in ENCODING}
    arrays |= level_arrays(model.levels_)
    target, target_arrays = model._target_state()
    arrays |= {f"target.{name}": array for name, array in target_arrays.items()}
    parameters = {
        name: plain_value(made_with[name], name) for name in model.get_params() if name not in APART
    }
    if isinstance(made_with["ties"], str):
        parameters["ties"] = made_with["ties"]
    else:
        arrays["ties"] = _places(model, "ties")
    if made_with["positions"] is not None:
        arrays["positions"] = _places(model, "positions")
    orientation = model.orientation_
    if orientation is not None and orientation.period is not None:
        arrays["period"] = orientation.period
    if made_with["graph"] != GIVEN:
        parameters["graph"] = made_with["graph"]
    elif model.graph_ is None:
        parameters["graph"] = None  # given, and nothing used it
    else:
        arrays |= {f"graph.{part}": getattr(model.graph_, part) for part in GRAPH_PARTS}
    settings = {
        "estimator": type(model).__name__,
        "parameters": parameters,
        "n_modules": len(model.modules_),
        "uses_degree": None if model.encoding_ is None else model.encoding_.uses_degree,
        "n_steps": [getattr(level.neighbors, "n_steps", None) for level in model.levels_],
        "order": getattr(orientation, "order", None),
        "reason": getattr(orientation, "reason", None),
        "names": [str(name) for name in getattr(model, "feature_names_in_", [])],
        "history": model.history_,
        "target": target,
    }
    write_file(path, KIND, arrays, settings)


def _places(model: Any, name: str) -> np.ndarray:
    """Return places that were given (n_nodes, n_axes), in the order of the columns."""
    names = getattr(model, "feature_names_in_", None)
    return np.asarray(in_column_order(model._fitted_with[name], names, name), dtype=np.float64)
