"""Whether slots are ranks or directions, where the columns stand, and why."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from walkconv._checks import check_option
from walkconv.layouts import LayoutQuality, layout_graph, layout_quality
from walkconv.walks import select_neighbors
from walkconv.walks.slots import check_places

ORDERS = ("visits", "direction", "auto")
LEAST_NODES = 25
MOST_DECAY = 0.3
LEAST_KEPT = 0.6
LEAST_FILLED = 0.5


@dataclass(frozen=True, eq=False)
class Orientation:
    """What a slot means.

    Attributes
    ----------
    order : "visits" or "direction"
    reason : str
        Why.
    positions : ndarray of shape (n_nodes, n_dims) or None
        Where the columns stand; None in order of visits.
    period : ndarray of shape (n_dims,) or None
        See `select_neighbors`.
    """

    order: Literal["visits", "direction"]
    reason: str
    positions: np.ndarray | None = None
    period: np.ndarray | None = None


def check_order(order: Any, positions: Any) -> None:
    """Refuse an unknown order, and positions that nothing would use."""
    check_option(order, "order", ORDERS)
    if order == "visits" and positions is not None:
        raise ValueError(
            "positions are for order='direction' or 'auto'; got them with order='visits'."
        )


def orient(
    graph: sp.csr_array, *, order: str, positions: Any, n_neighbors: int, n_steps: Any
) -> Orientation:
    """Decide what slots mean, and lay the graph out in the plane where no positions are known.

    "auto" takes direction when there are at least 25 columns (fewer lie well in a plane by chance)
    and the layout is good: the third eigenvalue is at most 0.3 of the second, neighbourhoods
    survive (`kept` of `layout_quality` is at least 0.6; for columns of noise it is 0.2 to 0.4), and
    at least half of the slots are filled.
    """
    if order == "visits":
        return Orientation("visits", "it was asked for")
    if positions is not None:
        places = check_places(positions, None, graph.shape[0]).positions
        return Orientation("direction", "positions were given", places)
    if order == "auto" and graph.shape[0] < LEAST_NODES:
        reason = f"{graph.shape[0]} columns are too few to tell (at least {LEAST_NODES})"
        return Orientation("visits", reason)
    layout = layout_graph(graph)
    found = Orientation("direction", "it was asked for", layout.positions, layout.period)
    if order == "direction":
        return found
    neighbors = select_neighbors(
        graph,
        n_neighbors=n_neighbors,
        n_steps=n_steps,
        order="direction",
        positions=layout.positions,
    )
    quality = layout_quality(graph, layout, index=neighbors.index)
    measured = (
        f"decay {quality.decay:.2g} (at most {MOST_DECAY}), kept {quality.kept:.2g} (at least "
        f"{LEAST_KEPT}), filled {quality.filled:.2g} (at least {LEAST_FILLED})"
    )
    if _is_good(quality):
        return Orientation(
            "direction", f"the layout is good: {measured}", layout.positions, layout.period
        )
    return Orientation("visits", f"the layout is poor: {measured}")


def _is_good(quality: LayoutQuality) -> bool:
    assert quality.filled is not None
    return (
        quality.decay <= MOST_DECAY
        and quality.kept >= LEAST_KEPT
        and quality.filled >= LEAST_FILLED
    )
