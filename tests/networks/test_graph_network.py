"""Networks on a batch of graphs of different sizes."""

import networkx as nx
import numpy as np
import pytest
import torch
from torch import nn

from walkconv import as_graph
from walkconv.networks import (
    Network,
    NetworkPlan,
    build_levels,
    join_graphs,
    parse_architecture,
)
from walkconv.walks import Neighbors

CPU = torch.device("cpu")
GRAPHS = [
    as_graph(nx.path_graph(5)),
    as_graph(nx.empty_graph(1)),
    as_graph(nx.lollipop_graph(5, 4)),
    as_graph(nx.empty_graph(3)),
    as_graph(nx.gn_graph(8, seed=3)),
]
ARCHITECTURES = ["G", "C4-G", "C4-P2-C3-P3-G-FC5", "P4-C3-C2-G", "C4-P2mean-C3-Glog_sum", "C4-Gmax"]


def make(architecture, *, n_channels=2, **settings):
    torch.manual_seed(0)
    layers = parse_architecture(architecture)
    plan = NetworkPlan(
        layers=layers, levels=None, n_channels=n_channels, n_outputs=3, n_neighbors=4, **settings
    )
    return Network(plan).eval()


def batch(architecture, graphs, weighting="rank"):
    layers = parse_architecture(architecture)
    levels = [build_levels(graph, layers, n_neighbors=4, n_steps=2) for graph in graphs]
    x = [np.random.default_rng(g.shape[0]).normal(size=(g.shape[0], 2)) for g in graphs]
    x = [part.astype(np.float32) for part in x]
    return join_graphs(x, levels, 4, CPU, with_scale=weighting == "signed_visits")


@pytest.mark.parametrize("weighting", ["rank", "signed_visits"])
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_a_batch_equals_its_graphs_one_by_one(architecture, weighting):
    network = make(architecture, weighting=weighting)
    together = network(batch(architecture, GRAPHS, weighting))
    alone = torch.cat([network(batch(architecture, [graph], weighting)) for graph in GRAPHS])
    torch.testing.assert_close(together, alone)
    assert len(together.unique(dim=0)) == len(GRAPHS)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_permuting_the_graphs_permutes_the_answer(architecture):
    network = make(architecture)
    order = [3, 0, 4, 2, 1]
    torch.testing.assert_close(
        network(batch(architecture, [GRAPHS[number] for number in order])),
        network(batch(architecture, GRAPHS))[order],
    )


@pytest.mark.parametrize("weighting", ["rank", "signed_visits"])
def test_one_graph_equals_the_network_on_a_table(weighting):
    architecture = "C4-P2-C3-G-FC5"
    layers, graph = parse_architecture(architecture), GRAPHS[2]
    flat = make(architecture, weighting=weighting, normalization=None)
    levels = build_levels(graph, layers, n_neighbors=4, n_steps=2)
    plan = NetworkPlan(
        layers=layers,
        levels=levels,
        n_nodes=graph.shape[0],
        n_channels=2,
        n_outputs=3,
        weighting=weighting,
        normalization=None,
    )
    table = Network(plan).eval()
    for ours, theirs in zip(flat.parameters(), table.parameters(), strict=True):
        theirs.data = ours.data
    given = batch(architecture, [graph], weighting)
    torch.testing.assert_close(flat(given), table(given.x[None]))


def test_gradients_reach_every_weight_and_stay_in_their_graph():
    architecture = "C4-P2-C3-G-FC5"
    network = make(architecture)
    given = batch(architecture, GRAPHS)
    given.x.requires_grad_()
    network(given)[0].sum().backward()
    n_first = GRAPHS[0].shape[0]
    assert given.x.grad[:n_first].abs().sum() > 0
    assert not given.x.grad[n_first:].any()
    assert all(parameter.grad.abs().sum() > 0 for parameter in network.dense.parameters())


@pytest.mark.parametrize("is_training", [True, False])
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_a_forward_pass_makes_no_module(architecture, is_training, monkeypatch):
    network, given = make(architecture).train(is_training), batch(architecture, GRAPHS)

    def refuse(self, *args, **kwargs):
        raise AssertionError(f"{type(self).__name__} was made in a forward pass")

    monkeypatch.setattr(nn.Module, "__init__", refuse)
    assert network(given).shape == (len(GRAPHS), 3)


def test_visits_are_scaled_only_for_a_weighting_that_needs_them(monkeypatch):
    architecture = "C4-P2-C3-G"
    scaled = batch(architecture, GRAPHS, "signed_visits")
    assert [level.scale.shape for level in scaled.levels] == [
        level.index.shape for level in scaled.levels
    ]
    layers = parse_architecture(architecture)
    levels = [build_levels(graph, layers, n_neighbors=4) for graph in GRAPHS]
    x = [np.zeros((graph.shape[0], 2), dtype=np.float32) for graph in GRAPHS]

    def refuse(self):
        raise AssertionError("the visits were read")

    monkeypatch.setattr(Neighbors, "visits", property(refuse), raising=False)
    given = join_graphs(x, levels, 4, CPU)
    assert [level.scale for level in given.levels] == [None, None]
    assert make(architecture)(given).isfinite().all()
    with pytest.raises(AssertionError, match="the visits were read"):
        join_graphs(x, levels, 4, CPU, with_scale=True)


def test_a_readout_must_be_there():
    with pytest.raises(ValueError, match="need a readout: put G before the FC layers"):
        make("C4-FC5")
