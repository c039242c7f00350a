"""Every node has a pixel of its own, as near to its position as the others allow."""

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from walkconv.images.pixels import own_pixels


def lattice(height, width):
    return np.stack(np.divmod(np.arange(height * width), width), axis=1).astype(float)


def check_own(pixel, shape):
    assert len(np.unique(pixel, axis=0)) == len(pixel)
    assert (pixel >= 0).all()
    assert (pixel < shape).all()


def test_nodes_on_a_lattice_keep_their_sites(rng):
    sites = lattice(9, 7)[rng.permutation(63)[:50]]
    moved = sites + np.array([20.3, -7.4]) + rng.uniform(-0.1, 0.1, size=sites.shape)
    pixel, shape = own_pixels(moved, np.zeros(2))
    low = sites.min(axis=0)
    assert pixel.tolist() == (sites - low).astype(int).tolist()
    assert shape == tuple((sites.max(axis=0) - low + 1).astype(int))


def test_the_sum_of_squares_is_the_least_of_all_assignments(rng):
    places = lattice(6, 5) + rng.normal(scale=0.4, size=(30, 2))
    pixel, shape = own_pixels(places, np.zeros(2))
    check_own(pixel, shape)
    cells = lattice(*shape)
    shift = (places - pixel).mean(axis=0)  # of the frame of the image, found from the answer
    grid = np.rint(places.min(axis=0) - shift)
    assert abs(grid).max() <= 1
    # The best shift of an assignment is the mean, so compare at equal frames.
    phase = np.angle(np.exp(2j * np.pi * places).mean(axis=0)) / (2 * np.pi)
    framed = places - phase
    framed -= np.rint(framed.min(axis=0))
    cost = ((framed[:, None] - cells[None]) ** 2).sum(axis=2)
    rows, columns = linear_sum_assignment(cost)
    assert ((framed - pixel) ** 2).sum() == pytest.approx(cost[rows, columns].sum(), abs=30 / 1024)


@pytest.mark.parametrize("n_dims", [1, 2, 3])
@pytest.mark.parametrize(
    "spread",
    [
        lambda rng, n_dims: np.zeros((70, n_dims)),
        lambda rng, n_dims: rng.normal(size=(300, n_dims)),
        lambda rng, n_dims: 50 * rng.standard_cauchy(size=(200, n_dims)),
        lambda rng, n_dims: np.arange(90)[:, None] * np.eye(n_dims)[0] * 3.0,
        lambda rng, n_dims: np.repeat(rng.normal(size=(4, n_dims)), 30, axis=0),
        lambda rng, n_dims: np.array([[0.0] * n_dims, [1.0] * n_dims]),
    ],
)
def test_piles_and_outliers_end_in_an_image_of_bounded_size(rng, spread, n_dims):
    places = spread(rng, n_dims)
    pixel, shape = own_pixels(places, np.zeros(n_dims))
    check_own(pixel, shape)
    assert len(shape) == n_dims
    assert np.prod(shape) <= max(4 * len(places), 2**n_dims)


def test_a_ring_is_cut_where_its_axis_begins():
    pixel, shape = own_pixels(np.array([[7.0], [9.0], [-2.0], [0.0]]), np.array([10.0]))
    assert pixel.ravel().tolist() == [7, 9, 8, 0]
    assert shape == (10,)


def test_ties_that_rounding_would_break_come_to_an_end():
    places = np.array([[-0.999925282, 0.0], [0.999962641, 0.0], [-3.7e-05, 0.0], [3.99996264, 0.0]])
    check_own(*own_pixels(places, np.zeros(2)))
