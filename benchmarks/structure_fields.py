"""Synthetic tables: smooth random fields over known sites, and tables without any sites."""

import numpy as np
from scipy.spatial.distance import cdist

N_ROWS = 2000


def grid(*shape: int) -> np.ndarray:
    """Return the sites (n_sites, n_dims) of a grid."""
    return np.stack(np.unravel_index(np.arange(np.prod(shape)), shape), axis=1).astype(float)


def circle(n_sites: int) -> np.ndarray:
    """Return sites (n_sites, 2) on a circle, about one step apart."""
    turn = 2 * np.pi * np.arange(n_sites) / n_sites
    return np.stack([np.cos(turn), np.sin(turn)], axis=1) * n_sites / (2 * np.pi)


def sphere(n_sites: int) -> np.ndarray:
    """Return sites (n_sites, 3) spread evenly over a sphere, about one step apart."""
    height = 1 - (2 * np.arange(n_sites) + 1) / n_sites
    turn = np.pi * (1 + np.sqrt(5)) * np.arange(n_sites)
    width = np.sqrt(1 - height**2)
    sites = np.stack([width * np.cos(turn), width * np.sin(turn), height], axis=1)
    return sites * np.sqrt(n_sites / (4 * np.pi))


def with_gaps(sites: np.ndarray, share: float, seed: int) -> np.ndarray:
    """Return the sites without a random share of them."""
    is_kept = np.random.default_rng(seed).uniform(size=len(sites)) >= share
    return sites[is_kept]


def field(sites: np.ndarray, *, length: float, noise: float, seed: int) -> np.ndarray:
    """Return a table (2000, n_sites) whose covariance falls with the distance of the sites.

    Parameters
    ----------
    sites : ndarray of shape (n_sites, n_dims)
    length : float
        Distance in steps at which the covariance is exp(-1).
    noise : float
        Standard deviation of independent noise beside a field of standard deviation 1.
    seed : int
    """
    rng = np.random.default_rng(seed)
    covariance = np.exp(-cdist(sites, sites) / length)
    root = np.linalg.cholesky(covariance + 1e-9 * np.eye(len(sites)))
    smooth = rng.normal(size=(N_ROWS, len(sites))) @ root.T
    return (smooth + noise * rng.normal(size=smooth.shape)).astype(np.float32)


def factors(n_columns: int, n_factors: int, *, seed: int) -> np.ndarray:
    """Return a table (2000, n_columns) of random mixtures of factors, with noise of half a unit."""
    rng = np.random.default_rng(seed)
    loading = rng.normal(size=(n_factors, n_columns)) / np.sqrt(n_factors)
    mixed = rng.normal(size=(N_ROWS, n_factors)) @ loading
    return (mixed + 0.5 * rng.normal(size=mixed.shape)).astype(np.float32)


def groups(n_columns: int, n_groups: int, *, seed: int) -> np.ndarray:
    """Return a table (2000, n_columns) of groups of columns that share a factor of their own."""
    rng = np.random.default_rng(seed)
    shared = rng.normal(size=(N_ROWS, n_groups))[:, rng.integers(n_groups, size=n_columns)]
    return (shared + rng.normal(size=shared.shape)).astype(np.float32)


def pure_noise(n_columns: int, *, seed: int) -> np.ndarray:
    """Return a table (2000, n_columns) of independent columns."""
    return np.random.default_rng(seed).normal(size=(N_ROWS, n_columns)).astype(np.float32)


def tree(n_levels: int, *, seed: int) -> np.ndarray:
    """Return a table (2000, 4**n_levels) whose columns are the leaves of a tree of factors."""
    rng = np.random.default_rng(seed)
    leaf = np.arange(4**n_levels)
    columns = rng.normal(size=(N_ROWS, len(leaf)))
    for level in range(1, n_levels + 1):
        factor = rng.normal(size=(N_ROWS, 4 ** (n_levels - level)))
        columns += 0.8 * factor[:, leaf // 4**level]
    return columns.astype(np.float32)


def modules(n_columns: int, n_modules: int, *, seed: int) -> np.ndarray:
    """Return a table (2000, n_columns) of overlapping modules, each of 8 % of the columns."""
    rng = np.random.default_rng(seed)
    loading = rng.normal(size=(n_modules, n_columns)) * (rng.random((n_modules, n_columns)) < 0.08)
    mixed = rng.normal(size=(N_ROWS, n_modules)) @ loading
    return (mixed + 0.5 * rng.normal(size=mixed.shape)).astype(np.float32)
