"""Grids given as graphs, and how many slots of a table are right."""

from itertools import permutations, product

import numpy as np
import pytest
import scipy.sparse as sp

from walkconv import grid_graph, slot_offsets


@pytest.fixture
def shuffled_grid():
    """A function: shape and settings -> the graph of a grid in random order, and its sites."""

    def make(shape, *, connectivity=None, hole=None, noise=0.0, seed=0):
        rng = np.random.default_rng(seed)
        graph = grid_graph(shape, connectivity=connectivity)
        sites = np.stack(np.unravel_index(np.arange(np.prod(shape)), shape), axis=1)
        upper = sp.coo_array(sp.triu(graph))
        weight = rng.uniform(1 - noise, 1 + noise, size=upper.nnz)
        half = sp.csr_array((weight, (upper.row, upper.col)), shape=graph.shape)
        graph = sp.csr_array(half + half.T)
        is_there = np.ones(len(sites), dtype=bool)
        if hole is not None:
            is_there = (np.abs(sites - (np.array(shape) - 1) / 2) > hole / 2).any(axis=1)
        order = rng.permutation(np.flatnonzero(is_there))
        return sp.csr_array(graph[order][:, order]), sites[order]

    return make


@pytest.fixture
def share_of_right_slots():
    """A function: table and true sites -> share of the slots of interior nodes that are right."""
    return best_share


def best_share(index, sites, period=None):
    """Share of the slots of interior nodes that are right up to one rotation or reflection."""
    n_dims = sites.shape[1]
    node_at = {tuple(site): node for node, site in enumerate(sites.tolist())}
    offsets = slot_offsets(index.shape[1], n_dims=n_dims)
    shares = []
    for axes in permutations(range(n_dims)):
        for signs in product((1, -1), repeat=n_dims):
            targets = sites[:, None] + offsets[:, axes] * np.array(signs)
            if period is not None:
                targets = targets % period
            wanted = np.array(
                [[node_at.get(tuple(site), -1) for site in row] for row in targets.tolist()]
            )
            interior = (wanted >= 0).all(axis=1)
            assert interior.any()
            shares.append((index == wanted)[interior].mean())
    return max(shares)
