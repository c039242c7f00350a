"""Node features and node types become channels."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from walkconv._checks import check_flag
from walkconv._samples import GraphSample
from walkconv.tables.scaling import learn_scaling, no_scaling


@dataclass(frozen=True, eq=False)
class NodeEncoding:
    """How nodes become numbers.

    Attributes
    ----------
    tags : ndarray of shape (n_tags,), int64
        Node types seen in training, each a channel that is 1 at its nodes. A type that was never
        seen is 0 in all of them.
    mean, deviation : ndarray of shape (n_numbers,), float64
        Of the numeric node features over all training nodes: `x`, or the logarithm of 1 + degree
        if graphs have neither numeric features nor types.
    uses_degree : bool
    """

    tags: np.ndarray
    mean: np.ndarray
    deviation: np.ndarray
    uses_degree: bool

    @property
    def known(self) -> str:
        """The node features that a graph must have, in words."""
        return describe_nodes(len(self.tags) > 0, 0 if self.uses_degree else len(self.mean))

    @property
    def n_channels(self) -> int:
        """Channels of a node."""
        return len(self.tags) + len(self.mean)

    def encode(self, sample: GraphSample) -> np.ndarray:
        """Return the channels (n_nodes, n_channels) of the nodes of a graph, float32."""
        numbers = (_numbers(sample, self.uses_degree) - self.mean) / self.deviation
        return np.column_stack([_types(sample, self.tags), numbers]).astype(np.float32)

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays of the encoding, for a file."""
        return {"tags": self.tags, "mean": self.mean, "deviation": self.deviation}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray], uses_degree: Any) -> "NodeEncoding":
        """Return the encoding that `to_arrays` wrote, or raise an error if it is not whole."""
        tags, mean, deviation = (arrays[name] for name in ("tags", "mean", "deviation"))
        if [a.dtype for a in (tags, mean, deviation)] != [np.int64, np.float64, np.float64]:
            raise TypeError("the node types must be int64, means and deviations float64.")
        if tags.ndim != 1 or (tags[:-1] >= tags[1:]).any():
            raise ValueError("the node types must be in order, each once.")
        if mean.ndim != 1 or mean.shape != deviation.shape or not len(tags) + len(mean):
            raise ValueError("there must be a mean and a deviation for each node feature.")
        if not (np.isfinite(mean).all() and np.isfinite(deviation).all() and (deviation > 0).all()):
            raise ValueError("the mean must be finite and the deviation positive.")
        uses_degree = check_flag(uses_degree, "uses_degree")
        if uses_degree and (len(tags), len(mean)) != (0, 1):
            raise ValueError("the degree must be the only feature where it is used.")
        return cls(tags, mean, deviation, uses_degree)


def learn_encoding(samples: Sequence[GraphSample], *, standardize: bool = True) -> NodeEncoding:
    """Return the encoding of the nodes of training graphs, standardized or as they are.

    Examples
    --------
    >>> from walkconv import GraphSample
    >>> from walkconv.estimators.encoding import learn_encoding
    >>> water = GraphSample([[0, 1, 1], [1, 0, 0], [1, 0, 0]], tags=[8, 1, 1])
    >>> learn_encoding([water]).encode(water)
    array([[0., 1.],
           [1., 0.],
           [1., 0.]], dtype=float32)
    """
    check_alike(samples, describe_sample(samples[0]))
    uses_degree = samples[0].x is None and samples[0].tags is None
    numbers = np.concatenate([_numbers(sample, uses_degree) for sample in samples])
    scaling = learn_scaling(numbers) if standardize else no_scaling(numbers)
    tags = np.empty(0, dtype=np.int64)
    if samples[0].tags is not None:
        tags = np.unique(np.concatenate([s.tags for s in samples if s.tags is not None]))
    return NodeEncoding(tags, scaling.mean[:, 0], scaling.deviation[:, 0], uses_degree)


def check_alike(samples: Sequence[GraphSample], known: str) -> None:
    """Refuse graphs with other node features than `known` says."""
    for number, sample in enumerate(samples):
        if describe_sample(sample) != known:
            raise ValueError(
                f"All graphs must have the same node features: expected {known}, but graph "
                f"{number} has {describe_sample(sample)}. Add them or drop the graph."
            )


def describe_nodes(has_tags: bool, n_numbers: int) -> str:
    """Return the node features in words."""
    parts = ["tags"] if has_tags else []
    parts += [f"{n_numbers} numeric feature(s)"] if n_numbers else []
    return " and ".join(parts) or "none"


def describe_sample(sample: GraphSample) -> str:
    """Return the node features of a graph in words."""
    return describe_nodes(sample.tags is not None, 0 if sample.x is None else sample.x.shape[1])


def _numbers(sample: GraphSample, uses_degree: bool) -> np.ndarray:
    """Return the numeric node features (n_nodes, n_numbers), float64."""
    if uses_degree:
        return np.log1p(np.diff(sample.graph.indptr).astype(np.float64))[:, None]
    empty = np.empty((sample.n_nodes, 0))
    return empty if sample.x is None else sample.x.astype(np.float64)


def _types(sample: GraphSample, tags: np.ndarray) -> np.ndarray:
    if sample.tags is None:
        return np.empty((sample.n_nodes, 0))
    return sample.tags[:, None] == tags
