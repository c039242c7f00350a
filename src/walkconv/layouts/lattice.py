"""Nodes of a layout are moved towards a lattice, step by step towards the nearest of its sites.

Isomap bends what it lays out: short cuts bend it at the border, and holes push their surroundings
away. Locally it is right, though: the displacement between two near nodes says which step of a
lattice is meant. The places that fit all these steps best solve a sparse linear system; from
there the steps are read anew.
"""

import numpy as np
import scipy.sparse as sp
from scipy.spatial import cKDTree

from walkconv.layouts.solve import solver

N_ROUNDS = 3
"""More move the nodes little: after three, the order of layouts by the judge is that after ten."""
STILL = 0.01
"""Rounds end when no node moves farther."""
LONGEST_STEP = 2
"""Displacements of more steps along an axis are not read."""
BLUR = 0.5
"""A step weighs less the worse it fits, as a Gaussian of this width would have it."""
ANCHOR = 0.01
"""Pull of the place a node has, so that what no step holds stays where it is."""
N_AROUND = 24


def evened(places: np.ndarray, likeness: sp.csr_array) -> np.ndarray:
    """Return places (n_nodes, n_dims) with near nodes about one step of a lattice apart.

    Parameters
    ----------
    places : ndarray of shape (n_nodes, n_dims)
        In a frame whose axes point along the steps to nearest nodes.
    likeness : csr_array of shape (n_nodes, n_nodes)
        Its edges join the near nodes whose displacements are read.
    """
    pairs = sp.coo_array(sp.triu(likeness, k=1))
    if pairs.nnz == 0:
        return places
    spacing = _local_spacing(places)
    places = places / np.median(spacing)
    spacing = spacing / np.median(spacing)
    for _ in range(N_ROUNDS):
        gap = (spacing[pairs.row] + spacing[pairs.col])[:, None] / 2
        before, places = places, _fitted(places, pairs.row, pairs.col, gap)
        if np.abs(places - before).max() < STILL:
            break
        spacing = np.ones(len(places))
    return places - places.mean(axis=0)


def _fitted(places: np.ndarray, a: np.ndarray, b: np.ndarray, gap: np.ndarray) -> np.ndarray:
    """Return the places that fit the lattice steps between the nodes a and b best."""
    n_nodes, n_dims = places.shape
    displacement = (places[b] - places[a]) / gap
    steps = _nearest_step(displacement)
    misfit = ((displacement - steps) ** 2).sum(axis=1)
    weight = np.exp(-misfit / (2 * BLUR**2)) / (steps**2).sum(axis=1) ** 2
    weight[np.abs(steps).max(axis=1) > LONGEST_STEP] = 0.0
    half = sp.csr_array((weight, (a, b)), shape=(n_nodes, n_nodes))
    both = sp.csr_array(half + half.T)
    degree = both.sum(axis=1) + ANCHOR
    system = sp.csr_array(sp.diags_array(degree) - both)
    force = np.empty_like(places)
    for axis in range(n_dims):
        lack = weight * (steps[:, axis] - (places[b, axis] - places[a, axis]))
        force[:, axis] = np.bincount(b, lack, n_nodes) - np.bincount(a, lack, n_nodes)
    return places + solver(system)(force, np.zeros_like(force))


def _nearest_step(displacement: np.ndarray) -> np.ndarray:
    """Return the nearest step of the lattice, never none: two nodes do not share a site."""
    steps = np.rint(displacement)
    stands = np.flatnonzero(~steps.any(axis=1))
    axis = np.abs(displacement[stands]).argmax(axis=1)
    steps[stands, axis] = np.where(displacement[stands, axis] < 0, -1.0, 1.0)
    return steps


def _local_spacing(places: np.ndarray) -> np.ndarray:
    """Return the usual distance (n_nodes,) to the nearest nodes, one for each axis, around each."""
    n_nodes, n_dims = places.shape
    n_around = min(N_AROUND, n_nodes - 1)
    gap, around = cKDTree(places).query(places, k=np.arange(1, n_around + 2))
    own = gap[:, 1 : n_dims + 1].mean(axis=1)
    usual = np.median(own[around], axis=1)
    floor = 1e-3 * (usual.mean() or 1.0)
    return np.maximum(usual, floor)
