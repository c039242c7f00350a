"""The edges that distances run along, and how many strong ones of a node they are made from.

With too few edges there are gaps to go round, with too many short cuts; and edges that chance has
made strong lead to where walks are unlike. Which recipe is right shows in the eigenvalues: short
cuts need dimensions of their own.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import scipy.sparse as sp

from walkconv.layouts.edges import joined, mutual_edges, strongest_weights
from walkconv.layouts.isomap import scale_distances
from walkconv.layouts.layout import decay
from walkconv.layouts.likeness import alike_edges, walk_likeness

N_REVIEWS = 2
N_ROUTES = 24
"""Likest nodes of a node that distances may run through."""
AS_GOOD = 0.05
"""Recipes whose decay is this near the least are as good."""
TRIAL_LANDMARKS = 64
"""Enough to compare recipes by their eigenvalues."""


@dataclass(frozen=True)
class Recipe:
    """How routes are made.

    Attributes
    ----------
    n_edges : int
        Strongest edges of a node.
    n_reviews : int
        How often edges are dropped whose ends are unlike.
    """

    n_edges: int
    n_reviews: int


def find_routes(weight: sp.csr_array, recipe: Recipe) -> sp.csr_array:
    """Return the likeness (n_nodes, n_nodes) of near nodes, a connected graph where `weight` is."""
    *_, routes = _reviewed(weight, recipe.n_edges, recipe.n_reviews)
    return routes


def best_recipe(weight: sp.csr_array, tried: Sequence[int], n_dims: int) -> Recipe:
    """Return the recipe with the most edges after which the eigenvalues still fall off steeply.

    More edges average more noise, until they are short cuts.

    Parameters
    ----------
    weight : csr_array of shape (n_nodes, n_nodes)
        Symmetric, positive and connected.
    tried : sequence of int
        Numbers of edges, ascending.
    n_dims : int
        Axes of the layout.
    """
    best = strongest_weights(weight, max(tried))
    seen: set[int] = set()
    decays: dict[Recipe, float] = {}
    for n_edges in tried:
        n_kept = mutual_edges(weight, best, n_edges).nnz
        if n_kept in seen:  # ties, or few edges, make it the graph of a lower number
            continue
        seen.add(n_kept)
        for n_reviews, routes in enumerate(_reviewed(weight, n_edges, N_REVIEWS)):
            if n_reviews in (0, N_REVIEWS):
                eigenvalues = scale_distances(routes, TRIAL_LANDMARKS).eigenvalues
                decays[Recipe(n_edges, n_reviews)] = decay(eigenvalues, n_dims)
    most = min(decays.values()) + AS_GOOD
    good = [recipe for recipe in decays if decays[recipe] <= most]
    return min(good, key=lambda recipe: (-recipe.n_edges, decays[recipe]))


def _reviewed(weight: sp.csr_array, n_edges: int, n_reviews: int) -> Iterator[sp.csr_array]:
    """Yield the routes before any review, then after each."""
    edges = joined(mutual_edges(weight, strongest_weights(weight, n_edges), n_edges), weight)
    for n_done in range(n_reviews + 1):
        likeness = walk_likeness(edges)
        best = strongest_weights(likeness, N_ROUTES)
        yield joined(mutual_edges(likeness, best, N_ROUTES), likeness)
        if n_done < n_reviews:
            edges = joined(alike_edges(edges, likeness), weight)
