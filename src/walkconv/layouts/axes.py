"""Which way the axes of a layout point: distances leave that open, so a rule fixes it."""

import numpy as np
from scipy.spatial import cKDTree

MOST_TURNS = 100
STILL = 1e-10


def fixed_axes(places: np.ndarray) -> np.ndarray:
    """Return the places (n_nodes, n_dims) in the frame and unit that `Layout` describes."""
    steps = nearest_steps(places)
    places = places @ _aligning_rotation(steps)
    places = places[:, np.argsort(-places.var(axis=0), kind="stable")]
    rises = (np.arange(len(places)) - (len(places) - 1) / 2) @ places
    places = np.where(rises < 0, -places, places)
    unit = np.median(np.linalg.norm(steps, axis=1)) if len(steps) else 1.0
    return places / unit


def nearest_steps(places: np.ndarray) -> np.ndarray:
    """Return the steps (n_steps, n_dims) from each node to its nearest ones, two for each axis."""
    n_nodes, n_dims = places.shape
    n_nearest = min(2 * n_dims, n_nodes - 1)
    if n_nearest < 1:
        return np.empty((0, n_dims))
    _, nearest = cKDTree(places).query(places, k=np.arange(2, n_nearest + 2))
    steps = (places[nearest] - places[:, None]).reshape(-1, n_dims)
    return steps[np.linalg.norm(steps, axis=1) > 0]


def _aligning_rotation(steps: np.ndarray) -> np.ndarray:
    """Return the rotation after which directions lie along the axes as well as they can.

    It maximises the sum of the fourth powers of their components (quartimax), one plane at a time,
    in each of which the best angle has a closed form.
    """
    n_dims = steps.shape[1]
    rotation = np.eye(n_dims)
    directions = steps / np.linalg.norm(steps, axis=1, keepdims=True)
    planes = [(a, b) for a in range(n_dims) for b in range(a + 1, n_dims)]
    for _ in range(MOST_TURNS):
        largest = 0.0
        for a, b in planes:
            angle = np.angle(((directions[:, a] + 1j * directions[:, b]) ** 4).sum()) / 4
            turn = np.eye(n_dims)
            turn[[a, b, a, b], [a, b, b, a]] = [np.cos(angle)] * 2 + [-np.sin(angle), np.sin(angle)]
            directions, rotation = directions @ turn, rotation @ turn
            largest = max(largest, abs(angle))
        if largest < STILL:
            break
    return rotation
