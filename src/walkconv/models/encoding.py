"""What is known of the nodes of a graph becomes channels."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from walkconv._samples import GraphSample
from walkconv.models.scaling import learn_scaling, no_scaling


@dataclass(frozen=True, eq=False)
class NodeEncoding:
    """How nodes become numbers.

    Attributes
    ----------
    tags : ndarray of shape (n_tags,), int64
        Kinds of nodes seen in training, each a channel that is 1 at its nodes. A kind that was
        never seen is 0 in all of them.
    mean, deviation : ndarray of shape (n_numbers,), float64
        Of the numbers that describe a node, over all training nodes: `x`, or the logarithm of
        1 + degree where graphs have neither numbers nor tags.
    uses_degree : bool
    """

    tags: np.ndarray
    mean: np.ndarray
    deviation: np.ndarray
    uses_degree: bool

    @property
    def known(self) -> str:
        """What must be known of the nodes of a graph, in words."""
        return describe_nodes(len(self.tags) > 0, 0 if self.uses_degree else len(self.mean))

    @property
    def n_channels(self) -> int:
        """Channels of a node."""
        return len(self.tags) + len(self.mean)

    def encode(self, sample: GraphSample) -> np.ndarray:
        """Return the channels (n_nodes, n_channels) of the nodes of a graph, float32."""
        numbers = (_numbers(sample, self.uses_degree) - self.mean) / self.deviation
        return np.column_stack([_kinds(sample, self.tags), numbers]).astype(np.float32)


def learn_encoding(samples: Sequence[GraphSample], *, standardize: bool = True) -> NodeEncoding:
    """Return the encoding of the nodes of training graphs, numbers as they are if so asked.

    Examples
    --------
    >>> from walkconv import GraphSample
    >>> from walkconv.models import learn_encoding
    >>> water = GraphSample([[0, 1, 1], [1, 0, 0], [1, 0, 0]], tags=[8, 1, 1])
    >>> learn_encoding([water]).encode(water)
    array([[0., 1.],
           [1., 0.],
           [1., 0.]], dtype=float32)
    """
    check_alike(samples, what_is_known(samples[0]))
    uses_degree = samples[0].x is None and samples[0].tags is None
    numbers = np.concatenate([_numbers(sample, uses_degree) for sample in samples])
    scaling = learn_scaling(numbers) if standardize else no_scaling(numbers)
    tags = np.empty(0, dtype=np.int64)
    if samples[0].tags is not None:
        tags = np.unique(np.concatenate([s.tags for s in samples if s.tags is not None]))
    return NodeEncoding(tags, scaling.mean[:, 0], scaling.deviation[:, 0], uses_degree)


def check_alike(samples: Sequence[GraphSample], known: str) -> None:
    """Refuse graphs of whose nodes something else is known."""
    for place, sample in enumerate(samples):
        if what_is_known(sample) != known:
            raise ValueError(
                f"The same must be known of the nodes of every graph, {known}; "
                f"graph {place} has {what_is_known(sample)}."
            )


def describe_nodes(has_tags: bool, n_numbers: int) -> str:
    """Put in words what is known."""
    parts = ["tags"] if has_tags else []
    parts += [f"{n_numbers} number(s)"] if n_numbers else []
    return " and ".join(parts) or "edges alone"


def what_is_known(sample: GraphSample) -> str:
    """Say what is known of the nodes of a graph."""
    return describe_nodes(sample.tags is not None, 0 if sample.x is None else sample.x.shape[1])


def _numbers(sample: GraphSample, uses_degree: bool) -> np.ndarray:
    """Return the numbers (n_nodes, n_numbers) that describe the nodes, float64."""
    if uses_degree:
        return np.log1p(np.diff(sample.graph.indptr).astype(np.float64))[:, None]
    empty = np.empty((sample.n_nodes, 0))
    return empty if sample.x is None else sample.x.astype(np.float64)


def _kinds(sample: GraphSample, tags: np.ndarray) -> np.ndarray:
    if sample.tags is None:
        return np.empty((sample.n_nodes, 0))
    return sample.tags[:, None] == tags
