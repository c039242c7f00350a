"""The two kinds of samples behind one protocol: rows of a table, and graphs.

`_samples.kind_of_samples` decides which kind X is, `fitting.read_samples` reads it. Training uses
the protocol (the search and the report ask a record for its kind, to list what suits it):
``Samples.learn`` returns a frozen record of what precedes the weights (`Learned`). This record
reads further samples, makes batches, says what network they need, and writes itself to arrays.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

import numpy as np
import scipy.sparse as sp
import torch

from walkconv.estimators.settings import Settings
from walkconv.networks.network import NetworkPlan
from walkconv.training.batches import Batches

if TYPE_CHECKING:
    from walkconv.estimators.relations import Relations  # it takes a `Lesson`

Arrays = dict[str, np.ndarray]


@dataclass(frozen=True, eq=False)
class Lesson:
    """What is known besides the samples when something is learned about them.

    Attributes
    ----------
    settings : Settings
    y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        The targets as they were given.
    is_classification : bool
    weight : ndarray of shape (n_samples,), float64
        Weight of each sample in the loss.
    seed : int
        Decides ties at random, and trains the network behind a supervised graph.
    relations : Relations, optional
        What is already known of the columns of a table.
    """

    settings: Settings
    y: np.ndarray
    is_classification: bool
    weight: np.ndarray
    seed: int
    relations: "Relations | None" = None


class Samples(Protocol):
    """Checked samples of one kind."""

    kind: ClassVar[str]

    @property
    def is_lazy(self) -> bool:
        """Whether the samples are read when they are needed; `take` then takes ascending rows."""
        ...

    def __len__(self) -> int: ...

    @property
    def sizes(self) -> list[int]:
        """Number of nodes of each sample."""
        ...

    def take(self, rows: np.ndarray) -> Self:
        """Return some of the samples."""
        ...

    def in_memory(self, settings: Settings, seed: int) -> tuple[np.ndarray, Self]:
        """Return numbers of samples, and these samples in memory: all, unless they are too many."""
        ...

    def read_like(self, X: Any) -> Self:
        """Return checked samples of the same kind and columns, to validate on."""
        ...

    def parts(self) -> list[Any]:
        """Return the arrays that the samples consist of, to tell them from other samples."""
        ...

    def learn(self, lesson: Lesson, like: "Learned | None") -> "Learned":
        """Learn what precedes the weights, encoding the samples as `like` does if it is given."""
        ...


class Learned(Protocol):
    """What is learned about samples before any weight, frozen."""

    kind: ClassVar[str]

    def read(self, X: Any) -> Samples:
        """Return checked samples that go with those of the fit."""
        ...

    def check(self, samples: Any, name: str = "X") -> None:
        """Refuse samples that do not go with those of the fit."""
        ...

    def plan(self, settings: Settings, n_outputs: int) -> NetworkPlan:
        """Return what the networks are made from."""
        ...

    def batches(self, samples: Any, device: torch.device) -> Batches:
        """Return samples as batches for the networks."""
        ...

    def training_batches(self, samples: Any, settings: Settings) -> Batches:
        """Return training samples as batches, augmented if the settings say so."""
        ...

    def attributes(self) -> dict[str, Any]:
        """Return the fitted attributes of the estimator."""
        ...

    def input_names(self) -> list[str]:
        """Return the names of what users give for each sample: columns or node features."""
        ...

    def by_input(self, shares: np.ndarray) -> np.ndarray:
        """Return the sum (n_inputs,) of shares (n_nodes, n_channels) over each input."""
        ...

    def neighborhoods(self) -> sp.csr_array:
        """Return which inputs (n_inputs, n_inputs) are neighbours of each input, 1 or 0."""
        ...

    def list_shares(self, samples: Any, shares: list[np.ndarray]) -> dict[str, np.ndarray]:
        """Return the shares (n_nodes, n_channels) of each sample as the columns of a table."""
        ...

    def to_arrays(self) -> tuple[Arrays, dict[str, Any]]:
        """Return the record as arrays and plain values, for a file."""
        ...

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, np.ndarray], plain: Mapping[str, Any], settings: Settings
    ) -> Self:
        """Return the record that `to_arrays` wrote, or raise an error if it is not whole."""
        ...
