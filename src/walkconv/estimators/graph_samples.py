"""Samples that are graphs: how they are read, encoded and put into batches."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal
from weakref import WeakKeyDictionary

import numpy as np
import scipy.sparse as sp
import torch

from walkconv._checks import describe
from walkconv._samples import GraphSample, as_samples, kind_of_samples
from walkconv.estimators.encoding import NodeEncoding, check_alike, learn_encoding
from walkconv.estimators.samples import Arrays, Learned, Lesson
from walkconv.estimators.settings import Settings
from walkconv.networks.architecture import Layer, format_architecture
from walkconv.networks.graph_batch import GraphBatch, join_graphs
from walkconv.networks.levels import Level, build_levels, under
from walkconv.networks.network import NetworkPlan
from walkconv.walks import refine_colors

COLORING_STEPS = 2
"""Length of the walk that tells nodes apart where each graph chooses its own n_steps."""


@dataclass(frozen=True, eq=False)
class GraphSamples:
    """Graphs, one for each sample."""

    kind: ClassVar[str] = "graphs"
    graphs: list[GraphSample]

    @classmethod
    def read(cls, X: Any) -> "GraphSamples":
        """Return checked graphs to learn from."""
        graphs = as_samples(X)
        if len(graphs) < 2:
            raise ValueError(f"There must be at least two graphs; got {len(graphs)}.")
        return cls(graphs)

    def __len__(self) -> int:
        return len(self.graphs)

    @property
    def sizes(self) -> list[int]:
        """Number of nodes of each graph."""
        return [graph.n_nodes for graph in self.graphs]

    @property
    def is_lazy(self) -> bool:
        """False: graphs are in memory."""
        return False

    def take(self, rows: np.ndarray) -> "GraphSamples":
        """Return some of the graphs."""
        return GraphSamples([self.graphs[row] for row in rows])

    def in_memory(self, settings: Settings, seed: int) -> tuple[np.ndarray, "GraphSamples"]:
        """Return the graphs with their numbers."""
        return np.arange(len(self)), self

    def read_like(self, X: Any) -> "GraphSamples":
        """Return checked graphs to validate on."""
        if kind_of_samples(X) != "graphs":
            raise ValueError(
                "validation_data must hold a list of graphs, as the training samples do; "
                "got a table."
            )
        return GraphSamples(as_samples(X))

    def parts(self) -> list[Any]:
        """Return the arrays of all graphs."""
        return [part for each in self.graphs for part in (each.graph, each.x, each.tags)]

    def learn(self, lesson: Lesson, like: Learned | None) -> "Nodes":
        """Return how the nodes become channels."""
        settings = lesson.settings
        if settings.order != "visits":
            raise ValueError(
                f"order must be 'visits' if samples are graphs; got {settings.order!r}. Each graph "
                "would have its own layout, turned its own way."
            )
        if settings.graph_source in ("callable", "given"):
            raise ValueError(
                "graph must be left at its default if samples are graphs: each sample brings its "
                f"own. Got {describe(settings.graph)}."
            )
        if settings.standardize == "relevance":
            raise ValueError(
                "standardize='relevance' is for the columns of a table; samples are graphs. Use "
                "True or False."
            )
        if like is not None and not isinstance(like, Nodes):
            raise ValueError(
                "Filters learned on a table move to a table, those learned on graphs to graphs."
            )
        if like is None:
            encoding = learn_encoding(self.graphs, standardize=settings.standardize)
        else:
            encoding = like.encoding
            check_alike(self.graphs, encoding.known)
        return Nodes.of(encoding, settings)


@dataclass(frozen=True, eq=False)
class Nodes:
    """What is learned about the nodes of graphs before any weight.

    Attributes
    ----------
    encoding : NodeEncoding
        How node features become channels.
    layers : tuple of Convolution and Pooling
    n_neighbors, n_steps
        How the neighbours in every graph are found.
    with_scale : bool
        Whether the convolutions use signed visits.
    """

    kind: ClassVar[str] = "graphs"
    encoding: NodeEncoding
    layers: tuple[Layer, ...]
    n_neighbors: int
    n_steps: int | Literal["auto"]
    with_scale: bool

    @classmethod
    def of(cls, encoding: NodeEncoding, settings: Settings) -> "Nodes":
        """Return the record of an encoding under some settings."""
        with_scale = settings.weighting == "signed_visits"
        return cls(encoding, settings.nodewise, settings.n_neighbors, settings.n_steps, with_scale)

    def read(self, X: Any) -> GraphSamples:
        """Return checked graphs with the node features of the fit."""
        if kind_of_samples(X) != "graphs":
            raise ValueError("X must be a list of graphs, as in fit; got a table.")
        return GraphSamples(as_samples(X))

    def check(self, samples: GraphSamples, name: str = "X") -> None:
        """Refuse graphs with other node features."""
        check_alike(samples.graphs, self.encoding.known)

    def plan(self, settings: Settings, n_outputs: int) -> NetworkPlan:
        """Return the plan of a network whose batches bring the neighbours of their graphs."""
        return NetworkPlan(
            layers=settings.layers,
            n_channels=self.encoding.n_channels,
            n_outputs=n_outputs,
            levels=None,
            n_neighbors=self.n_neighbors,
            weighting=settings.weighting,
            normalization=settings.normalization,
            dropout=settings.dropout,
            conv_dropout=settings.conv_dropout,
            conv_dropped=settings.conv_dropped,
        )

    def batches(self, samples: GraphSamples, device: torch.device) -> "GraphBatches":
        """Return the graphs as batches."""
        return GraphBatches(samples.graphs, self, device)

    def training_batches(self, samples: GraphSamples, settings: Settings) -> "GraphBatches":
        """Return the graphs as batches."""
        return self.batches(samples, settings.device)

    def attributes(self) -> dict[str, Any]:
        """Return the fitted attributes of the estimator."""
        return {
            "encoding_": self.encoding,
            "scaling_": None,
            "table_encoding_": None,
            "node_names_": None,
            "graph_": None,
            "levels_": [],
            "neighbors_": None,
            "orientation_": None,
            "positions_": None,
        }

    def input_names(self) -> list[str]:
        """Return the names of the node features: of each node type and each number."""
        encoding = self.encoding
        numbers = [f"x {number}" for number in range(len(encoding.mean))]
        return [f"tag {tag}" for tag in encoding.tags] + (
            ["degree"] if encoding.uses_degree else numbers
        )

    def by_input(self, shares: np.ndarray) -> np.ndarray:
        """Return the shares (n_channels,) of the node features, summed over the nodes."""
        return shares.sum(axis=0)

    def neighborhoods(self) -> sp.csr_array:
        """Refuse: node features have no neighbours."""
        raise ValueError(
            "by='neighborhood' needs a table: the features of nodes have no neighbours. Use "
            "by='column'."
        )

    def list_shares(self, samples: GraphSamples, shares: list[np.ndarray]) -> Arrays:
        """Return the share of every node, in the order of its graph, with a row for each."""
        attribution = []
        for graph, part in zip(samples.graphs, shares, strict=True):
            order, _ = _prepare(graph, self)
            of_nodes = np.empty(len(part))
            of_nodes[order] = part.sum(axis=1)
            attribution.append(of_nodes)
        return {
            "sample": np.repeat(np.arange(len(samples)), samples.sizes),
            "node": np.concatenate([np.arange(size) for size in samples.sizes]),
            "attribution": np.concatenate(attribution),
        }

    def to_arrays(self) -> tuple[Arrays, dict[str, Any]]:
        """Return the encoding, for a file; the settings hold the rest."""
        arrays = {f"encoding.{name}": array for name, array in self.encoding.to_arrays().items()}
        return arrays, {"uses_degree": self.encoding.uses_degree}

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, np.ndarray], plain: Mapping[str, Any], settings: Settings
    ) -> "Nodes":
        """Return the record that `to_arrays` wrote, checked."""
        encoding = NodeEncoding.from_arrays(under("encoding.", arrays), plain["uses_degree"])
        return cls.of(encoding, settings)


class GraphBatches:
    """Graphs that are joined to batches when they are asked for.

    The nodes of each graph are put into an order that its structure and node types decide, so that
    their numbering does not matter. Pooling may still group a graph in which many nodes look alike
    in one of several ways, and signs of edges are ignored. The levels of a graph are kept as long
    as the graph: cross-validation prepares each graph once.
    """

    def __init__(self, graphs: Sequence[GraphSample], nodes: Nodes, device: torch.device):
        self.nodes, self.device = nodes, device
        self.levels, self.x = [], []
        for sample in graphs:
            order, levels = _prepare(sample, nodes)
            self.levels.append(levels)
            self.x.append(nodes.encoding.encode(sample)[order])

    def __len__(self) -> int:
        return len(self.x)

    def shuffled(self) -> np.ndarray:
        """Return the numbers (n_samples,) of all graphs in a random order."""
        return torch.randperm(len(self)).numpy()

    def batch(self, rows: np.ndarray | slice) -> tuple[GraphBatch]:
        """Return some of the graphs as one batch."""
        numbers = np.arange(len(self))[rows]
        x, levels = ([part[number] for number in numbers] for part in (self.x, self.levels))
        nodes = self.nodes
        return (
            join_graphs(x, levels, nodes.n_neighbors, self.device, with_scale=nodes.with_scale),
        )


_PREPARED: WeakKeyDictionary[GraphSample, dict] = WeakKeyDictionary()


def _prepare(sample: GraphSample, nodes: Nodes) -> tuple[np.ndarray, list[Level]]:
    """Return the order of the nodes (n_nodes,) and the levels of the graph in that order."""
    known = _PREPARED.setdefault(sample, {})
    key = format_architecture(nodes.layers), nodes.n_neighbors, nodes.n_steps
    if key not in known:
        n_steps = COLORING_STEPS if nodes.n_steps == "auto" else nodes.n_steps
        order = np.argsort(refine_colors(sample.graph, _colors(sample), n_steps=n_steps))
        graph = sp.csr_array(sample.graph[order][:, order])
        graph.sort_indices()
        levels = build_levels(
            graph, nodes.layers, n_neighbors=nodes.n_neighbors, n_steps=nodes.n_steps
        )
        known[key] = order, levels
    return known[key]


def _colors(sample: GraphSample) -> np.ndarray:
    """Return what tells nodes apart before any walk, (n_nodes, n_columns)."""
    given = [part for part in (sample.tags, sample.x) if part is not None]
    return np.column_stack(given or [np.diff(sample.graph.indptr)])
