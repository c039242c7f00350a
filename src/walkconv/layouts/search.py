"""The search for the layout that shows the relations best.

Edges are kept that both ends count among their strongest. With too few there are gaps to go
round, with too many short cuts. So several numbers of edges are tried, on each of the given
relations, and a layout counts by the share of its own strong relations that lead to near nodes:
relations that are noise, or wrong, do not agree with a layout of few axes. Then the best layouts
review their own edges: they drop those that came out long and add strong ones that came out short.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.spatial import cKDTree

from walkconv._threads import available_threads, done_in_threads
from walkconv.layouts.axes import fixed_axes
from walkconv.layouts.edges import joined, mutual_edges, strongest_weights
from walkconv.layouts.explained import Judge
from walkconv.layouts.isomap import LandmarkScaling, scale_distances
from walkconv.layouts.kept import Relation
from walkconv.layouts.lattice import evened
from walkconv.layouts.likeness import walk_likeness
from walkconv.layouts.ring import unrolled
from walkconv.layouts.stress import Distances, least_stress, ring_stress, wanted_distances

N_ROUTES = 24
"""Likest nodes of a node that distances may run through."""
TRIAL_LANDMARKS = 64
"""Enough to compare layouts."""
HOPELESS = 0.5
"""Layouts that keep less than this at the start are moved once, and not reviewed."""
WHOLE = 0.5
"""Nodes that hang together less than this fall into groups: no plane or volume joins them."""
STRESS_WEIGHT, CROWD_WEIGHT, LACK_WEIGHT = 5.0, 0.2, 4.0
"""What counts against a layout when its kind is decided."""
WITH_TABLE = {1: 0.2, 2: 0.2, 3: 0.0}
"""Counts for a layout of a table, whose lack is known: a graph alone must fit better. With three
axes there is room for nearly all related columns, structure or not, so it says little."""
N_OF_RELATION = 1
"""Best starts of each relation that are polished."""
FLAT = 0.93
"""For a plane that fits less well all starts are polished: it may be folded."""
N_WIDE = 8
"""Layouts that then review their edges."""
MOST_WIDE = 1536
"""Nodes up to which all this is done; with more it would take minutes."""
N_UNFOLDED = 3
"""Relations from which it is unfolded."""
N_REVIEWS = 4
REVIEWED = 8
"""Strongest edges of both ends that a review may add."""
SHORT, LONG = 1.6, 2.5
"""A review adds edges up to this length and drops longer ones, in units of the local spacing."""
MOST_RING_STRESS = 0.01
CUT_OPEN = 0.1
"""A line that keeps this much more than a ring is no ring cut open."""
COST_OF_STRESS = 2.0
"""Stress counts so much against what a layout explains or keeps."""


@dataclass(frozen=True, eq=False)
class Trial:
    """Distances between nodes, before a layout has a number of axes.

    Attributes
    ----------
    relation, reference : Relation
        What the edges were chosen from, and what tells whether the nodes fall into groups.
    edges : csr_array of shape (n_nodes, n_nodes)
    routes : csr_array of shape (n_nodes, n_nodes)
        The likeness of near nodes, a connected graph.
    scaling : LandmarkScaling
    """

    relation: Relation
    reference: Relation
    edges: sp.csr_array
    routes: sp.csr_array
    scaling: LandmarkScaling

    @classmethod
    def of(
        cls, relation: Relation, reference: Relation, edges: sp.csr_array, n_landmarks: int
    ) -> "Trial":
        """Return the trial of some edges that connect all nodes."""
        likeness = walk_likeness(edges)
        near = mutual_edges(likeness, strongest_weights(likeness, N_ROUTES), N_ROUTES)
        routes = joined(near, likeness)
        return cls(relation, reference, edges, routes, scale_distances(routes, n_landmarks))

    def again(self, edges: sp.csr_array, n_landmarks: int) -> "Trial":
        """Return the trial of other edges."""
        return self.of(self.relation, self.reference, edges, n_landmarks)

    def wanted(self) -> Distances:
        """Return the distances that a layout should have."""
        length = self.routes.copy()
        length.data = np.sqrt(-np.log(length.data))
        return wanted_distances(length, self.scaling.landmarks, np.sqrt(self.scaling.squares))


@dataclass(frozen=True, eq=False)
class Candidate:
    """A layout that was tried.

    Attributes
    ----------
    positions : ndarray of shape (n_nodes, n_dims)
    period : ndarray of shape (n_dims,)
    stress : float
        NaN for a layout with ends that was not polished.
    kept : float
        Share of the strong relations that lead to near nodes, counted from chance.
    whole : float
        Near 1 where the nodes hang together, near 0 where they fall into groups.
    crowded : float
        Near 0 where the strongest relations are those of a lattice, larger in a crowd.
    trial : Trial
        What the distances were made from.
    share : float or None
        What the nearest columns explain, divided by what the most related columns explain. None
        without a table, or before a layout was chosen.
    """

    positions: np.ndarray
    period: np.ndarray
    stress: float
    kept: float
    whole: float
    crowded: float
    trial: Trial
    share: float | None = None

    @property
    def fit(self) -> float:
        """How well the layout shows the relations."""
        shown = self.kept - STRESS_WEIGHT * self.stress - CROWD_WEIGHT * self.crowded
        if self.share is None:
            return shown
        lack = max(0.0, 1.0 - self.share)
        return shown + WITH_TABLE[self.positions.shape[1]] - LACK_WEIGHT * lack


def trials(
    relations: Sequence[sp.csr_array], *, tried: Sequence[int], n_landmarks: int
) -> list[Trial]:
    """Return the trials of several numbers of edges, on each of the relations.

    Parameters
    ----------
    relations : sequence of csr_array of shape (n_nodes, n_nodes)
        Symmetric, positive and connected. The last tells whether the nodes fall into groups.
    tried : sequence of int
        Numbers of edges of a node.
    n_landmarks : int
        Nodes from which distances are measured.
    """
    few = min(n_landmarks, TRIAL_LANDMARKS)
    each = [Relation(weight) for weight in relations]

    def trials_of(relation: Relation) -> list[Trial]:
        weight = relation.weight
        best = strongest_weights(weight, max(tried))
        found = []
        seen: set[int] = set()
        for n_edges in tried:
            edges = mutual_edges(weight, best, n_edges)
            if edges.nnz not in seen:  # ties, or few edges, make it the graph of a lower number
                seen.add(edges.nnz)
                found.append(Trial.of(relation, each[-1], joined(edges, weight), few))
        return found

    return [trial for found in _in_threads(trials_of, each) for trial in found]


def best_candidate(
    starts: Sequence[Trial],
    *,
    n_dims: int,
    n_landmarks: int,
    judge: Judge | None = None,
) -> Candidate:
    """Return the best layout that was found.

    Parameters
    ----------
    starts : sequence of Trial
    n_dims : int
        Axes of the layout.
    n_landmarks : int
        Nodes from which distances are measured in the end.
    judge : Judge, optional
        Knows how well positions explain the table. By default what they keep counts.
    """

    def score(candidate: Candidate) -> float:
        places = candidate.positions, candidate.period
        value = judge.explained(*places) if judge else candidate.kept
        return value - COST_OF_STRESS * candidate.stress

    rough = _rough(starts, n_dims)
    rough = fitting_rings(rough) or rough
    if rough[0].kept < HOPELESS or (n_dims > 1 and rough[0].whole < WHOLE):
        return _with_share(_candidate(rough[0].trial, n_dims), starts, judge)
    first = _finalists(rough)
    polished = _polished([each.trial for each in first], n_dims)
    found = _reviewed_layouts(polished, n_dims, score, 2)
    best = max(fitting_rings(found) or found, key=score)
    if n_dims == 2 and best.fit < FLAT and len(best.positions) <= MOST_WIDE:
        others = [each.trial for each in rough if each not in first]
        more = _polished([*others, *_unfolded(starts)], n_dims)
        best = max(best, *_reviewed_layouts(more, n_dims, score, N_WIDE), key=score)
    if len(best.positions) > len(best.trial.scaling.landmarks) < n_landmarks:
        trial = best.trial.again(best.trial.edges, n_landmarks)
        best = max(best, _candidate(trial, n_dims), key=score)
    relations = {id(trial.relation): trial.relation for trial in starts}.values()
    kept = max(relation.kept(best.positions, best.period) for relation in relations)
    return _with_share(replace(best, kept=kept), starts, judge)


def _with_share(best: Candidate, starts: Sequence[Trial], judge: Judge | None) -> Candidate:
    """Return the chosen layout with what its nearest columns explain."""
    if judge is None:
        return best
    relation = starts[0].relation.weight
    return replace(best, share=judge.share(best.positions, best.period, relation))


def _rough(starts: Sequence[Trial], n_dims: int) -> list[Candidate]:
    """Return the layouts as Isomap has them, those that keep most first."""
    rough = _in_threads(lambda trial: _candidate(trial, n_dims, is_polished=False), starts)
    return sorted(rough, key=lambda candidate: -candidate.kept)


def _polished(trials: Sequence[Trial], n_dims: int) -> list[Candidate]:
    """Return the layouts of the trials, moved to the least stress."""
    return _in_threads(lambda trial: _candidate(trial, n_dims), trials)


def _in_threads(work: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
    """Return ``work(item)`` for all items, in their order."""
    numbers = range(len(items))
    done = dict(done_in_threads(lambda number: work(items[number]), numbers, available_threads()))
    return [done[number] for number in numbers]


def _reviewed_layouts(
    found: Sequence[Candidate],
    n_dims: int,
    score: Callable[[Candidate], float],
    n_reviewed: int,
) -> list[Candidate]:
    """Return the layouts, and those after reviews of the best ones: each round of half as many."""
    found = sorted(found, key=lambda each: -score(each))
    last = (fitting_rings(found) or found)[:n_reviewed]
    for _ in range(N_REVIEWS):
        changed = [
            trial
            for trial, before in zip(_in_threads(_reviewed, last), last, strict=True)
            if (trial.edges != before.trial.edges).nnz
        ]
        reviewed = _polished(changed, n_dims)
        found += reviewed
        last = sorted(reviewed, key=lambda each: -score(each))[: max(2, len(last) // 2)]
    return found


def _unfolded(starts: Sequence[Trial]) -> list[Trial]:
    """Return trials for the plane whose edges are short in a layout with three axes.

    Pictures that are nearly their own mirror images relate each column to its mirror image. In the
    plane such a relation draws both halves over each other. With three axes the halves lie one
    above the other, so its edge is longer than a step within a half, and a review drops it.
    """

    def unfolded(candidate: Candidate) -> Trial:
        trial = candidate.trial
        for _ in range(2):
            trial = _reviewed(_candidate(trial, 3))
        return trial

    return _in_threads(unfolded, _finalists(_rough(starts, 3), 1)[:N_UNFOLDED])


def _finalists(rough: Sequence[Candidate], n_each: int = N_OF_RELATION) -> list[Candidate]:
    """Return the first candidates of each relation."""
    count: Counter[int] = Counter()
    chosen = []
    for candidate in rough:
        relation = id(candidate.trial.relation)
        count[relation] += 1
        if count[relation] <= n_each:
            chosen.append(candidate)
    return chosen


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


def _candidate(trial: Trial, n_dims: int, is_polished: bool = True) -> Candidate:
    """Return the layout of a trial, as Isomap has it or moved to the least stress."""
    scaling, least = trial.scaling, np.nan
    places, period = scaling.positions(n_dims), np.zeros(n_dims)
    ring = unrolled(scaling.positions(2)) if n_dims == 1 else None
    if ring is not None:
        places, period = ring[0], np.array([ring[1]])
        least = ring_stress(places, ring[1], trial.wanted())
    elif is_polished:
        places, least = least_stress(places, trial.wanted())
        places = fixed_axes(evened(fixed_axes(places), trial.routes))
    kept = trial.relation.kept(places, period)
    whole = min(each.hanging(2 * n_dims + 2)[0] for each in (trial.relation, trial.reference))
    crowded = trial.relation.hanging(2 * n_dims)[1]
    return Candidate(places, period, least, kept, whole, crowded, trial)


def _reviewed(candidate: Candidate) -> Trial:
    """Return a trial without the edges that came out long, with strong ones that came out short."""
    trial, n_dims = candidate.trial, candidate.positions.shape[1]
    weight = trial.relation.weight
    strong = mutual_edges(weight, trial.relation.strongest, REVIEWED)
    pairs = sp.coo_array(strong.maximum(trial.edges))
    places, period = candidate.positions, candidate.period
    step = places[pairs.row] - places[pairs.col]
    step -= np.where(period > 0, period * np.rint(step / np.where(period > 0, period, 1.0)), 0.0)
    spacing = _spacing(places, n_dims)
    length = np.linalg.norm(step, axis=1) * 2 / (spacing[pairs.row] + spacing[pairs.col])
    is_edge = trial.edges[pairs.row, pairs.col] > 0
    is_kept = length < np.where(is_edge, LONG, SHORT)
    ends = pairs.row[is_kept], pairs.col[is_kept]
    edges = joined(sp.csr_array((pairs.data[is_kept], ends), shape=weight.shape), weight)
    return trial.again(edges, len(trial.scaling.landmarks))


def _spacing(places: np.ndarray, n_dims: int) -> np.ndarray:
    """Return the usual distance (n_nodes,) between nearest nodes around each node."""
    n_around = min(N_ROUTES + 1, len(places))
    gap, around = cKDTree(places).query(places, k=np.arange(1, n_around + 1))
    own = gap[:, 1 : n_dims + 1].mean(axis=1)
    return np.maximum(np.median(own[around], axis=1), 1e-3 * (own.mean() or 1.0))
