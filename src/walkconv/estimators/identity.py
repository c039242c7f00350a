"""What tells one fit from another: all settings, and a digest of all data.

A checkpoint continues only the fit that wrote it, and processes train together only on the same.
"""

import hashlib
from typing import Any

import numpy as np
import scipy.sparse as sp
from torch import nn

from walkconv._adapters import as_graph
from walkconv.estimators.records import Request, Rows
from walkconv.estimators.settings import Settings, callable_name, plain_value
from walkconv.tables.lazy_rows import LazyRows

NOT_PART = {"device", "graph", "order", "verbose", "warm_start"}
"""Parameters that do not decide a fit, or that may be arrays."""


def identify(request: Request, rows: Rows, validation: Rows | None) -> dict[str, Any]:
    """Return all that a fit depends on: plain values by name, and a digest of each array."""
    settings = request.settings
    identity = {
        name: plain_value(value, name)
        for name, value in request.parameters.items()
        if name not in NOT_PART
    }
    for name in ("weighting", "conv_dropped", "normalization"):
        identity[name] = getattr(settings, name)
    identity["order"] = settings.order
    if settings.graph_source == "given":
        identity["data: graph"] = digest([as_graph(settings.graph)])
    elif settings.graph_source == "callable":
        # Closures share a name: the graph itself is compared too, as soon as it is learned.
        identity["graph"] = callable_name(settings.graph)
    else:
        identity["graph"] = settings.graph
    if isinstance(settings.ties, str):
        identity["ties"] = settings.ties
    else:
        identity["data: ties"] = digest([np.asarray(settings.ties)])
    if settings.positions is not None:
        identity["data: positions"] = digest([np.asarray(settings.positions)])
    names = getattr(rows.samples, "names", None)
    names = [] if names is None else names
    identity["data: names"] = hashlib.sha256("\n".join(map(str, names)).encode()).hexdigest()
    identity["data: X"] = digest(rows.samples.parts())
    identity["data: y"], identity["data: weight"] = digest([rows.y]), digest([rows.weight])
    if validation is not None:
        identity["data: validation_data"] = digest([*validation.samples.parts(), validation.y])
    return identity


def digest(arrays: list[Any]) -> str:
    """Return a digest of the values, types and shapes of arrays: dense, CSR, LazyRows or None."""
    total = hashlib.sha256()
    for array in arrays:
        if array is None:
            total.update(b"none")
            continue
        total.update(f"{type(array).__name__} {array.shape}".encode())
        parts = [array]
        if sp.issparse(array):
            parts = [array.data, array.indices, array.indptr]
        elif isinstance(array, LazyRows):
            parts = array.blocks()
        for part in parts:
            total.update(part.dtype.str.encode())
            total.update(np.ascontiguousarray(part).data)
    return total.hexdigest()


def weights_digest(network: nn.Module) -> str:
    """Return a digest of the weights and buffers of a network."""
    tensors = [*network.parameters(), *network.buffers()]
    return digest([tensor.detach().cpu().numpy() for tensor in tensors])


def is_same_graph(now: Settings, before: Settings) -> bool:
    """Tell whether two fits name, learn or are given the same graph."""
    if now.graph is before.graph or now.graph_source != before.graph_source:
        return now.graph is before.graph
    if now.graph_source == "given":
        return digest([as_graph(now.graph)]) == digest([as_graph(before.graph)])
    return bool(now.graph == before.graph)


def has_same_positions(now: Settings, before: Settings) -> bool:
    """Tell whether two fits are given the same positions, or none."""
    if now.positions is None or before.positions is None:
        return now.positions is before.positions
    return np.array_equal(np.asarray(now.positions), np.asarray(before.positions))
