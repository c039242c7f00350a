"""How many threads a matrix product has, while threads of our own multiply side by side."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock

from threadpoolctl import ThreadpoolController

_LOCK = Lock()
_LIMITS: list = []
"""One entry for each `limited_products` that is going on; the first of them has set the limit."""


@contextmanager
def limited_products(n_threads: int) -> Iterator[None]:
    """Let matrix products have so many threads each, until the last that asked for it is done.

    Some libraries count threads for the whole process, so calls side by side share one limit: each
    restoring what it found would leave that of another.
    """
    with _LOCK:
        if not _LIMITS:
            _LIMITS.append(_controller().limit(limits=n_threads, user_api="blas"))
        else:
            _LIMITS.append(None)
    try:
        yield
    finally:
        with _LOCK:
            limit = _LIMITS[0] if len(_LIMITS) == 1 else None
            _LIMITS.pop()
            if limit is not None:
                limit.restore_original_limits()


def limit_products_here(n_threads: int) -> None:
    """Do the same for a thread that is about to end: other libraries count by thread."""
    _controller().limit(limits=n_threads, user_api="blas")


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()  # looks through all libraries of the process: once
