"""How near positions are to the truth: slots that hold the right neighbour, Procrustes error."""

from itertools import permutations, product

import numpy as np
from scipy.spatial import cKDTree, procrustes


def slots_right(
    positions: np.ndarray, sites: np.ndarray, period: np.ndarray, true_period: np.ndarray
) -> float:
    """Return the share of inner slots that hold the right neighbour, under the best turn.

    A slot is a step of -1, 0 or 1 along each axis. It holds the node whose position is nearest to
    the end of the step. It is right if the true site of that node is the end of the same step from
    the true site. Steps are turned and mirrored in all ways that keep the axes, one for all nodes.
    Steps that leave the true sites do not count.

    Parameters
    ----------
    positions, sites : ndarray of shape (n_nodes, n_dims)
    period, true_period : ndarray of shape (n_dims,)
        Length of an axis that runs round a ring, else 0.
    """
    if positions.shape[1] != sites.shape[1]:
        return 0.0
    n_dims = sites.shape[1]
    steps = np.array([step for step in product((-1, 0, 1), repeat=n_dims) if any(step)])
    found = sites[_held(positions, period, steps)]
    known = {tuple(site) for site in sites.astype(int)}
    best = 0.0
    for turn in _turns(n_dims):
        ends = sites[:, None] + (steps @ turn)[None]
        wrap = np.where(true_period > 0, true_period, np.inf)
        ends = np.where(true_period > 0, np.mod(ends, wrap), ends)
        is_inner = np.array([tuple(end) in known for end in ends.reshape(-1, n_dims).astype(int)])
        is_right = (found == ends).all(axis=2).ravel()
        best = max(best, float(is_right[is_inner].mean()))
    return best


def procrustes_error(
    positions: np.ndarray, sites: np.ndarray, period: np.ndarray, true_period: np.ndarray
) -> float:
    """Return the squared error after the best shift, turn, mirror and scale; 1 is the worst.

    A ring is compared as a circle in the plane.
    """
    given, true = (_rolled(positions, period), _rolled(sites, true_period))
    n_dims = max(given.shape[1], true.shape[1])
    padded = [np.pad(each, ((0, 0), (0, n_dims - each.shape[1]))) for each in (true, given)]
    if min(each.std() for each in padded) == 0:
        return 1.0
    return float(procrustes(*padded)[2])


def aligned(positions: np.ndarray, sites: np.ndarray) -> np.ndarray:
    """Return positions (n_nodes, n_dims) shifted, turned and scaled to fit the sites best."""
    given, true = positions - positions.mean(axis=0), sites - sites.mean(axis=0)
    u, s, vt = np.linalg.svd(given.T @ true)
    scale = s.sum() / max((given**2).sum(), 1e-12)
    return scale * given @ u @ vt + sites.mean(axis=0)


def groups_right(node: np.ndarray, site: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the share of true groups found exactly, and which columns (n_columns,) are in one."""
    found = np.unique(node, return_inverse=True)[1]
    true = np.unique(site, return_inverse=True)[1]
    first = np.zeros(true.max() + 1, dtype=int)
    first[true] = found
    is_whole = np.bincount(found)[found] == np.bincount(true)[true]
    is_right = is_whole & (found == first[true])
    all_right = np.ones(true.max() + 1, dtype=bool)
    np.logical_and.at(all_right, true, is_right)
    return float(all_right.mean()), all_right[true]


def labels_right(
    channel: np.ndarray, true: np.ndarray, site: np.ndarray, is_grouped: np.ndarray
) -> float:
    """Return the share of sites whose channels have the labels that most sites have."""
    n_sites = len(np.unique(site))
    group = np.unique(site, return_inverse=True)[1]
    n_channels = int(true.max()) + 1
    best = 0.0
    for names in permutations(range(n_channels)):
        is_right = is_grouped & (channel == np.array(names)[true])
        best = max(best, float((np.bincount(group, is_right) == n_channels).sum() / n_sites))
    return best


def _held(positions: np.ndarray, period: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """Return the node (n_nodes, n_steps) nearest to the end of each step, never itself."""
    wrap = np.where(period > 0, period, 0.0)
    places = np.where(wrap > 0, np.mod(positions, np.where(wrap > 0, wrap, 1.0)), positions)
    places = np.where((wrap > 0) & (places >= wrap), 0.0, places)
    ends = places[:, None] + steps[None]
    ends = np.where(wrap > 0, np.mod(ends, np.where(wrap > 0, wrap, 1.0)), ends)
    ends = np.where((wrap > 0) & (ends >= wrap), 0.0, ends)
    _, nearest = cKDTree(places, boxsize=wrap).query(ends, k=2)
    is_self = nearest[..., 0] == np.arange(len(places))[:, None]
    return np.where(is_self, nearest[..., 1], nearest[..., 0])


def _turns(n_dims: int) -> list[np.ndarray]:
    """Return the matrices that permute and mirror the axes."""
    return [
        np.eye(n_dims, dtype=int)[list(order)] * np.array(signs)
        for order in permutations(range(n_dims))
        for signs in product((1, -1), repeat=n_dims)
    ]


def _rolled(positions: np.ndarray, period: np.ndarray) -> np.ndarray:
    if not period.any():
        return positions
    turn = 2 * np.pi * positions[:, 0] / period[0]
    return np.stack([np.cos(turn), np.sin(turn)], axis=1)
