"""Values computed from a tensor, kept as long as it lives and is not changed."""

import weakref
from collections.abc import Callable
from typing import Generic, TypeVar

from torch import Tensor

Value = TypeVar("Value")


class Learned(Generic[Value]):
    """Values by tensor. A tensor that is changed in place has a new version, and a new value.

    Examples
    --------
    >>> import torch
    >>> from walkconv.conv.learned import Learned
    >>> sums, table = Learned(), torch.tensor([1, 2])
    >>> sums.of(table, lambda: int(table.sum()))
    3
    >>> sums.of(table, lambda: 0), len(sums)
    (3, 1)
    >>> table[0] = 5
    >>> sums.of(table, lambda: int(table.sum()))
    7
    >>> del table
    >>> len(sums)
    0
    """

    def __init__(self) -> None:
        self._kept: dict[int, tuple[weakref.ref[Tensor], list, Value, tuple]] = {}

    def __len__(self) -> int:
        return len(self._kept)

    def of(self, tensor: Tensor, learn: Callable[[], Value], *others: Tensor | int) -> Value:
        """Return the value of a tensor, learned again if it or one of `others` has changed."""
        state = [_state_of(each) for each in (tensor, *others)]
        if None in state:
            return learn()
        place = id(tensor)
        kept = self._kept.get(place)
        # Tensors compare element by element, so a weak dictionary cannot hold them.
        if kept is None or kept[0]() is not tensor or kept[1] != state:
            reference = weakref.ref(tensor, lambda _: self._kept.pop(place, None))
            # `others` are kept alive, so that no new tensor has the identity of one of them.
            kept = self._kept[place] = reference, state, learn(), others
        return kept[2]


def _state_of(thing: Tensor | int) -> tuple[int, int] | int | None:
    """Return the identity and the version of a tensor; None if torch does not count changes."""
    if not isinstance(thing, Tensor):
        return thing
    version = None if thing.is_inference() else getattr(thing, "_version", None)
    return None if version is None else (id(thing), version)
