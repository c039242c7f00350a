"""The map of the columns: a place for each, its neighbours, and values to colour it by."""

from collections.abc import Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import scipy.sparse as sp

from walkconv.reports.summarizing.model import FittedModel, column_names
from walkconv.reports.summarizing.places import block_below, place_for_the_eye
from walkconv.reports.summarizing.plain import plain_numbers
from walkconv.walks import Neighbors, slot_offsets

UNITS = 4000
"""Places are whole numbers up to this."""
MOST_LISTED = 24
MOST_ENTRIES = 240_000
"""Neighbours listed for a column, and for all of them: more would make the page too heavy."""
EDGES = 8
"""First neighbours of a column from which a layout is computed."""
ROW_LENGTH = 60
"""Columns on a line from which on it is folded into rows."""


_PLACED: WeakKeyDictionary[Neighbors, np.ndarray] = WeakKeyDictionary()
"""Places computed before: a notebook shows a model again and again."""


def summarize_map(model: FittedModel, values: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Return the map of the columns, None if the network has no convolution on them.

    Parameters
    ----------
    model : FittedModel
    values : sequence of dict
        With ``label``, ``caption`` and ``values`` (n_columns,), numbers to colour the map by.
    """
    neighbors = model.neighbors_
    if neighbors is None:
        return None
    names = column_names(model)
    places, origin = find_places(model)
    groups = model.levels_[0].groups if model.levels_ else None
    x, y, aspect = _in_units(places)
    return {
        "n_columns": neighbors.n_nodes,
        "names": names,
        "x": x,
        "y": y,
        "aspect": aspect,
        "origin": origin,
        "neighbors": _listed(neighbors),
        "offsets": _offsets(model),
        "groups": None if groups is None else groups.tolist(),
        "values": [_value(each) for each in [*values, popularity(neighbors)]],
    }


def find_places(model: FittedModel) -> tuple[np.ndarray, str]:
    """Return places (n_columns, 2) of the columns and where they come from, in words."""
    neighbors = model.neighbors_
    assert neighbors is not None  # the caller has looked
    if model.positions_ is not None:
        places = flatten(model.positions_, ring_period(model))
        origin = "the layout that the model uses: its filters follow these directions"
        return _lone_aside(places, neighbors), origin
    if neighbors not in _PLACED:
        _PLACED[neighbors] = place_for_the_eye(graph_of_neighbors(neighbors))
    origin = "computed from the neighbours for this picture; the model does not use them"
    return _PLACED[neighbors], origin


def _lone_aside(places: np.ndarray, neighbors: Neighbors) -> np.ndarray:
    """Return the places with the columns that have no relations in rows below the others.

    Constant columns are such columns; a layout puts them far out on its first axis.
    """
    index = neighbors.index
    is_other = (index >= 0) & (index != np.arange(len(index))[:, None])
    is_lone = ~is_other.any(axis=1)
    is_lone[np.unique(index[is_other])] = False
    if not is_lone.any() or is_lone.all():
        return places
    moved = places.copy()
    moved[is_lone] = block_below(int(is_lone.sum()), places[~is_lone])
    return moved


def graph_of_neighbors(neighbors: Neighbors) -> sp.csr_array:
    """Return the symmetric graph (n_columns, n_columns) of the first neighbours of each column."""
    index, visits = neighbors.index, neighbors.visits
    first = np.argsort(-visits, axis=1, kind="stable")[:, : EDGES + 1]
    index = np.take_along_axis(index, first, axis=1)
    visits = np.take_along_axis(visits, first, axis=1)
    node = np.repeat(np.arange(len(index)), index.shape[1])
    other, weight = index.ravel(), visits.ravel()
    is_edge = (other >= 0) & (other != node) & (weight > 0)
    shape = (len(index), len(index))
    graph = sp.csr_array((weight[is_edge], (node[is_edge], other[is_edge])), shape=shape)
    return sp.csr_array(graph.maximum(graph.T))


def popularity(neighbors: Neighbors) -> dict[str, Any]:
    """Return how many columns have each column among their neighbours."""
    index = neighbors.index
    is_other = (index >= 0) & (index != np.arange(len(index))[:, None])
    counts = np.bincount(index[is_other], minlength=len(index))
    return {
        "label": "Neighbour of how many",
        "caption": "The number of other columns that have this column among their neighbours.",
        "values": counts,
    }


def ring_period(model: FittedModel) -> float:
    """Return the length of the ring on which the columns lie, 0 if they form none."""
    period = getattr(model.orientation_, "period", None)
    return 0.0 if period is None or len(period) != 1 else float(period[0])


def flatten(positions: np.ndarray, period: float) -> np.ndarray:
    """Return places (n_columns, 2) in the plane.

    The first axis goes across, the second downwards. A ring becomes a circle, a long line is folded
    into rows, a volume is seen from a corner.
    """
    n_columns, n_dims = positions.shape
    if n_dims == 1:
        along = positions[:, 0] - positions[:, 0].min()
        if period > 0:
            turn = 2 * np.pi * along / period
            return np.column_stack([np.cos(turn), np.sin(turn)]) * period
        return _folded(along, n_columns)
    if n_dims == 2:
        return positions * [1.0, -1.0]
    right, up, depth = positions[:, 0], -positions[:, 1], positions[:, 2]
    return np.column_stack([right + 0.42 * depth, up + 0.31 * depth])


def _folded(along: np.ndarray, n_columns: int) -> np.ndarray:
    length = float(along.max()) or 1.0
    n_rows = 1 if n_columns <= ROW_LENGTH else int(np.ceil(np.sqrt(n_columns / 12)))
    width = length / n_rows * (1 + 1e-9)
    row = np.floor(along / width)
    gap = width / max(6.0, 2.0 * n_rows)
    return np.column_stack([along - row * width, -row * gap])


def _in_units(places: np.ndarray) -> tuple[list[int], list[int], float]:
    """Return places as whole numbers, y downwards, and the width of the map over its height."""
    low = places.min(axis=0)
    extent = np.maximum(np.ptp(places, axis=0), 1e-12)
    scale = UNITS / extent.max()
    x, y = np.rint((places - low) * scale).astype(int).T
    return x.tolist(), (y.max() - y).tolist(), float(np.clip(extent[0] / extent[1], 0.1, 10))


def _listed(neighbors: Neighbors) -> dict[str, Any]:
    """Return the first neighbours, as flat lists; the sign of a weight is that of the edge."""
    n_columns, n_neighbors = neighbors.index.shape
    n_listed = max(1, min(n_neighbors, MOST_LISTED, MOST_ENTRIES // n_columns))
    weight = neighbors.visits * np.where(neighbors.sign < 0, -1.0, 1.0)
    return {
        "n_neighbors": n_neighbors,
        "n_listed": n_listed,
        "n_steps": neighbors.n_steps,
        "coverage": neighbors.coverage,
        "index": neighbors.index[:, :n_listed].ravel().tolist(),
        "weight": plain_numbers(weight[:, :n_listed], 3),
    }


def _offsets(model: FittedModel) -> list[list[int]] | None:
    """Return the step (n_neighbors, n_dims) that each slot stands for, None for ranks."""
    positions, neighbors = model.positions_, model.neighbors_
    if positions is None or neighbors is None:
        return None
    n_dims = positions.shape[1]
    return slot_offsets(neighbors.n_neighbors, n_dims=n_dims).tolist()


def _value(value: Mapping[str, Any]) -> dict[str, Any]:
    return {**value, "values": plain_numbers(value["values"], 3)}
