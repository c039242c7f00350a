"""Tables of a graph in a layer: nothing that happens to the layer loses their values."""

import copy
import pickle

import numpy as np
import pytest
import torch
from torch import nn

from walkconv import GraphConv, GraphPool, select_neighbors
from walkconv.layers import largest

GROUPS = np.array([2, 0, 2, 1, 2])
LAYERS = {
    "ranks": lambda neighbors, **where: GraphConv(2, 3, neighbors, **where),
    "visits": lambda neighbors, **where: GraphConv(
        2, 3, neighbors, weighting="signed_visits", **where
    ),
    "largest": lambda neighbors: GraphPool(GROUPS),
    "mean": lambda neighbors: GraphPool(GROUPS, reduce="mean"),
}
X = torch.randn(4, 5, 2, generator=torch.Generator().manual_seed(0))


@pytest.fixture
def neighbors(lopsided):
    return select_neighbors(lopsided, n_neighbors=3, n_steps=2)


@pytest.fixture(params=LAYERS)
def make(request, neighbors):
    """Return a function that makes the layer, wherever torch is told to."""
    return lambda **where: LAYERS[request.param](neighbors, **where)


def emptied(layer):
    return layer.to("meta").to_empty(device="cpu")


def test_a_layer_that_was_emptied_needs_its_filters_alone(make):
    layer = make()
    for other in (emptied(make()), make().to_empty(device="cpu")):
        other.load_state_dict(layer.state_dict())
        assert torch.equal(other(X), layer(X))


def test_an_emptied_model_is_made_whole_by_new_filters(neighbors):
    model = emptied(nn.Sequential(GraphConv(2, 3, neighbors), GraphPool(GROUPS)))
    torch.manual_seed(0)
    model[0].reset_parameters()
    torch.manual_seed(0)
    expected = nn.Sequential(GraphConv(2, 3, neighbors), GraphPool(GROUPS))(X)
    assert torch.equal(model(X), expected)


@pytest.mark.parametrize("assign", [False, True])
def test_a_layer_built_without_memory_needs_its_filters_alone(make, assign):
    layer = make().double()
    with torch.device("meta"):
        built = make()
    if not assign:
        built = built.to_empty(device="cpu").double()
    built.load_state_dict(layer.state_dict(), assign=assign)
    assert torch.equal(built(X.double()), layer(X.double()))


@pytest.mark.parametrize("weighting", ["rank", "signed_visits"])
def test_a_convolution_told_to_be_without_memory(neighbors, weighting):
    layer = GraphConv(2, 3, neighbors, weighting=weighting)
    built = GraphConv(2, 3, neighbors, weighting=weighting, device="meta")
    assert built.weight.is_meta
    built.load_state_dict(layer.state_dict(), assign=True)
    assert torch.equal(built(X), layer(X))


def test_without_memory_a_layer_tells_the_shape(make):
    expected = make()(X).shape
    found = make().to("meta")(X.to("meta"))
    assert found.is_meta
    assert found.shape == expected


def test_without_memory_values_may_be_missing(neighbors):
    layer = GraphConv(2, 3, neighbors).to("meta")
    x = X.to("meta")
    assert layer(x, missing=x.isnan()).shape == (4, 5, 3)


def test_tables_are_not_copied_on_the_way(make):
    layer = make()
    before = dict(layer.named_buffers())
    after = dict(emptied(layer).named_buffers())
    assert before
    assert all(after[name] is table for name, table in before.items())


def test_tables_follow_the_type_of_the_layer_and_are_shared_with_it(neighbors):
    layer = GraphConv(2, 3, neighbors, weighting="signed_visits")
    assert layer.to("meta", torch.float64).scale.dtype == torch.float64
    layer = layer.to_empty(device="cpu")
    assert layer.scale.dtype == torch.float64
    assert layer.half().scale.dtype == torch.float16
    assert layer.index.dtype == torch.int64
    assert all(table.is_shared() for table in layer.share_memory().buffers())


def test_copies_of_an_emptied_layer_have_tables_of_their_own(make):
    layer = emptied(make())
    for parameter in layer.parameters():
        nn.init.ones_(parameter)
    expected = layer(X)
    for other in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert torch.equal(other(X), expected)
        assert {*other.state_dict()} == {*layer.state_dict()} <= {"weight", "bias"}
        for name, table in other.named_buffers():
            assert table.data_ptr() != layer.get_buffer(name).data_ptr()


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("member", [0, 1, 2, 3, 10**9], "between 0 and 4; got 1000000000. The table was changed"),
        ("member", [0, 1, 2, 3, -1], "between 0 and 4; got -1"),
        ("start", [0, 1, 2, 10**9], r"number of nodes \(5\); got 0 to 1000000000 with"),
        ("start", [1, 2, 3, 5], "got 1 to 5"),
        ("start", [0, 3, 2, 5], "got 0 to 5 with a step of -1"),
        ("start", [0, 2, 2, 5], "with a step of 0. The table was changed: make the layer again"),
    ],
)
def test_groups_changed_by_hand_are_refused(each_engine, name, values, message):
    pool = GraphPool(GROUPS)
    pool(X)
    pool.get_buffer(name).copy_(torch.tensor(values))
    with pytest.raises(IndexError, match=message):
        pool(X)


@pytest.mark.parametrize("name", ["start", "member"])
def test_groups_put_in_place_of_others_are_refused(name):
    pool = GraphPool(GROUPS)
    pool(X)
    setattr(pool, name, torch.full_like(pool.get_buffer(name), 10**9))
    with pytest.raises(IndexError, match="make the layer again"):
        pool(X)


def test_groups_are_looked_at_once(monkeypatch):
    seen = []
    look = largest._largest_group

    def count(*tables):
        seen.append(tables)
        return look(*tables)

    monkeypatch.setattr(largest, "_largest_group", count)
    pool = GraphPool(GROUPS)
    for x in (X, X.requires_grad_(), X.double()):
        pool(x)
    assert len(seen) == 1
    with torch.inference_mode():
        made_here = GraphPool(GROUPS)
        made_here(X)
        made_here(X)
    assert len(seen) == 3
