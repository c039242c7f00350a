"""Networks on a batch of graphs of different sizes."""

import networkx as nx
import numpy as np
import pytest
import torch

from walkconv import GraphSample, as_graph
from walkconv.models import (
    GraphNetwork,
    Network,
    build_levels,
    join_graphs,
    learn_encoding,
    parse_architecture,
)

CPU = torch.device("cpu")
GRAPHS = [
    as_graph(nx.path_graph(5)),
    as_graph(nx.empty_graph(1)),
    as_graph(nx.lollipop_graph(5, 4)),
    as_graph(nx.empty_graph(3)),
    as_graph(nx.gn_graph(8, seed=3)),
]
ARCHITECTURES = ["G", "C4-G", "C4-P2-C3-P3-G-FC5", "P4-C3-C2-G"]


def make(architecture, *, n_channels=2, **settings):
    torch.manual_seed(0)
    layers = parse_architecture(architecture)
    return GraphNetwork(
        layers, n_channels=n_channels, n_outputs=3, n_neighbors=4, **settings
    ).eval()


def batch(architecture, graphs, *, fill=None):
    layers = parse_architecture(architecture)
    levels = [build_levels(graph, layers, n_neighbors=4, n_steps=2) for graph in graphs]
    x = [np.random.default_rng(g.shape[0]).normal(size=(g.shape[0], 2)) for g in graphs]
    return join_graphs([part.astype(np.float32) for part in x], levels, 4, CPU)


@pytest.mark.parametrize("weighting", ["rank", "signed_visits"])
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_a_batch_equals_its_graphs_one_by_one(architecture, weighting):
    network = make(architecture, weighting=weighting)
    together = network(batch(architecture, GRAPHS))
    alone = torch.cat([network(batch(architecture, [graph])) for graph in GRAPHS])
    torch.testing.assert_close(together, alone)
    assert len(together.unique(dim=0)) == len(GRAPHS)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_permuting_the_graphs_permutes_the_answer(architecture):
    network = make(architecture)
    order = [3, 0, 4, 2, 1]
    torch.testing.assert_close(
        network(batch(architecture, [GRAPHS[place] for place in order])),
        network(batch(architecture, GRAPHS))[order],
    )


@pytest.mark.parametrize("weighting", ["rank", "signed_visits"])
def test_one_graph_equals_the_network_on_a_table(weighting):
    architecture = "C4-P2-C3-G-FC5"
    layers, graph = parse_architecture(architecture), GRAPHS[2]
    flat = make(architecture, weighting=weighting, normalization=None)
    levels = build_levels(graph, layers, n_neighbors=4, n_steps=2)
    table = Network(
        layers,
        levels,
        n_nodes=graph.shape[0],
        n_channels=2,
        n_outputs=3,
        weighting=weighting,
        normalization=None,
    ).eval()
    for ours, theirs in zip(flat.parameters(), table.parameters(), strict=True):
        theirs.data = ours.data
    given = batch(architecture, [graph])
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


def test_a_number_that_is_the_same_at_every_node_becomes_zero():
    ring = GraphSample(nx.cycle_graph(3001))  # of its nodes the degree is known
    np.testing.assert_array_equal(learn_encoding([ring]).encode(ring), np.zeros((3001, 1)))


def test_a_readout_must_be_there():
    with pytest.raises(ValueError, match="need a readout: put G before the FC layers"):
        make("C4-FC5")
