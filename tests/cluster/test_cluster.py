"""What the workers of a dask cluster do is what threads do, whoever dies meanwhile."""

import os
from concurrent.futures import CancelledError

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp

from walkconv import correlation_graph, grid_graph, select_neighbors
from walkconv._cluster import Spread, check_client

pytestmark = pytest.mark.slow


@pytest.fixture(params=["sent", "mapped"])
def way(request, monkeypatch):
    """How the workers get what all of them need: over the network, or from a file they map."""
    monkeypatch.setattr("walkconv._cluster.FEWEST_BYTES", 1 if request.param == "mapped" else 2**62)


@pytest.fixture(scope="module")
def crowd():
    """Six hubs that all nodes meet two of, one-way and signed edges, ties, and an isolated node."""
    rng = np.random.default_rng(0)
    n_nodes = 1501
    leaves = np.arange(6, n_nodes - 1)
    hub = np.ravel([rng.choice(6, size=2, replace=False) for _ in leaves])
    source = np.concatenate([np.repeat(leaves, 2), hub, leaves])
    target = np.concatenate([hub, np.repeat(leaves, 2), rng.choice(leaves, size=len(leaves))])
    weight = rng.choice([1.0, 1.0, -2.0], size=len(source))
    return sp.csr_array((weight, (source, target)), shape=(n_nodes, n_nodes))


def dense_graph(n_nodes=700):
    """So many edges that blocks of rows are multiplied by a dense matrix."""
    rng = np.random.default_rng(1)
    return rng.random((n_nodes, n_nodes)) * (rng.random((n_nodes, n_nodes)) < 0.3)


def assert_same(found, expected, *, rounding=0.0):
    np.testing.assert_array_equal(found.index, expected.index)
    np.testing.assert_allclose(found.visits, expected.visits, rtol=rounding, atol=0)
    np.testing.assert_array_equal(found.sign, expected.sign)


@pytest.mark.parametrize("method", ["sparse", "blocked", "dense"])
@pytest.mark.parametrize(
    "settings", [{"n_steps": 2}, {"n_steps": 3, "ties": "random", "random_state": 3}]
)
@pytest.mark.usefixtures("way")
def test_workers_select_the_same_neighbors(client, crowd, method, settings):
    expected = select_neighbors(crowd, n_neighbors=9, method=method, **settings)
    found = select_neighbors(crowd, n_neighbors=9, method=method, client=client, **settings)
    assert_same(found, expected, rounding=0.0 if method == "sparse" else 1e-13)


@pytest.mark.usefixtures("way")
def test_dense_products_are_the_same_but_for_rounding(client):
    settings = {"n_neighbors": 12, "n_steps": 3, "method": "blocked"}
    expected = select_neighbors(dense_graph(), **settings)
    found = select_neighbors(dense_graph(), client=client, **settings)
    assert_same(found, expected, rounding=1e-13)


def test_slots_that_are_directions_are_the_same(client):
    grid, places = grid_graph((30, 31)), np.stack(np.divmod(np.arange(930), 31), axis=1)
    settings = {"n_neighbors": 9, "n_steps": "auto", "order": "direction", "positions": places}
    assert_same(
        select_neighbors(grid, client=client, **settings), select_neighbors(grid, **settings)
    )


def test_a_checkpoint_is_continued_by_the_workers(client, crowd, tmp_path, monkeypatch):
    settings = {"n_neighbors": 9, "n_steps": 2, "block_size": 100}
    expected = select_neighbors(crowd, checkpoint=tmp_path / "rows", **settings)
    os.truncate(tmp_path / "rows", (tmp_path / "rows").stat().st_size // 2)
    counted = count_scattered(client, monkeypatch)
    for _ in range(2):
        found = select_neighbors(crowd, client=client, checkpoint=tmp_path / "rows", **settings)
        assert_same(found, expected)
    assert len(counted) == 1  # the second call had nothing left to do


def count_scattered(client, monkeypatch):
    """Return a list that gets an entry whenever something is sent to the cluster."""
    counted, scatter = [], client.scatter

    def count(*arguments, **settings):
        counted.append(settings)
        return scatter(*arguments, **settings)

    monkeypatch.setattr(client, "scatter", count)
    return counted


@pytest.mark.parametrize("n_victims", [1, 2])
@pytest.mark.usefixtures("way")
def test_neighbors_survive_the_death_of_workers(
    mortals, crowd, die_once, tmp_path, monkeypatch, n_victims
):
    settings = {"n_neighbors": 9, "n_steps": 3, "block_size": 100}
    expected = select_neighbors(crowd, **settings)
    pids = set(mortals.run(os.getpid).values())
    counted = count_scattered(mortals, monkeypatch)
    die_once(mortals, monkeypatch, tmp_path / "died", pids if n_victims == 2 else ())
    checkpoint = tmp_path / "rows"
    assert_same(
        select_neighbors(crowd, client=mortals, checkpoint=checkpoint, **settings), expected
    )
    assert (tmp_path / "died").exists()
    assert len(counted) >= n_victims  # the graph is sent again when nobody has it any more
    assert len(pids & set(mortals.run(os.getpid).values())) == 2 - n_victims
    monkeypatch.undo()
    assert_same(select_neighbors(crowd, checkpoint=checkpoint, **settings), expected)


@pytest.fixture(scope="module")
def table():
    """Related columns, eight of them copies up to sign and three constant."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(401, 157)).cumsum(axis=1)
    X[:, 20:27] = X[:, 130, None] * [1, -1, 2, 1, -3, 1, 1]
    X[:, [0, 77, 156]] = 5.0
    return X


FORMS = {
    "array": lambda X, _: X,
    "sparse": lambda X, _: sp.csr_array(X),
    "lazy": lambda X, _: da.from_array(X, chunks=(100, 33)) * 1.0,
    "kept": lambda X, client: client.persist(da.from_array(X, chunks=(401, 50))),
}


def assert_same_graph(found, expected):
    np.testing.assert_array_equal(found.indptr, expected.indptr)
    np.testing.assert_array_equal(found.indices, expected.indices)
    np.testing.assert_array_equal(found.data, expected.data)


@pytest.mark.filterwarnings("ignore:3 constant column")
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.usefixtures("way")
def test_workers_find_the_same_correlations(client, table, form):
    expected = correlation_graph(table, n_edges=3, tile_size=16)
    X = FORMS[form](table, client)
    assert_same_graph(correlation_graph(X, n_edges=3, tile_size=16, client=client), expected)


@pytest.mark.filterwarnings("ignore:3 constant column")
@pytest.mark.parametrize("settings", [{"n_edges": 60}, {"n_edges": 1, "tile_size": 150}])
def test_workers_find_the_same_without_screening_and_in_one_group(client, table, settings):
    expected = correlation_graph(table, **settings)
    assert_same_graph(correlation_graph(table, client=client, **settings), expected)


@pytest.mark.filterwarnings("ignore:3 constant column")
@pytest.mark.parametrize("form", ["array", "lazy"])
def test_correlations_survive_the_death_of_all_workers(
    mortals, table, form, die_once, tmp_path, monkeypatch
):
    expected = correlation_graph(table, n_edges=3, tile_size=16)
    die_once(mortals, monkeypatch, tmp_path / "died", mortals.run(os.getpid).values())
    X = FORMS[form](table, mortals)
    assert_same_graph(correlation_graph(X, n_edges=3, tile_size=16, client=mortals), expected)
    assert (tmp_path / "died").exists()


def test_a_table_with_infinity_is_refused_by_the_worker_that_finds_it(client):
    X = da.from_array(np.array([[1.0, 2.0], [np.inf, 3.0]]), chunks=1)
    with pytest.raises(ValueError, match="X must hold finite numbers"):
        correlation_graph(X, n_edges=1, client=client)


def test_all_pairs_are_not_for_a_cluster(client, table):
    with pytest.raises(ValueError, match="n_edges must be given with a client"):
        correlation_graph(table, client=client)


def test_data_lost_again_and_again_ends_with_an_error(monkeypatch):
    def lose(*_):
        raise CancelledError

    monkeypatch.setattr("walkconv._cluster.PAUSE", 0.0)
    spread = Spread(None, None)
    monkeypatch.setattr(spread, "_done_while_there", lose)
    with pytest.raises(RuntimeError, match="All workers that had the data were lost, 4 times"):
        list(spread.done(max, range(5)))


def test_what_cannot_be_sent_is_sent_again(client, monkeypatch):
    scatter, failures = client.scatter, [OSError("closed"), OSError("closed again")]

    def fail_first(*arguments, **settings):
        if failures:
            raise failures.pop()
        return scatter(*arguments, **settings)

    monkeypatch.setattr(client, "scatter", fail_first)
    assert list(Spread(client, 3).done(max, [5])) == [(5, 5)]
    assert not failures


def test_an_error_of_a_worker_is_the_caller_s(client):
    def work(content, item):
        raise ArithmeticError(f"no {content} {item}")

    with pytest.raises(ArithmeticError, match="no bread 1"):
        list(Spread(client, "bread").done(work, [1]))


def test_every_item_comes_back_once(client):
    items = [str(number) for number in range(50)]
    two = Spread(client, 2)
    assert dict(two.done(lambda n, item: n * item, items)) == {item: 2 * item for item in items}
    assert list(two.done(lambda n, item: n * item, [])) == []


def test_a_client_and_threads_contradict_each_other(client):
    with pytest.raises(ValueError, match="n_threads must not be given together with a client"):
        select_neighbors(grid_graph((3, 3)), n_neighbors=2, n_threads=2, client=client)


@pytest.mark.parametrize("wrong", ["tcp://127.0.0.1:8786", 2, object])
def test_something_else_than_a_client_is_refused(wrong):
    with pytest.raises(TypeError, match=r"client must be a dask\.distributed\.Client; got"):
        select_neighbors(grid_graph((3, 3)), n_neighbors=2, client=wrong)
    with pytest.raises(TypeError, match=r"client must be a dask\.distributed\.Client; got"):
        correlation_graph(np.eye(3), n_edges=1, client=wrong)


def test_a_cluster_that_cannot_work_is_refused():
    from distributed import Client, LocalCluster

    settings = {"n_workers": 0, "processes": False, "dashboard_address": "127.0.0.1:0"}
    with (
        LocalCluster(**settings) as cluster,
        Client(cluster) as client,
        pytest.raises(ValueError, match="a cluster with workers; it has none"),
    ):
        check_client(client)
    with pytest.raises(ValueError, match="must be connected to a cluster; it is closed"):
        check_client(client)
