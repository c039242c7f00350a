"""Filters that move from one model to another."""

from collections.abc import Sequence
from typing import Literal

from torch import Tensor, nn

from walkconv._checks import check_option
from walkconv.estimators.samples import Learned
from walkconv.networks.network import Network

State = dict[str, Tensor]


class Filters:
    """What the C layers of trained networks have learned.

    Parameters
    ----------
    modules : sequence of Module
        The members of a model.
    learned : Learned
        How the model encodes its samples.
    treatment : "frozen" or "tuned"
        Whether the networks that get the filters train them further.
    """

    def __init__(
        self,
        modules: Sequence[nn.Module],
        learned: Learned,
        treatment: Literal["frozen", "tuned"],
    ):
        self.learned = learned
        self.treatment = check_option(treatment, "filters", ["frozen", "tuned"])
        self.members = [_nodewise(module) for module in modules]
        if not self.members[0]:
            raise ValueError("There are no filters to move: the architecture has no C layers.")

    def put_into(self, networks: Sequence[nn.Module]) -> None:
        """Give each network the filters of a member, the first again when they run out."""
        for number, network in enumerate(networks):
            given = self.members[number % len(self.members)]
            _check_fit(given, _nodewise(network))
            network.load_state_dict(given, strict=False)
            for name, parameter in network.named_parameters():
                parameter.requires_grad_(name not in given or self.treatment == "tuned")


def _nodewise(network: nn.Module) -> State:
    """Return the state of the layers before the nodes are flattened or read out."""
    if not isinstance(network, Network):
        raise TypeError(f"Filters move between Network modules; got {type(network).__name__}.")
    return {f"nodewise.{name}": tensor for name, tensor in network.nodewise.state_dict().items()}


def _check_fit(given: State, wanted: State) -> None:
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
