"""A ring in one dimension: it has no ends, so its axis has a period instead."""

import numpy as np

ROUND = 0.5
"""A plane layout is a ring when no node lies nearer to the middle than this share of the mean."""


def unrolled(places: np.ndarray) -> tuple[np.ndarray, float] | None:
    """Return positions (n_nodes, 1) along a ring and its period, or None where there is no ring.

    Parameters
    ----------
    places : ndarray of shape (n_nodes, 2)
        A layout in the plane, centred.
    """
    radius = np.linalg.norm(places, axis=1)
    if len(places) < 4 or radius.min() < ROUND * radius.mean():
        return None
    turn = np.arctan2(places[:, 1], places[:, 0]) / (2 * np.pi)
    around = np.sort(turn)
    gaps = np.diff(around, append=around[0] + 1.0)
    onward = np.diff(turn)
    if (onward - np.rint(onward)).sum() < 0:
        turn = -turn
    period = 1.0 / np.median(gaps[gaps > 0])
    return ((turn - turn[0]) % 1.0 * period)[:, None], period
