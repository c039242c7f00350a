"""Filters that move from one model to another."""

from collections.abc import Sequence
from typing import Any

from torch import nn

from walkconv._checks import check_option
from walkconv.estimators.graph_inputs import holds_graphs
from walkconv.models.encoding import NodeEncoding

HEAD = "dense."
"""What comes after the nodes belongs to the columns and does not move."""


class Filters:
    """What the layers before the head of trained networks have learned.

    Parameters
    ----------
    modules : sequence of Module
        The members of a model.
    encoding : NodeEncoding or None
        How the model encodes the nodes of graphs; None where it was fitted on a table.
    treatment : "frozen" or "tuned"
        Whether they stay as they are in the networks that get them.
    """

    def __init__(self, modules: Sequence[nn.Module], encoding: NodeEncoding | None, treatment: str):
        self.encoding = encoding
        self.treatment = check_option(treatment, "filters", ["frozen", "tuned"])
        self.members = [
            {k: v for k, v in module.state_dict().items() if not k.startswith(HEAD)}
            for module in modules
        ]
        if not any("weight" in name for name in self.members[0]):
            raise ValueError("There are no filters to move: the architecture has no C layers.")

    def encoding_for(self, X: Any) -> NodeEncoding | None:
        """Return the encoding that the filters were learned with, for samples of the same kind."""
        if holds_graphs(X) != (self.encoding is not None):
            raise ValueError(
                "Filters learned on a table move to a table, those learned on graphs to graphs."
            )
        return self.encoding

    def put_into(self, networks: Sequence[nn.Module]) -> None:
        """Give each network the filters of a member, the first again when they run out."""
        for place, network in enumerate(networks):
            given = self.members[place % len(self.members)]
            _check_fit(given, network)
            network.load_state_dict(given, strict=False)
            for name, parameter in network.named_parameters():
                parameter.requires_grad_(name not in given or self.treatment == "tuned")


def _check_fit(given: dict, network: nn.Module) -> None:
    wanted = {k: v for k, v in network.state_dict().items() if not k.startswith(HEAD)}
    for name in given.keys() | wanted.keys():
        shapes = [tuple(part[name].shape) if name in part else None for part in (given, wanted)]
        if shapes[0] != shapes[1]:
            raise ValueError(
                f"The filters must fit the new table: {name} has shape {shapes[0]} and would need "
                f"{shapes[1]}. It takes as many channels and, at every level, neighbours."
            )
