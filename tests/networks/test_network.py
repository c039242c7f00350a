import numpy as np
import pytest
import torch
from torch import nn

from walkconv import GraphPool, correlation_graph, grid_graph
from walkconv.networks import (
    Network,
    NetworkPlan,
    Pooling,
    build_levels,
    count_parameters,
    parse_architecture,
)

GRID = grid_graph((3, 4))


def network(architecture, graph=GRID, n_neighbors=5, **settings):
    layers = parse_architecture(architecture)
    levels = [] if graph is None else build_levels(graph, layers, n_neighbors=n_neighbors)
    plan = {"layers": layers, "levels": levels, "n_nodes": 12, "n_outputs": 3}
    return Network(NetworkPlan(**plan | settings))


@pytest.mark.parametrize(
    ("architecture", "n_parameters"),
    [
        ("", 7_180),
        ("C20", 143_550),
        ("C20-C20", 145_970),
        ("C20-FC512", 7_347_862),
        ("FC512-FC512", 635_402),
    ],
)
def test_parameters_are_those_of_the_paper(architecture, n_parameters):
    table = np.random.default_rng(0).normal(size=(20, 717))
    graph = correlation_graph(table, n_edges=8)
    sizes = {"n_nodes": 717, "n_outputs": 10, "normalization": None}
    assert count_parameters(network(architecture, graph, 6, **sizes)) == n_parameters


@pytest.mark.parametrize(
    "architecture", ["", "C4", "FC6", "C4-C5", "C4-FC6-FC7", "P4", "C4-P3", "P2x2-C5-P2-FC7"]
)
@pytest.mark.parametrize("n_channels", [1, 3])
def test_samples_become_outputs(architecture, n_channels):
    made = network(architecture, n_channels=n_channels)
    assert made(torch.randn(7, 12, n_channels)).shape == (7, 3)


def test_by_hand():
    made = network("C4-FC6", normalization=None)
    x = torch.randn(5, 12, 1)
    nodes = made.convolutions[0](x).relu().flatten(1)
    first, last = (layer for layer in made.dense if isinstance(layer, nn.Linear))
    torch.testing.assert_close(made(x), last(first(nodes).relu()))


@pytest.mark.parametrize(
    "architecture", ["C4", "C4-P4", "C4-P4mean", "C3-P2-C4-P2", "C3-P2mean-C4-P2mean"]
)
def test_nodes_are_dropped_whole_and_after_the_pooling(architecture):
    made = network(architecture, normalization=None, conv_dropout=0.5)
    if len(made.convolutions) == 2:  # what follows the first dropout does not show it
        nn.init.zeros_(made.convolutions[1].weight)
        nn.init.ones_(made.convolutions[1].bias)
    made.readout = made.dense = nn.Identity()
    x = torch.randn(50, 12, 1)
    kept, hidden = made.eval()(x), made.train()(x)
    is_dropped = (hidden == 0).all(dim=2, keepdim=True)
    torch.testing.assert_close(hidden, torch.where(is_dropped, 0, 2 * kept))
    assert 0.3 < is_dropped.float().mean() < 0.7


@pytest.mark.parametrize("pooling", ["max", "mean"])
def test_by_hand_with_pooling(pooling):
    made = network(f"C4-P4{pooling}-C5-FC6", normalization=None)
    first, second = made.convolutions
    levels = build_levels(GRID, parse_architecture("C4-P4-C5"), n_neighbors=5)
    pool = GraphPool(levels[0].groups, reduce=pooling)
    x = torch.randn(5, 12, 1)
    nodes = second(pool(first(x).relu())).relu().flatten(1)
    hidden, last = (layer for layer in made.dense if isinstance(layer, nn.Linear))
    torch.testing.assert_close(made(x), last(hidden(nodes).relu()))


def test_normalization_of_convolutions_is_over_samples_and_nodes():
    made = network("C4-P4").train()
    x = torch.randn(50, 12, 1)
    values = made.convolutions[0](x)
    mean, deviation = values.mean(dim=(0, 1)), values.std(dim=(0, 1), correction=0)
    expected = (values - mean) / deviation
    torch.testing.assert_close(made.nodewise[0](x), expected, atol=1e-3, rtol=1e-3)


def test_a_subclass_puts_another_convolution_on_every_level():
    class Plain(Network):
        def make_convolution(self, c_in, c_out, level):
            assert level.graph is not None
            return nn.Linear(c_in, c_out)

    layers = parse_architecture("C4-P4-C5")
    levels = build_levels(GRID, layers, n_neighbors=5)
    made = Plain(NetworkPlan(layers=layers, levels=levels, n_nodes=12, n_outputs=3))
    assert [type(layer) for layer in made.convolutions] == [nn.Linear] * 2
    x = torch.randn(6, 12, 1)
    x[1, 3] = torch.nan
    assert made(x, x.isnan()).isfinite().all()


def test_no_layer_is_a_linear_model():
    made = network("", graph=None)
    x = torch.randn(4, 12, 1)
    torch.testing.assert_close(made(x) - made(0 * x), made(2 * x) - made(x))


def test_batch_normalization_is_on_dense_layers_and_with_pooling_on_convolutions():
    kinds = [type(layer) for layer in network("C4-FC6-FC7").modules()]
    assert kinds.count(nn.BatchNorm1d) == 2
    kinds = [type(layer) for layer in network("C4-P4-C5-FC6").modules()]
    assert kinds.count(nn.BatchNorm1d) == 3
    assert nn.BatchNorm1d not in [type(m) for m in network("C4-FC6", normalization=None).modules()]


@pytest.mark.parametrize("architecture", ["FC6", "P4-C2"])
def test_missing_values_count_as_zero_unless_a_convolution_comes_first(architecture):
    made = network(architecture).eval()
    x = torch.randn(4, 12, 1)
    x[1, 3] = x[2, 5] = torch.nan
    torch.testing.assert_close(made(x, x.isnan()), made(x.nan_to_num()))


def test_missing_values_are_filled_by_neighbors_with_a_convolution():
    made = network("C4-FC6").eval()
    x = torch.randn(4, 12, 1)
    x[1, 3] = torch.nan
    outputs = made(x, x.isnan())
    assert outputs.isfinite().all()
    assert not torch.allclose(outputs[1], made(x.nan_to_num())[1])
    torch.testing.assert_close(outputs[0], made(x)[0])


def test_weighting_reaches_every_convolution():
    made = network("C4-C5", weighting="signed_visits")
    assert [layer.weighting for layer in made.convolutions] == ["signed_visits"] * 2


@pytest.mark.parametrize(
    ("architecture", "graph", "settings", "message"),
    [
        ("C4", None, {}, "need a level of 12 nodes from build_levels; got none"),
        ("P4", None, {}, "need a level of 12 nodes from build_levels; got none"),
        ("C4", GRID, {"n_nodes": 11}, "a level of 11 nodes from build_levels; got one of 12"),
        ("P4", GRID, {"layers": [Pooling((4,), "sum")]}, "reduce must be one of 'max', 'mean'"),
        ("C4", GRID, {"normalization": "layer"}, "normalization must be one of 'batch'"),
        ("C4", GRID, {"n_outputs": 0}, "n_outputs must be at least 1"),
    ],
)
def test_bad_settings(architecture, graph, settings, message):
    with pytest.raises(ValueError, match=message):
        network(architecture, graph, **settings)


@pytest.mark.parametrize("architecture", ["C999999999", "FC999999999", "C999-P2-FC999999999"])
def test_layers_that_no_memory_holds_are_refused_before_they_are_made(architecture):
    layer = architecture.split("-")[-1]
    with pytest.raises(
        ValueError, match=rf"fit into the memory, .*{layer} \(.*GiB.*Give the layers"
    ):
        network(architecture)


def test_the_output_layer_must_fit_into_memory_too(monkeypatch):
    monkeypatch.setattr("os.sysconf", lambda name: 100)
    with pytest.raises(ValueError, match=r"those of the output layer \(2 x 1200\)"):
        network("", n_outputs=2, n_channels=100)
