"""The two kinds of samples, rows of a table and graphs, and what is made of each."""

from typing import Any

import torch
from torch import nn

from walkconv._checks import check_integer
from walkconv.estimators.columns import keep_columns, learn_columns
from walkconv.estimators.graph_inputs import holds_graphs
from walkconv.estimators.inputs import Rows, refuse_empty_columns
from walkconv.estimators.settings import Settings, check_settings
from walkconv.models.architecture import Convolution, Pooling
from walkconv.models.encoding import NodeEncoding, check_alike, learn_encoding
from walkconv.models.graph_network import GraphNetwork
from walkconv.models.graph_table import GraphTable, Walks
from walkconv.models.shifting import ShiftedTable, shift_sources
from walkconv.models.table import Table

NODEWISE = (Convolution, Pooling)


def learn_samples(
    model: Any, rows: Rows, settings: Settings, seed: int, encoding: NodeEncoding | None = None
) -> None:
    """Learn what comes before any weight: of the columns of a table, or of the nodes of graphs.

    Nodes are encoded as `encoding` says where it is given.
    """
    model.walks_ = walks_of(model)
    if holds_graphs(rows.X):
        if model.order != "visits":
            raise ValueError(
                f"order must be 'visits' where samples are graphs; got {model.order!r}. Each graph "
                "would have a layout of its own, turned its own way."
            )
        samples = rows.X.tolist()
        model.encoding_ = encoding or learn_encoding(samples, standardize=model.standardize)
        check_alike(samples, model.encoding_.known)
        model.scaling_ = None
        keep_columns(model, None, [])
    else:
        model.encoding_ = None
        refuse_empty_columns(model, rows.X)
        learn_columns(model, rows, settings, seed)


def make_table(model: Any, X: Any, device: torch.device, clip: float | None) -> Table | GraphTable:
    """Return checked samples as batches that the networks of a model take."""
    if model.encoding_ is None:
        return Table(X, model.scaling_, clip, device)
    return GraphTable(X, model.encoding_, model.walks_, device)


def make_training_table(model: Any, X: Any, device: torch.device) -> Table | GraphTable:
    """Return the training samples, shifted along the layout where that was asked for."""
    if not model.shift or model.positions_ is None:
        return make_table(model, X, device, model.clip)
    if model.neighbors_ is None:
        raise ValueError(
            "shift moves rows along the neighbours of the columns: the architecture must begin "
            f"with a C layer; got {model.architecture!r}."
        )
    sources = shift_sources(model.neighbors_, model.positions_.shape[1], model.shift)
    return ShiftedTable(X, model.scaling_, model.clip, device, sources=sources)


def make_graph_network(model: Any) -> nn.Module:
    """Return a new network for samples that are graphs."""
    settings = check_settings(model)
    return GraphNetwork(
        settings.layers,
        n_channels=model.encoding_.n_channels,
        n_outputs=model._n_outputs,
        n_neighbors=model.walks_.n_neighbors,
        **settings.network,
    )


def walks_of(model: Any) -> Walks:
    """Return how the settings of a model find and use the neighbours of a node."""
    layers = [layer for layer in check_settings(model).layers if isinstance(layer, NODEWISE)]
    n_neighbors = check_integer(model.n_neighbors, "n_neighbors", minimum=1)
    return Walks(tuple(layers), n_neighbors, model.n_steps, model.order, model.weighting)


def check_same_walks(model: Any) -> None:
    """Refuse to go on from a fit that was made with other neighbours."""
    if walks_of(model) != model.walks_:
        raise ValueError(
            "warm_start needs the C and P layers, n_neighbors, n_steps, order and weighting of the "
            "first fit; they have changed. Set warm_start=False to start anew."
        )
