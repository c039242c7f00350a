"""Whether slots are ranks or directions, the positions of the columns, and why."""

import warnings
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from walkconv._checks import as_real, check_option, check_positions
from walkconv.layouts import Layout, layout_columns, layout_graph


@dataclass(frozen=True, eq=False)
class Orientation:
    """What a slot means.

    Attributes
    ----------
    order : "visits" or "direction"
    reason : str
        Why.
    positions : ndarray of shape (n_nodes, n_dims) or None
        Positions of the columns; None in order of visits.
    period : ndarray of shape (n_dims,) or None
        Length of an axis that runs round a ring, 0 for an axis with two ends; None in order of
        visits.
    """

    order: Literal["visits", "direction"]
    reason: str
    positions: np.ndarray | None = None
    period: np.ndarray | None = None

    def to_plain(self) -> dict[str, Any]:
        """Return the order, the reason and the period for a file; level 0 holds the positions."""
        period = [] if self.period is None else self.period.tolist()
        return {"order": self.order, "reason": self.reason, "period": period}

    @classmethod
    def from_plain(cls, plain: Any, positions: np.ndarray | None) -> "Orientation":
        """Return the orientation that `to_plain` wrote, or raise an error if it is not whole."""
        if not isinstance(plain["reason"], str):
            raise TypeError("the reason for the order must be text.")
        if check_option(plain["order"], "order", ["visits", "direction"]) == "visits":
            return cls("visits", plain["reason"])
        if positions is None:
            raise ValueError("an order of direction must come with positions.")
        period = as_real(np.array(plain["period"]), "period").astype(np.float64)
        if period.shape != (positions.shape[1],) or not (period >= 0).all():
            raise ValueError(f"period must have a length for each axis; got {period.tolist()}.")
        return cls("direction", plain["reason"], positions, period)


def orient(
    graph: sp.csr_array,
    table: np.ndarray | sp.csr_array | None = None,
    *,
    order: str,
    positions: Any,
    n_dims: int | Literal["auto"] = "auto",
) -> Orientation:
    """Decide what slots mean, and lay the columns out if no positions are given.

    Parameters
    ----------
    graph : csr_array of shape (n_nodes, n_nodes)
    table : array of shape (n_samples, n_nodes), optional
        The layout comes from its columns if it is given, else from the graph.
    order : "visits", "direction" or "auto"
        "auto" takes direction if the layout is of a kind other than "none". "direction" warns
        about such a layout.
    positions : array of shape (n_nodes, n_dims) or None
        Known positions.
    n_dims : 1, 2, 3 or "auto", default "auto"
        Axes of the layout.
    """
    if order == "visits":
        return Orientation("visits", "it was asked for")
    if positions is not None:
        given = check_positions(positions, "positions", graph.shape[0])
        none = np.zeros(given.shape[1])
        return Orientation("direction", "positions were given", given, none)
    layout = _layout(graph, table, n_dims)
    if order == "auto" and layout.kind == "none":
        return Orientation("visits", layout.reason)
    if layout.kind == "none":
        warnings.warn(
            f"order='direction' uses a poor layout: {layout.reason}. order='auto' would take "
            "visits here.",
            UserWarning,
            stacklevel=2,
        )
    return Orientation("direction", layout.reason, layout.positions, layout.period)


def _layout(
    graph: sp.csr_array, table: np.ndarray | sp.csr_array | None, n_dims: int | Literal["auto"]
) -> Layout:
    if table is None:
        return layout_graph(graph, n_dims=n_dims)
    return layout_columns(table, n_dims=n_dims, channels=False)
