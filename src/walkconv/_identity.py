"""What a checkpoint belongs to, compared with what a call is about to do.

Both are dicts of plain values. Arrays stand in them as digests, under a name that begins with
`DATA`: a reader is told that they changed, not which digest became which.
"""

from collections.abc import Mapping
from typing import Any

DATA = "data: "
LONGEST = 200
"""Most characters of a value in a message: a damaged file may hold anything."""


def first_change(theirs: Mapping[str, Any], ours: Mapping[str, Any]) -> str | None:
    """Return in words the first entry, by name, that differs; None if all agree.

    Examples
    --------
    >>> from walkconv._identity import first_change
    >>> first_change({"n_steps": 2, "data: graph": "5f"}, {"n_steps": 3, "data: graph": "5f"})
    'n_steps was 2 and is 3'
    >>> first_change({"n_steps": 2, "data: graph": "5f"}, {"n_steps": 2, "data: graph": "a0"})
    'graph has changed'
    """
    for name in sorted({*theirs, *ours}):
        was, now = theirs.get(name), ours.get(name)
        if was != now and name.startswith(DATA):
            return f"{name.removeprefix(DATA)} has changed"
        if was != now:
            return f"{name} was {_short(was)} and is {_short(now)}"
    return None


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."
