"""What a caller may add to the record of an epoch."""

import json
from typing import Any

import numpy as np

from walkconv._checks import describe


def plain_notes(returned: Any, record: dict[str, Any]) -> dict[str, Any]:
    """Return what `after_epoch` returned as plain values that join the record of an epoch."""
    pairs = {} if returned is None else returned
    if not isinstance(pairs, dict):
        raise TypeError(f"after_epoch must return a dict or None; got {describe(returned)}.")
    plain = {
        name: value.item() if hasattr(value, "item") and np.ndim(value) == 0 else value
        for name, value in pairs.items()
    }
    for name, value in plain.items():
        if not isinstance(name, str) or not _is_plain(value):
            raise TypeError(
                "after_epoch must return plain values by name: numbers, text, and lists and dicts "
                f"of these; got {describe(value)} for {name!r}."
            )
    if taken := record.keys() & plain.keys():
        raise TypeError(
            f"after_epoch must return names that an epoch does not have; got {sorted(taken)}."
        )
    return plain


def _is_plain(value: Any) -> bool:
    try:
        json.dumps(value)
    except (TypeError, ValueError):
        return False
    return True
