"""Node features and node types become channels."""

import networkx as nx
import numpy as np

from walkconv import GraphSample
from walkconv.estimators.encoding import learn_encoding


def test_a_number_that_is_the_same_at_every_node_becomes_zero():
    ring = GraphSample(nx.cycle_graph(3001))  # without node features the degree counts
    np.testing.assert_array_equal(learn_encoding([ring]).encode(ring), np.zeros((3001, 1)))
