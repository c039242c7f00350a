"""What a fit depends on, in words and digests, so that a checkpoint knows its own."""

import hashlib
from typing import Any

import numpy as np
import scipy.sparse as sp

from walkconv._adapters import as_graph
from walkconv.estimators.graph_inputs import holds_graphs
from walkconv.estimators.inputs import Rows

NOT_PART = {"checkpoint", "device", "graph", "positions", "ties", "verbose", "warm_start"}


def identify(model: Any, rows: Rows, validation: Rows | None) -> dict[str, Any]:
    """Return the settings of a model and a digest of each array it is fitted on."""
    identity = {
        name: plain_value(value, name)
        for name, value in model.get_params().items()
        if name not in NOT_PART
    }
    if model.graph is None or isinstance(model.graph, str):
        identity["graph"] = model.graph
    else:
        identity["data: graph"] = digest(as_graph(model.graph))
    if isinstance(model.ties, str):
        identity["ties"] = model.ties
    else:
        identity["data: ties"] = digest(np.asarray(model.ties))
    if model.positions is not None:
        identity["data: positions"] = digest(np.asarray(model.positions))
    names = getattr(model, "feature_names_in_", [])
    identity["names"] = hashlib.sha256("\n".join(map(str, names)).encode()).hexdigest()
    for part in ("X", "y", "weight"):
        identity[f"data: {part}"] = digest(getattr(rows, part))
    if validation is not None:
        identity["data: validation_data"] = digest(validation.X) + digest(validation.y)
    return identity


def digest(array: Any) -> str:
    """Return a digest of the values, type and shape of a dense or CSR array, or of graphs."""
    if holds_graphs(array):
        parts = [part for each in array for part in (each.graph, each.x, each.tags)]
        digests = ["none" if part is None else digest(part) for part in parts]
        return hashlib.sha256(" ".join(digests).encode()).hexdigest()
    parts = [array.data, array.indices, array.indptr] if sp.issparse(array) else [array]
    total = hashlib.sha256(f"{type(array).__name__} {array.shape}".encode())
    for part in parts:
        total.update(part.dtype.str.encode())
        total.update(np.ascontiguousarray(part).data)
    return total.hexdigest()


def plain_value(value: Any, name: str) -> Any:
    """Return a setting as JSON holds it."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if name == "random_state":
        return None  # a generator has moved on; a number can be given instead
    if isinstance(value, dict):
        return {"pairs": [[plain_value(key, name), plain_value(value[key], name)] for key in value]}
    return str(value)
