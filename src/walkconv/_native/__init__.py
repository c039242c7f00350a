"""The compiled loops of all rooms: one shared library, found beside its sources.

Calls release the interpreter's lock, so Python threads run them side by side.
"""

import ctypes
import os
from functools import cache
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from typing import Any

import numpy as np

VARIABLE = "WALKCONV_NATIVE"
"""Environment variable: "0" does without the library, as if it had not been built; a path loads
another one, such as that of ``make sanitize``."""

_int, _int64, _uint64 = ctypes.c_int, ctypes.c_int64, ctypes.c_uint64
_double, _pointer = ctypes.c_double, ctypes.c_void_p
_SIGNATURES = {
    # convolution/kernel.c
    "walkconv_use_openmp": (None, [_pointer] * 2),
    "walkconv_supported": (_int, [_int]),
    "walkconv_preferred": (_int, []),
    "walkconv_reverse_starts": (_int64, [_int64] * 2),
    "walkconv_reverse_list": (_int, [_int] + [_int64] * 4 + [_pointer] * 3),
    "walkconv_forward": (_int, [_int] * 3 + [_int64] * 6 + [_int] + [_pointer] * 6),
    "walkconv_backward": (_int, [_int] * 3 + [_int64] * 6 + [_int] + [_pointer] * 10),
    "walkconv_pool": (_int, [_int] * 3 + [_int64] * 4 + [_pointer] * 7),
    # graphs/walks.c
    "walkconv_walk_bytes": (_int64, []),
    "walkconv_walk_rows": (_int, [_int, _pointer, _pointer, _int64, _pointer, _pointer]),
    "walkconv_walk_in_tables": (None, [_int, _pointer, _pointer, _int64, _pointer]),
    "walkconv_rank_rows": (
        _int,
        [
            *(_pointer, _int64, _pointer, _int64),
            *(_int64, _uint64, _pointer, _int64),
            *(_int64, _pointer, _pointer),
        ],
    ),
    "walkconv_sums_ahead": (None, [_int] + [_pointer] * 4 + [_int64, _pointer]),
    "walkconv_mark_rows": (None, [_int] + [_pointer] * 4 + [_int64, _pointer]),
    "walkconv_make_chances": (None, [_int, _pointer, _int64, _pointer, _pointer]),
    "walkconv_reach_rows": (_int, [_int, _pointer, _pointer] + [_int64] * 4 + [_pointer]),
    # graphs/slots.c
    "walkconv_local_spacing": (
        _int,
        [_pointer, _int64, _int64, _pointer, _pointer, _int64, _pointer, _pointer],
    ),
    "walkconv_orient_rows": (
        _int,
        [
            *(_int64, _int64, _pointer, _pointer, _int64, _pointer, _pointer, _int64),
            *(_pointer, _pointer, _int64, _double, _pointer, _pointer),
        ],
    ),
    # graphs/grouping.c
    "walkconv_grow_groups": (_int, [_pointer] * 3 + [_int64] * 2 + [_pointer]),
    # graphs/columns.c
    "walkconv_standardise": (
        None,
        [
            *(_int, _pointer, _int64, _int64, _int64),
            *([_pointer] * 4),
            *(_int, _pointer, _int64, _int64),
        ],
    ),
    # graphs/strongest.c
    "walkconv_insert_tile": (
        None,
        [
            *(_int, _pointer, _int64, _int64, _int64, _int64, _pointer, _pointer),
            *(_int64, _double, _double, *[_pointer] * 6),
        ],
    ),
    "walkconv_add_products": (
        None,
        [_pointer, _int64, _pointer, _pointer, _int64, _pointer, _int64, _int64],
    ),
}


@cache
def library() -> ctypes.CDLL | None:
    """Return the library, or None where none was built that fits, or `VARIABLE` is "0"."""
    asked = os.environ.get(VARIABLE, "").strip()
    folder = Path(__file__).parent
    built = [path for suffix in EXTENSION_SUFFIXES for path in folder.glob(f"_library*{suffix}")]
    if asked == "0" or not (asked or built):
        return None
    try:
        loaded = ctypes.CDLL(asked or str(built[0]))
        for name, (result, arguments) in _SIGNATURES.items():
            function = getattr(loaded, name)
            function.restype, function.argtypes = result, arguments
    except (OSError, AttributeError):  # for another machine, or it lacks a function
        return None
    return loaded


def address(array: np.ndarray, dtype: Any, *shape: int) -> int:
    """Return where an array begins, if it is what the loops read: of this type, in one piece."""
    if array.dtype != dtype or array.shape != shape or not array.flags.c_contiguous:
        raise TypeError(
            f"A compiled loop needs a contiguous array of {np.dtype(dtype)} and shape {shape}; "
            f"got {array.dtype} and {array.shape}."
        )
    return array.ctypes.data


def check(status: int) -> None:
    """Raise what a status says."""
    if status == 1:
        raise MemoryError("A compiled loop could not get memory for its scratch space.")
    assert status == 0, f"a compiled loop refused its arguments ({status})"
