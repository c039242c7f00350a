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
    different = []
    for name in dict.fromkeys([*given, *wanted]):
        shapes = [tuple(part[name].shape) if name in part else () for part in (given, wanted)]
        if shapes[0] != shapes[1]:
            different.append((name, *shapes))
    if not different:
        return
    filters = [(old, new) for _, old, new in different if len(old) == len(new) == 3]
    neighbors = [(old[0], new[0]) for old, new in filters if old[0] != new[0]]
    channels = [(old[1], new[1]) for old, new in filters if old[1] != new[1]]
    if neighbors:
        raise ValueError(
            f"The filters have {neighbors[0][0]} neighbours; a column of the new table has "
            f"{neighbors[0][1]}. Fit the source with n_neighbors={min(map(min, neighbors))}."
        )
    if channels:
        raise ValueError(
            f"The filters take {channels[0][0]} channel(s); a column of the new table has "
            f"{channels[0][1]}."
        )
    name, old, new = different[0]
    raise ValueError(
        f"The filters must fit the new network: {name} has shape {old} and would need {new}."
    )
