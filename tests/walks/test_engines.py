"""Every engine equals the definition, whose meaning is worked out in exact fractions here."""

import threading
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import example, given
from hypothesis import strategies as st

from walkconv import grid_graph, select_neighbors
from walkconv.walks import blocked
from walkconv.walks.ranking import rank_rows
from walkconv.walks.select import ENGINES

engines = pytest.mark.parametrize("method", ENGINES)


def exact_visits(weights, n_steps):
    """Q^(k) in exact arithmetic, by powers of P."""
    n = len(weights)
    absolute = [[Fraction(abs(int(w))) for w in row] for row in weights]
    step = [
        [w / sum(row) for w in row] if any(row) else [Fraction(int(i == j)) for j in range(n)]
        for i, row in enumerate(absolute)
    ]
    power = [[Fraction(int(i == j)) for j in range(n)] for i in range(n)]
    visits = [row[:] for row in power]
    for _ in range(n_steps):
        power = [
            [sum(power[i][u] * step[u][j] for u in range(n)) for j in range(n)] for i in range(n)
        ]
        visits = [
            [a + b for a, b in zip(*rows, strict=True)] for rows in zip(visits, power, strict=True)
        ]
    return visits


def exact_neighbors(weights, n_neighbors, n_steps, key=lambda node, other: other):
    """The order in exact arithmetic: visits, then self, then `key`."""
    table = []
    for node, row in enumerate(exact_visits(weights, n_steps)):
        reached = [j for j, visits in enumerate(row) if visits > 0]
        order = sorted(reached, key=lambda j: (-row[j], j != node, key(node, j), j))
        table.append((order + [-1] * n_neighbors)[:n_neighbors])
    return np.array(table)


@st.composite
def weight_matrices(draw):
    """Small integer weights: many ties, empty rows, self-loops, negative and one-way edges."""
    n = draw(st.integers(1, 9))
    entry = st.one_of(st.just(0), st.integers(-3, 3))
    weights = np.array(draw(st.lists(entry, min_size=n * n, max_size=n * n))).reshape(n, n)
    if draw(st.booleans()):
        weights = weights + weights.T
    return weights


LOPSIDED = np.array([[0, 1, -2, 1, 0], [1, 0, 1, 0, 0], [-2, 1, 1, 0, 0], [0] * 5, [0] * 5])


@engines
@given(weights=weight_matrices(), n_steps=st.integers(0, 5), data=st.data())
@example(weights=LOPSIDED, n_steps=2, data=None)
def test_engine_equals_exact_arithmetic(method, weights, n_steps, data):
    n = len(weights)
    n_neighbors = n if data is None else data.draw(st.integers(1, n))
    found = select_neighbors(
        weights, n_neighbors=n_neighbors, n_steps=n_steps, method=method, n_threads=1
    )
    np.testing.assert_array_equal(found.index, exact_neighbors(weights, n_neighbors, n_steps))
    exact = np.array(exact_visits(weights, n_steps), dtype=float)
    present = found.index >= 0
    expected = np.take_along_axis(exact, np.maximum(found.index, 0), axis=1)
    np.testing.assert_allclose(found.visits, np.where(present, expected, 0), rtol=1e-12)


@engines
@given(weights=weight_matrices(), n_steps=st.integers(0, 4), data=st.data())
def test_ties_by_displacement_equal_exact_arithmetic(method, weights, n_steps, data):
    n = len(weights)
    steps = data.draw(
        st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=n, max_size=n)
    )
    positions = 0.1 * np.array(steps)

    def displacement(node, other):
        return tuple(np.subtract(steps[other], steps[node]))

    found = select_neighbors(
        weights, n_neighbors=n, n_steps=n_steps, ties=positions, method=method, n_threads=1
    )
    expected = exact_neighbors(weights, n, n_steps, key=displacement)
    np.testing.assert_array_equal(found.index, expected)


@engines
def test_random_ties_reorder_only_within_ties(method):
    weights = grid_graph((6, 5))
    settings = {"n_neighbors": 30, "n_steps": 2, "method": method}
    plain = select_neighbors(weights, **settings)
    shuffled = select_neighbors(weights, ties="random", random_state=0, **settings)
    again = select_neighbors(weights, ties="random", random_state=0, **settings)
    other = select_neighbors(weights, ties="random", random_state=1, **settings)
    np.testing.assert_array_equal(shuffled.index, again.index)
    assert (shuffled.index != other.index).any()
    assert (shuffled.index != plain.index).any()
    np.testing.assert_allclose(shuffled.visits, plain.visits, rtol=1e-12)


@pytest.mark.parametrize("ties", ["index", "random", "positions"])
@pytest.mark.parametrize("n_steps", [0, 1, 2, 3])
def test_engines_agree_whatever_the_blocks_and_threads(ties, n_steps):
    side = 11
    graph = sp.block_diag([grid_graph((side, 9)), np.zeros((3, 3))], format="lil")
    graph[4, 101] = -2.0
    if ties == "positions":
        ties = np.stack(np.divmod(np.arange(graph.shape[0]), 9), axis=1) * 0.3
    settings = {"n_neighbors": 12, "n_steps": n_steps, "ties": ties, "random_state": 3}
    tables = [
        select_neighbors(graph, method=method, block_size=size, n_threads=threads, **settings)
        for method in ENGINES
        for size, threads in ((None, 1), (None, 2), (1, 2), (7, 3), (1000, 2))
    ]
    for table in tables[1:]:
        np.testing.assert_array_equal(table.index, tables[0].index)
        np.testing.assert_array_equal(table.sign, tables[0].sign)
        np.testing.assert_allclose(table.visits, tables[0].visits, rtol=1e-12)


def test_dense_graphs_give_the_same_neighbors_in_every_engine(rng):
    X = rng.normal(size=(40, 83)).cumsum(axis=1)
    graph = np.corrcoef(X.T)
    graph[:, 11] = graph[:, 12]
    graph[11, :] = graph[12, :]
    tables = [
        select_neighbors(graph, n_neighbors=10, n_steps=k, method=method).index
        for k in (1, 2, 3)
        for method in ENGINES
    ]
    for k in range(3):
        np.testing.assert_array_equal(tables[3 * k], tables[3 * k + 1])
        np.testing.assert_array_equal(tables[3 * k], tables[3 * k + 2])


@engines
def test_a_large_tie_is_cut_by_the_rule(method):
    n = 400
    star = np.zeros((n, n))
    star[7, :] = star[:, 7] = 1
    star[7, 7] = 0
    table = select_neighbors(star, n_neighbors=5, n_steps=2, method=method).index
    np.testing.assert_array_equal(table[7], [7, 0, 1, 2, 3])
    np.testing.assert_array_equal(table[300], [300, 7, 0, 1, 2])


def test_weights_of_any_magnitude_give_the_same_neighbors(rng):
    weights = rng.integers(0, 4, size=(12, 12)).astype(float)
    expected = select_neighbors(weights, n_neighbors=6, n_steps=3)
    for factor in (1e-300, 1e-12, 1e300):
        found = select_neighbors(weights * factor, n_neighbors=6, n_steps=3)
        np.testing.assert_array_equal(found.index, expected.index)


def best(weights, n_neighbors, method, **settings):
    """The neighbours of the first of some nodes, which alone has edges, with these weights."""
    graph = np.zeros((len(weights) + 1,) * 2)
    graph[0, 1:] = weights
    found = select_neighbors(graph, n_neighbors=n_neighbors, method=method, **settings)
    return found.index[0].tolist()


@engines
def test_visits_are_tied_to_a_relative_billionth(method):
    assert best([1, 1 + 1e-8, 1 + 2e-8], 3, method) == [0, 3, 2]
    assert best([1, 1 + 1e-10, 1 + 2e-10], 3, method) == [0, 1, 2]


@engines
def test_ties_chain_across_the_last_slot(method):
    # Each is within 1e-9 of the next, the first and the last are not: one tie all the same.
    assert best([1, 1 + 0.8e-9, 1 + 1.6e-9, 0.5], 2, method) == [0, 1]
    assert best([1 + 1.6e-9, 1 + 0.8e-9, 1, 0.5], 2, method) == [0, 1]
    assert best([0.5, 1, 1 + 0.8e-9, 1 + 1.6e-9], 3, method) == [0, 2, 3]


@engines
def test_a_faint_edge_is_an_edge(method):
    assert best([1e-100, 1.0, 0.0], 4, method) == [0, 2, 1, -1]


@engines
def test_chance_orders_the_ties_of_each_node_anew(method):
    graph = np.ones((30, 30))
    table = select_neighbors(
        graph, n_neighbors=10, ties="random", random_state=0, method=method
    ).index
    assert len({tuple(row[1:]) for row in table}) > 20


@engines
def test_displacements_that_differ_by_rounding_are_the_same(method):
    positions = 0.1 * np.arange(10)[:, None]  # 0.3 - 0.2 is not 0.2 - 0.1
    graph = grid_graph((10,))
    table = select_neighbors(graph, n_neighbors=3, ties=positions, method=method).index
    np.testing.assert_array_equal(table[1:-1], np.arange(1, 9)[:, None] + [0, -1, 1])
    plane = np.stack([positions[:, 0].repeat(10), np.tile(positions[:, 0], 10)], axis=1)
    table = select_neighbors(grid_graph((10, 10)), n_neighbors=9, ties=plane, method=method).index
    inside = [i for i in range(100) if 0 < i // 10 < 9 and 0 < i % 10 < 9]
    steps = table[inside] - np.array(inside)[:, None]
    assert (steps == [0, -11, -10, -9, -1, 1, 9, 10, 11]).all()


def test_dense_products_are_called_from_one_thread_since_they_have_their_own(rng, monkeypatch):
    callers = set()

    def noted(*arguments):
        callers.add(threading.current_thread())
        rank_rows(*arguments)

    monkeypatch.setattr(blocked, "rank_rows", noted)
    settings = {"n_neighbors": 3, "n_steps": 2, "method": "blocked", "block_size": 16}
    select_neighbors(rng.random((80, 80)), n_threads=4, **settings)
    assert callers == {threading.main_thread()}
