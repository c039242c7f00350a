"""What the workers of a dask cluster do is what threads do, bit for bit, whoever dies meanwhile."""

import os
import signal

import numpy as np
import pytest
import scipy.sparse as sp

from walkconv import grid_graph, select_neighbors
from walkconv._cluster import check_client, done_on_cluster

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def client():
    from distributed import Client, LocalCluster

    settings = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0"}
    with LocalCluster(processes=True, **settings) as cluster, Client(cluster) as client:
        yield client


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


def assert_same(found, expected):
    np.testing.assert_array_equal(found.index, expected.index)
    np.testing.assert_array_equal(found.visits, expected.visits)
    np.testing.assert_array_equal(found.sign, expected.sign)


@pytest.mark.parametrize("method", ["sparse", "blocked", "dense"])
@pytest.mark.parametrize(
    "settings", [{"n_steps": 2}, {"n_steps": 3, "ties": "random", "random_state": 3}]
)
def test_workers_select_the_same_neighbors(client, crowd, method, settings):
    expected = select_neighbors(crowd, n_neighbors=9, method=method, **settings)
    found = select_neighbors(crowd, n_neighbors=9, method=method, client=client, **settings)
    assert_same(found, expected)


def test_dense_products_are_the_same_to_the_last_bit(client):
    settings = {"n_neighbors": 12, "n_steps": 3, "method": "blocked"}
    expected = select_neighbors(dense_graph(), **settings)
    assert_same(select_neighbors(dense_graph(), client=client, **settings), expected)


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
    """Return a list that gets an entry whenever something is sent to all workers."""
    counted, scatter = [], client.scatter

    def count(*arguments, **settings):
        counted.append(settings)
        return scatter(*arguments, **settings)

    monkeypatch.setattr(client, "scatter", count)
    return counted


def killer(pids):
    """Return a function that kills these processes and its own, which comes last.

    Being local it is sent to the workers as code: they cannot import this file.
    """

    def kill():
        for pid in [*(set(pids) - {os.getpid()}), os.getpid()]:
            os.kill(pid, signal.SIGKILL)

    return kill


def die_once(monkeypatch, marker, others):
    """Let the third task that starts kill its worker, and others: the rest is for their heirs."""
    kill = killer(others)

    def call(work, item):
        with marker.open("a") as file:
            file.write(".")
        if marker.stat().st_size == 3:
            kill()
        return work(item)

    monkeypatch.setattr("walkconv._cluster._call", call)


@pytest.mark.parametrize("n_victims", [1, 2])
def test_neighbors_survive_the_death_of_workers(client, crowd, tmp_path, monkeypatch, n_victims):
    client.wait_for_workers(2)
    settings = {"n_neighbors": 9, "n_steps": 3, "block_size": 100}
    expected = select_neighbors(crowd, **settings)
    pids = set(client.run(os.getpid).values())
    counted = count_scattered(client, monkeypatch)
    die_once(monkeypatch, tmp_path / "started", pids if n_victims == 2 else ())
    checkpoint = tmp_path / "rows"
    assert_same(select_neighbors(crowd, client=client, checkpoint=checkpoint, **settings), expected)
    assert len(counted) == n_victims  # the graph is sent again when nobody has it any more
    client.wait_for_workers(2)
    assert len(pids & set(client.run(os.getpid).values())) == 2 - n_victims
    monkeypatch.undo()
    assert_same(select_neighbors(crowd, checkpoint=checkpoint, **settings), expected)


def test_work_that_kills_every_worker_ends_with_an_error(client, monkeypatch):
    client.wait_for_workers(2)
    monkeypatch.setattr("walkconv._cluster.MOST_LOSSES", 0)
    kill = killer(client.run(os.getpid).values())
    with pytest.raises(RuntimeError, match="lost 1 times in a row"):
        list(done_on_cluster(client, lambda _: kill(), range(5)))
    client.wait_for_workers(2)


def test_an_error_of_a_worker_is_the_caller_s(client):
    def work(item):
        raise ArithmeticError(f"no {item}")

    with pytest.raises(ArithmeticError, match="no 1"):
        list(done_on_cluster(client, work, [1]))


def test_every_item_comes_back_once(client):
    items = [str(number) for number in range(50)]
    found = dict(done_on_cluster(client, lambda item: 2 * item, items))
    assert found == {item: item + item for item in items}
    assert list(done_on_cluster(client, len, [])) == []


def test_a_client_and_threads_contradict_each_other(client):
    with pytest.raises(ValueError, match="n_threads must not be given together with a client"):
        select_neighbors(grid_graph((3, 3)), n_neighbors=2, n_threads=2, client=client)


@pytest.mark.parametrize("wrong", ["tcp://127.0.0.1:8786", 2, object])
def test_something_else_than_a_client_is_refused(wrong):
    with pytest.raises(TypeError, match=r"client must be a dask\.distributed\.Client; got"):
        select_neighbors(grid_graph((3, 3)), n_neighbors=2, client=wrong)


def test_a_cluster_that_cannot_work_is_refused():
    from distributed import Client, LocalCluster

    settings = {"n_workers": 0, "processes": False, "dashboard_address": "127.0.0.1:0"}
    with (
        LocalCluster(**settings) as cluster,
        Client(cluster) as client,
        pytest.raises(ValueError, match="a cluster with workers; there are none"),
    ):
        check_client(client)
    with pytest.raises(ValueError, match="must be connected to a cluster; it is closed"):
        check_client(client)
