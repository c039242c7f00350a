"""How loops are compiled: machine code kept on disk, run without the GIL."""

from collections.abc import Callable

import numba


def compiled(loop: Callable) -> Callable:
    """Compile a loop with numba; where no place for a cache can be written, once per process."""
    try:
        return numba.njit(nogil=True, cache=True)(loop)
    except RuntimeError:
        return numba.njit(nogil=True)(loop)
