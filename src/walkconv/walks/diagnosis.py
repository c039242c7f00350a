"""What the number of steps does: it fills the slots, and the walk forgets its start."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from walkconv._adapters import as_graph
from walkconv._checks import check_integer
from walkconv.walks.reach import enough_steps
from walkconv.walks.select import select_checked
from walkconv.walks.stationary import stationary_law
from walkconv.walks.transition import sparse_transition

SAMPLED_ROWS = 256
HUB_SHARE_OF_NODES = 0.01


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """What happens as the walk gets longer; every array has one entry for each `n_steps`.

    Attributes
    ----------
    n_steps : ndarray of int
        The lengths: 1, 2, ...
    coverage : ndarray of float
        Share of the nodes that fill all their slots.
    hub_share : ndarray of float
        Share of the slots that the most used 1 % of the nodes fill (at least one node). Slots that
        hold the node itself do not count. It grows as neighbourhoods drift to hubs.
    stationary_distance : ndarray of float
        Mean total variation distance between ``Q_i / (k + 1)`` and the stationary law of the
        walk from i. Near 0 the start is forgotten, and every node sees the same neighbours.
    suggested_n_steps : int
        What ``n_steps="auto"`` takes.
    """

    n_steps: np.ndarray
    coverage: np.ndarray
    hub_share: np.ndarray
    stationary_distance: np.ndarray
    suggested_n_steps: int

    def __str__(self) -> str:
        lines = [" steps   coverage   hub share   distance to stationary law"]
        for k, *row in zip(
            self.n_steps, self.coverage, self.hub_share, self.stationary_distance, strict=True
        ):
            mark = "  <- auto" if k == self.suggested_n_steps else ""
            lines.append("{:6d}{:10.1%}{:12.1%}{:29.3f}{}".format(k, *row, mark))
        return "\n".join(lines)


def diagnose(graph: Any, *, n_neighbors: int, max_steps: int = 5) -> Diagnosis:
    """Return coverage, hub share and distance to the stationary law for walks of 1 to max_steps.

    Parameters
    ----------
    graph
        Similarity (n_nodes, n_nodes) in any form `as_graph` takes.
    n_neighbors : int
        The paper's p, the node itself included.
    max_steps : int, default 5
        The longest walk.

    Returns
    -------
    Diagnosis
        Arrays of shape (max_steps,); printing it shows them as a table.

    Examples
    --------
    >>> from walkconv import diagnose, grid_graph
    >>> print(diagnose(grid_graph((8, 8)), n_neighbors=9, max_steps=3))
     steps   coverage   hub share   distance to stationary law
         1     56.2%        1.9%                        0.875
         2    100.0%        2.1%                        0.751  <- auto
         3    100.0%        2.1%                        0.694
    """
    matrix = as_graph(graph)
    n_neighbors = check_integer(n_neighbors, "n_neighbors", minimum=1, maximum=matrix.shape[0])
    lengths = np.arange(1, check_integer(max_steps, "max_steps", minimum=1) + 1)
    tables = [select_checked(matrix, n_neighbors=n_neighbors, n_steps=int(k)) for k in lengths]
    return Diagnosis(
        n_steps=lengths,
        coverage=np.array([neighbors.coverage for neighbors in tables]),
        hub_share=np.array([_hub_share(neighbors.index) for neighbors in tables]),
        stationary_distance=_stationary_distances(matrix, len(lengths)),
        suggested_n_steps=enough_steps(matrix, n_neighbors),
    )


def _hub_share(index: np.ndarray) -> float:
    """Return the share of slots (n_nodes, n_neighbors), without self, of the most used nodes."""
    n_nodes = len(index)
    is_other = (index >= 0) & (index != np.arange(n_nodes)[:, None])
    n_uses = np.bincount(index[is_other], minlength=n_nodes)
    if not n_uses.any():
        return 0.0
    n_hubs = int(np.ceil(HUB_SHARE_OF_NODES * n_nodes))
    return float(np.sort(n_uses)[-n_hubs:].sum() / n_uses.sum())


def _stationary_distances(graph: sp.csr_array, max_steps: int) -> np.ndarray:
    """Return the mean distance after 1, 2, ... steps, over evenly spread nodes."""
    n_nodes = graph.shape[0]
    # A sample of the nodes: all of them would need a dense (n_nodes, n_nodes) array.
    nodes = np.unique(np.linspace(0, n_nodes - 1, min(n_nodes, SAMPLED_ROWS)).astype(np.int64))
    step = sparse_transition(graph)
    law = stationary_law(graph, step, nodes)
    chance = np.zeros((len(nodes), n_nodes))
    chance[np.arange(len(nodes)), nodes] = 1.0
    visits = chance.copy()
    distances = np.empty(max_steps)
    for k in range(1, max_steps + 1):
        chance = chance @ step
        visits += chance
        distances[k - 1] = np.abs(visits / (k + 1) - law).sum(axis=1).mean() / 2
    return distances
