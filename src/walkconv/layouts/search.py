"""The search for the layout that shows the relations best.

Edges are kept that both ends count among their strongest. With too few there are gaps to go
round, with too many short cuts. So several numbers of edges are tried, on each of the given
relations, and the layout is kept whose nearest nodes are related most often. Then the layout
reviews its own edges: it drops those that came out long and adds strong ones that came out short.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.spatial import cKDTree

from walkconv.layouts.axes import fixed_axes
from walkconv.layouts.edges import joined, mutual_edges, strongest_weights
from walkconv.layouts.isomap import Scaling, scale_distances
from walkconv.layouts.kept import kept_neighborhoods
from walkconv.layouts.lattice import evened
from walkconv.layouts.likeness import walk_likeness
from walkconv.layouts.ring import unrolled
from walkconv.layouts.stress import Distances, least_stress, ring_stress, stress, wanted_distances

N_ROUTES = 24
"""Likest nodes of a node that distances may run through."""
TRIAL_LANDMARKS = 64
"""Enough to compare layouts."""
HOPELESS = 0.4
"""Layouts that keep less than this at the start are moved once, and not reviewed."""
N_FINALISTS = 2
N_REVIEWS = 3
REVIEWED = 8
"""Strongest edges of both ends that a review may add."""
SHORT, LONG = 1.6, 2.5
"""A review adds edges up to this length and drops longer ones, in units of the local spacing."""
MOST_RING_STRESS = 0.01
CUT_OPEN = 0.1
"""A line that keeps this much more than a ring is no ring cut open."""
COST_OF_STRESS = 2.0
"""Stress counts so much against the share of neighbours that are kept."""


@dataclass(frozen=True, eq=False)
class Candidate:
    """A layout that was tried.

    Attributes
    ----------
    positions : ndarray of shape (n_nodes, n_dims)
    period : ndarray of shape (n_dims,)
    stress : float
    kept : float
        Share of the strongest relations that lead to nearest nodes, counted from chance.
    edges : csr_array of shape (n_nodes, n_nodes)
        What the distances are made from.
    relations : csr_array of shape (n_nodes, n_nodes)
        What the edges were chosen from.
    """

    positions: np.ndarray
    period: np.ndarray
    stress: float
    kept: float
    edges: sp.csr_array
    relations: sp.csr_array

    @property
    def score(self) -> float:
        """Larger is better."""
        return self.kept - COST_OF_STRESS * self.stress


def best_candidate(
    relations: Sequence[sp.csr_array],
    *,
    tried: Sequence[int],
    n_dims: int,
    n_landmarks: int,
) -> Candidate:
    """Return the best layout that was found.

    Parameters
    ----------
    relations : sequence of csr_array of shape (n_nodes, n_nodes)
        Symmetric, positive and connected. All layouts are compared by the first.
    tried : sequence of int
        Numbers of edges of a node.
    n_dims : int
        Axes of the layout.
    n_landmarks : int
        Nodes from which distances are measured.
    """
    reference = relations[0]
    few = min(n_landmarks, TRIAL_LANDMARKS)
    starts = [
        _candidate(edges, relation, reference, n_dims, few, is_polished=False)
        for relation in relations
        for edges in _tried_edges(relation, tried)
    ]
    starts.sort(key=lambda candidate: -candidate.kept)
    starts = fitting_rings(starts) or starts
    if starts[0].kept < HOPELESS:
        edges, relation = starts[0].edges, starts[0].relations
        return _candidate(edges, relation, reference, n_dims, few)
    found = []
    for start in starts[:N_FINALISTS]:
        edges = start.edges
        for _ in range(1 + N_REVIEWS):
            found.append(_candidate(edges, start.relations, reference, n_dims, few))
            edges = _reviewed(found[-1])
            if (edges != found[-1].edges).nnz == 0:
                break
    best = max(fitting_rings(found) or found, key=lambda each: each.score)
    if reference.shape[0] > few < n_landmarks:
        last = _candidate(best.edges, best.relations, reference, n_dims, n_landmarks)
        best = max(best, last, key=lambda each: each.score)
    return best


def fitting_rings(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return the rings that fit, in this order: a line that fits as well is a ring cut open."""
    least = max(candidate.kept for candidate in candidates) - CUT_OPEN
    return [
        candidate
        for candidate in candidates
        if candidate.period.any()
        and candidate.stress <= MOST_RING_STRESS
        and candidate.kept >= least
    ]


def _tried_edges(relation: sp.csr_array, tried: Sequence[int]) -> Iterator[sp.csr_array]:
    best = strongest_weights(relation, max(tried))
    seen: set[int] = set()
    for n_edges in tried:
        edges = mutual_edges(relation, best, n_edges)
        if edges.nnz not in seen:  # ties, or few edges, make it the graph of a lower number
            seen.add(edges.nnz)
            yield joined(edges, relation)


def _candidate(
    edges: sp.csr_array,
    relation: sp.csr_array,
    reference: sp.csr_array,
    n_dims: int,
    n_landmarks: int,
    is_polished: bool = True,
) -> Candidate:
    """Return the layout from these edges, as Isomap has it or moved to the least stress."""
    routes = _routes(edges)
    scaling = scale_distances(routes, n_landmarks)
    wanted = _wanted(routes, scaling)
    places, period = scaling.positions(n_dims), np.zeros(n_dims)
    ring = unrolled(scaling.positions(2)) if n_dims == 1 else None
    if ring is not None:
        places, period = ring[0], np.array([ring[1]])
        least = ring_stress(places, ring[1], wanted)
    elif is_polished:
        places, least = least_stress(places, wanted)
        places = fixed_axes(evened(fixed_axes(places), routes))
    else:
        least = stress(places, wanted)
    kept = kept_neighborhoods(reference, places, period, 2 * n_dims)
    return Candidate(places, period, least, kept, edges, relation)


def _routes(edges: sp.csr_array) -> sp.csr_array:
    """Return the likeness of near nodes, a connected graph where `edges` is."""
    likeness = walk_likeness(edges)
    return joined(mutual_edges(likeness, strongest_weights(likeness, N_ROUTES), N_ROUTES), likeness)


def _wanted(routes: sp.csr_array, scaling: Scaling) -> Distances:
    length = routes.copy()
    length.data = np.sqrt(-np.log(length.data))
    return wanted_distances(length, scaling.landmarks, np.sqrt(scaling.squares))


def _reviewed(candidate: Candidate) -> sp.csr_array:
    """Return the edges without those that came out long, with strong ones that came out short."""
    relation, n_dims = candidate.relations, candidate.positions.shape[1]
    strong = mutual_edges(relation, strongest_weights(relation, REVIEWED), REVIEWED)
    pairs = sp.coo_array(strong.maximum(candidate.edges))
    places, period = candidate.positions, candidate.period
    step = places[pairs.row] - places[pairs.col]
    step -= np.where(period > 0, period * np.rint(step / np.where(period > 0, period, 1.0)), 0.0)
    spacing = _spacing(places, n_dims)
    length = np.linalg.norm(step, axis=1) * 2 / (spacing[pairs.row] + spacing[pairs.col])
    is_edge = candidate.edges[pairs.row, pairs.col] > 0
    is_kept = length < np.where(is_edge, LONG, SHORT)
    ends = pairs.row[is_kept], pairs.col[is_kept]
    return joined(sp.csr_array((pairs.data[is_kept], ends), shape=relation.shape), relation)


def _spacing(places: np.ndarray, n_dims: int) -> np.ndarray:
    """Return the usual distance (n_nodes,) between nearest nodes around each node."""
    n_around = min(N_ROUTES + 1, len(places))
    gap, around = cKDTree(places).query(places, k=np.arange(1, n_around + 1))
    own = gap[:, 1 : n_dims + 1].mean(axis=1)
    return np.maximum(np.median(own[around], axis=1), 1e-3 * (own.mean() or 1.0))
