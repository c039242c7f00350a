"""A place in the plane for every column, for the eye: related columns lie together.

A few columns are placed by the distances along their edges. Of more: where the relations fit a
plane, `layout_graph` finds it. Otherwise no picture can keep all distances, and the places are
those of t-SNE on the graph: springs along the edges, repulsion between all nodes. The repulsion is
a convolution on a grid, by the fast Fourier transform, so that time grows with the number of nodes
and not with its square.
"""

from collections.abc import Callable

import numpy as np
import scipy.fft
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components, dijkstra

from walkconv.layouts import layout_graph
from walkconv.reports.summarizing.graph_places import place_nodes

FEW = 150
"""Columns up to which all distances along the edges are fitted."""
MOST_FOR_LAYOUT = 4000
"""Nodes up to which the relations are tried on a plane: it takes a second or two."""
MAIN_SHARE = 0.9
"""Share of the nodes that must hang together for a layout in a plane."""
N_LANDMARKS = 24
N_ROUNDS, N_EARLY = 260, 90
EARLY, LATE = 12.0, 1.0
"""How much the springs are strengthened, in the first rounds and later."""
FARTHEST = 2.0
"""Longest step of a round."""
LONGEST = 4.0
LARGEST_GRID = 192
CELL = 0.7
"""Width of a grid cell, in units of the kernel's width."""


def place_for_the_eye(graph: sp.csr_array) -> np.ndarray:
    """Return places (n_nodes, 2) for a symmetric graph with positive weights.

    Examples
    --------
    >>> from walkconv import grid_graph
    >>> from walkconv.reports.summarizing.places import place_for_the_eye
    >>> place_for_the_eye(grid_graph((9, 7))).shape
    (63, 2)
    """
    n_nodes = graph.shape[0]
    if n_nodes <= FEW:
        return _with_lone_nodes(graph, _by_distance)
    places = _in_a_plane(graph) if n_nodes <= MOST_FOR_LAYOUT else None
    return _with_lone_nodes(graph, _springs) if places is None else places


def _in_a_plane(graph: sp.csr_array) -> np.ndarray | None:
    """Return the layout of the largest component with the other nodes below it, if one fits."""
    _, part = connected_components(graph, directed=False)
    sizes = np.bincount(part)
    main = np.flatnonzero(part == sizes.argmax())
    if len(main) < MAIN_SHARE * len(part) or len(main) < 16:
        return None
    layout = layout_graph(sp.csr_array(graph[main][:, main]), n_edges=5, n_landmarks=128)
    if layout.kind != "plane" or len(np.unique(layout.positions.round(2), axis=0)) < len(main):
        return None
    places = np.zeros((len(part), 2))
    places[main] = layout.positions
    others = np.flatnonzero(part != sizes.argmax())
    places[others[np.argsort(part[others], kind="stable")]] = block_below(len(others), places[main])
    return places


def _by_distance(graph: sp.csr_array) -> np.ndarray:
    """Return places at which a strong edge is short: 1 for the strongest, at most `LONGEST`."""
    length = graph.copy()
    length.data = np.minimum(1.0 + np.log(graph.data.max() / graph.data), LONGEST)
    return place_nodes(length)


def _with_lone_nodes(
    graph: sp.csr_array, place: Callable[[sp.csr_array], np.ndarray]
) -> np.ndarray:
    """Return places of the nodes with edges; nodes without an edge stand in rows below."""
    lone = np.diff(graph.indptr) == 0
    places = np.zeros((len(lone), 2))
    if not lone.all():
        joined = np.flatnonzero(~lone)
        places[joined] = place(sp.csr_array(graph[joined][:, joined]))
        places[lone] = block_below(int(lone.sum()), places[joined])
    else:
        places[:] = block_below(len(lone), np.zeros((1, 2)))
    return places


def block_below(n_nodes: int, above: np.ndarray) -> np.ndarray:
    """Return places for some nodes in rows below others, as dense as those."""
    low, extent = above.min(axis=0), np.ptp(above, axis=0)
    step = float(np.sqrt(max(extent.prod(), 1.0) / len(above))) if len(above) > 1 else 1.0
    step = min(step, float(extent[0]) / 24) if extent[0] > 0 else step
    per_row = max(8, int(extent[0] / step)) if extent[0] > 0 else int(np.ceil(np.sqrt(n_nodes)))
    row, column = np.divmod(np.arange(n_nodes), per_row)
    return np.column_stack([low[0] + column * step, low[1] - (row + 2.0) * step])


def _springs(graph: sp.csr_array) -> np.ndarray:
    """Return places by t-SNE with the edges as affinities."""
    n_nodes = graph.shape[0]
    rows = sp.csr_array(sp.diags_array(1.0 / graph.sum(axis=1)) @ graph)
    affinity = sp.coo_array(rows + rows.T)
    a, b = affinity.row, affinity.col
    pull = affinity.data / affinity.data.sum()
    places = _begin(graph)
    velocity, gain = np.zeros_like(places), np.ones_like(places)
    rate = n_nodes / EARLY / 4
    for number in range(N_ROUNDS):
        is_early = number < N_EARLY
        gap = places[a] - places[b]
        spring = (EARLY if is_early else LATE) * pull / (1.0 + (gap**2).sum(axis=1))
        attraction = np.column_stack(
            [np.bincount(a, spring * gap[:, axis], n_nodes) for axis in range(2)]
        )
        slope = 4.0 * (attraction - _repulsion(places))
        agrees = (slope > 0) == (velocity > 0)
        gain = np.maximum(np.where(agrees, gain * 0.8, gain + 0.2), 0.01)
        velocity = (0.5 if is_early else 0.8) * velocity - rate * gain * slope
        velocity = np.clip(velocity, -FARTHEST, FARTHEST)
        places = places + velocity
        places -= places.mean(axis=0)
    return places


def _begin(graph: sp.csr_array) -> np.ndarray:
    """Return small places from the distances to some nodes, along the edges."""
    n_nodes = graph.shape[0]
    rng = np.random.default_rng(0)
    landmarks = rng.permutation(n_nodes)[:N_LANDMARKS]
    steps = sp.csr_array(
        (np.ones(graph.nnz), graph.indices.astype(np.int32), graph.indptr.astype(np.int32)),
        shape=graph.shape,
    )
    distance = dijkstra(steps, directed=True, indices=landmarks, unweighted=True).T
    reached = np.isfinite(distance)
    distance[~reached] = 1.5 * distance[reached].max()
    distance -= distance.mean(axis=0)
    _, vectors = np.linalg.eigh(distance.T @ distance)
    places = distance @ vectors[:, :-3:-1]
    places /= max(float(places.std()), 1e-12)
    return 0.01 * (places + 0.1 * rng.normal(size=places.shape))


def _repulsion(places: np.ndarray) -> np.ndarray:
    """Return the force (n_nodes, 2) of the kernel ``1 / (1 + d^2)^2``, normalised as in t-SNE."""
    n_nodes = len(places)
    low, extent = places.min(axis=0), float(np.ptp(places, axis=0).max()) + 1e-9
    side = int(np.clip(np.ceil(extent / CELL), 24, LARGEST_GRID))
    cell = extent / side
    width = side + 1
    cells, shares = _corners((places - low) / cell, width)
    charges = np.stack([np.ones(n_nodes), *places.T, (places**2).sum(axis=1)])
    grid = np.stack(
        [np.bincount(cells.ravel(), (shares * charge).ravel(), width**2) for charge in charges]
    ).astype(np.float32)
    size = scipy.fft.next_fast_len(2 * width, real=True)
    steps = np.minimum(np.arange(size), size - np.arange(size)) * cell
    kernel = (1.0 / (1.0 + steps[:, None] ** 2 + steps[None] ** 2) ** 2).astype(np.float32)
    spectrum = scipy.fft.rfft2(grid.reshape(4, width, width), (size, size))
    field = scipy.fft.irfft2(spectrum * scipy.fft.rfft2(kernel), (size, size))
    near = field[:, :width, :width].reshape(4, -1)
    ones, *sums, squares = (shares * near[:, cells]).sum(axis=1)
    force = places * ones[:, None] - np.column_stack(sums)
    # Of all pairs, 1 / (1 + d^2) is the kernel times 1 + d^2; the pairs of a node with itself go.
    pairs = (1.0 + charges[3]) * ones - 2.0 * (places * np.column_stack(sums)).sum(axis=1) + squares
    return force / max(float(pairs.sum()) - n_nodes, 1e-12)


def _corners(at: np.ndarray, width: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the four grid cells (4, n_nodes) around each place, and its share in each."""
    corner = np.minimum(at.astype(int), width - 2)
    right, up = (at - corner).T
    first = corner[:, 0] * width + corner[:, 1]
    cells = np.stack([first, first + width, first + 1, first + width + 1])
    shares = [(1 - right) * (1 - up), right * (1 - up), (1 - right) * up, right * up]
    return cells, np.stack(shares)
