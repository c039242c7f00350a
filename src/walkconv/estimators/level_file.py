"""The levels of a model become arrays of its file, and come back, checked."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from walkconv._checks import check_integer, check_option, check_positions
from walkconv.estimators.orientation import Orientation
from walkconv.layers.pool import check_groups
from walkconv.models.architecture import Convolution, Layer, Pooling
from walkconv.models.hierarchy import Level, stretches
from walkconv.walks import Neighbors

Arrays = dict[str, np.ndarray]
NEIGHBORS = ("index", "visits", "sign")


def level_arrays(levels: Sequence[Level]) -> Arrays:
    """Return the neighbours, the groups and the positions of every level by name."""
    arrays: Arrays = {}
    for number, level in enumerate(levels):
        prefix = f"level.{number}."
        if level.positions is not None:
            arrays[f"{prefix}positions"] = level.positions
        if level.groups is not None:
            arrays[f"{prefix}groups"] = level.groups
        if level.neighbors is not None:
            for name in NEIGHBORS:
                arrays[f"{prefix}neighbors.{name}"] = getattr(level.neighbors, name)
    return arrays


def read_levels(layers: Sequence[Layer], n_steps: Any, arrays: Arrays, n_nodes: int) -> list[Level]:
    """Return the levels that the layers need, without graphs, or say what is wrong with them."""
    levels: list[Level] = []
    if not any(isinstance(layer, Convolution | Pooling) for layer in layers):
        return levels
    parts = list(stretches(layers))
    if not isinstance(n_steps, list) or len(n_steps) != len(parts):
        raise ValueError(f"n_steps must be a list, one entry for each of {len(parts)} levels.")
    for number, (convolves, place) in enumerate(parts):
        found = under(f"level.{number}.", arrays)
        neighbors = groups = None
        if convolves:
            neighbors = _neighbors(under("neighbors.", found), n_steps[number], n_nodes)
        if place is not None:
            groups = check_groups(found["groups"])
            if len(groups) != n_nodes:
                raise ValueError(f"there must be a group for each of {n_nodes} nodes.")
        positions = _positions(found.get("positions"), n_nodes)
        levels.append(Level(n_nodes, None, neighbors, groups, positions))
        n_nodes = n_nodes if groups is None else int(groups.max()) + 1
    return levels


def read_orientation(content: Any, arrays: Arrays, levels: Sequence[Level]) -> Orientation | None:
    """Return what a file says about the order of the slots, checked."""
    if not levels:
        return None
    if not isinstance(content["reason"], str):
        raise TypeError("the reason for the order must be text.")
    if check_option(content["order"], "order", ["visits", "direction"]) == "visits":
        return Orientation("visits", content["reason"])
    if levels[0].positions is None:
        raise ValueError("an order of direction must come with positions.")
    period = arrays.get("period")
    if period is not None and (
        period.dtype != np.float64 or period.shape != levels[0].positions.shape[1:]
    ):
        raise ValueError("there must be a period for each axis of the positions.")
    return Orientation("direction", content["reason"], levels[0].positions, period)


def under(prefix: str, arrays: Arrays) -> Arrays:
    """Return the arrays whose names begin with a prefix, by the rest of their names."""
    return {n.removeprefix(prefix): array for n, array in arrays.items() if n.startswith(prefix)}


def _neighbors(arrays: Arrays, n_steps: Any, n_nodes: int) -> Neighbors:
    index, visits, sign = (arrays[name] for name in NEIGHBORS)
    if [a.dtype for a in (index, visits, sign)] != [np.int64, np.float64, np.int8]:
        raise TypeError("the neighbours must be int64, their visits float64, their signs int8.")
    if index.ndim != 2 or len(index) != n_nodes or not index.shape == visits.shape == sign.shape:
        raise ValueError(f"the neighbours of {n_nodes} nodes must be tables of one shape.")
    if index.min(initial=-1) < -1 or index.max(initial=-1) >= n_nodes:
        raise ValueError(f"the neighbours must lie between -1 and {n_nodes - 1}.")
    return Neighbors(index, visits, sign, check_integer(n_steps, "n_steps", minimum=0))


def _positions(positions: np.ndarray | None, n_nodes: int) -> np.ndarray | None:
    if positions is None:
        return None
    if positions.dtype != np.float64:
        raise TypeError(f"the positions of nodes must be float64; they are {positions.dtype}.")
    return check_positions(positions, "positions", n_nodes)
