"""How many filters give a network as many weights as another has."""

from dataclasses import replace
from typing import Any

from walkconv.networks import (
    Convolution,
    FullyConnected,
    format_architecture,
    parse_architecture,
)


def count_weights(
    convolution: Any,
    architecture: str,
    *,
    n_nodes: int,
    n_neighbors: int,
    n_outputs: int,
    normalization: str | None = "batch",
) -> int:
    """Return how many weights a network without pooling has, on one channel.

    Parameters
    ----------
    convolution : type
        Of the layers of this room.
    architecture : str
        Of C and FC layers.
    n_nodes, n_neighbors, n_outputs, normalization
        As in the estimators.
    """
    total, width, n_places = 0, 1, n_nodes
    n_normalized = 2 if normalization == "batch" else 0
    for layer in parse_architecture(architecture):
        if isinstance(layer, Convolution):
            n_slots = min(n_neighbors, n_nodes)
            total += convolution.n_weights(width, layer.n_filters, n_nodes, n_slots)
            width = layer.n_filters
        elif isinstance(layer, FullyConnected):
            total += (n_places * width + 1 + n_normalized) * layer.n_units
            width, n_places = layer.n_units, 1
        else:
            raise ValueError(f"The groups of {layer} are not known here; take it out.")
    return total + (n_places * width + 1) * n_outputs


def architecture_at_budget(convolution: Any, architecture: str, budget: int, **sizes: Any) -> str:
    """Return the architecture whose filters bring the number of parameters nearest to `budget`.

    All C layers grow or shrink in proportion; `sizes` are those of `count_weights`.

    Examples
    --------
    >>> from experiments.baselines import CONVOLUTIONS, architecture_at_budget
    >>> sizes = {"n_nodes": 717, "n_neighbors": 6, "n_outputs": 10}
    >>> architecture_at_budget(CONVOLUTIONS["local"], "C20", 143_550, **sizes)
    'C12'
    """
    layers = parse_architecture(architecture)
    first = next(layer.n_filters for layer in layers if isinstance(layer, Convolution))

    def resized(n_filters: int) -> str:
        ratio = n_filters / first
        return format_architecture(
            [
                replace(layer, n_filters=max(1, round(layer.n_filters * ratio)))
                if isinstance(layer, Convolution)
                else layer
                for layer in layers
            ]
        )

    def excess(n_filters: int) -> int:
        return abs(count_weights(convolution, resized(n_filters), **sizes) - budget)

    return resized(min(range(1, 4 * first + 1), key=excess))
