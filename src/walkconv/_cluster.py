"""How work is handed to a dask cluster: what all of it needs is sent once, the rest item by item.

dask keeps what was sent on every worker and repeats the tasks of a worker that dies. What was
sent is lost when the last worker that has it dies; then it is sent again, and only what is not
finished is repeated.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from itertools import islice
from typing import Any

from walkconv._checks import describe

TASKS_PER_THREAD = 2
"""So many are with the cluster at a time: one that is worked on, and the next."""
MOST_LOSSES = 3
"""So often in a row, with nothing finished in between, may all workers be lost."""


def check_client(client: Any) -> Any:
    """Return a client of dask that work can be given to."""
    distributed = sys.modules.get("distributed")  # who has a client has imported it
    if distributed is None or not isinstance(client, distributed.Client):
        raise TypeError(f"client must be a dask.distributed.Client; got {describe(client)}.")
    if client.asynchronous:
        raise ValueError("client must not be asynchronous. Make it with asynchronous=False.")
    if client.status != "running":
        raise ValueError(f"client must be connected to a cluster; it is {client.status}.")
    if not client.nthreads():
        raise ValueError(
            "client must have a cluster with workers; there are none. "
            "Start some, and wait for them with client.wait_for_workers(1)."
        )
    return client


def n_threads_of(client: Any) -> int:
    """Return how many threads the workers have together."""
    return max(1, sum(client.nthreads().values()))


def done_on_cluster(
    client: Any, work: Callable[[Any], Any], items: Sequence[Any]
) -> Iterator[tuple[Any, Any]]:
    """Yield ``(item, work(item))`` for all items, as they are finished.

    Parameters
    ----------
    client : distributed.Client
        Whose workers do it, one item in each of their threads.
    work : callable
        Sent to every worker once, with all that it holds.
    items : sequence
        Sent one by one.
    """
    left = list(items)
    n_losses = 0
    while left:
        try:
            for place, result in _once(client, work, left):
                item, left[place] = left[place], _FINISHED
                n_losses = 0
                yield item, result
        except CancelledError:
            n_losses += 1
            if n_losses > MOST_LOSSES:
                raise RuntimeError(
                    f"All workers that had the data were lost {n_losses} times in a row. They may "
                    "lack memory: give each more of it, or start fewer with fewer threads."
                ) from None
        left = [item for item in left if item is not _FINISHED]


_FINISHED = object()


def _once(client: Any, work: Callable, items: list) -> Iterator[tuple[int, Any]]:
    """Yield place and result of the items while the cluster has what was sent."""
    from distributed import as_completed

    sent = client.scatter([work], broadcast=True, hash=False)[0]
    places = iter(range(len(items)))
    place_of = {}

    def submit_next(n_tasks: int) -> list:
        tasks = []
        for place in islice(places, n_tasks):
            tasks.append(client.submit(_call, sent, items[place], pure=False))
            place_of[tasks[-1].key] = place
        return tasks

    tasks = as_completed(submit_next(TASKS_PER_THREAD * n_threads_of(client)))
    for task in tasks:
        result = task.result()
        tasks.update(submit_next(1))
        yield place_of.pop(task.key), result


def _call(work: Callable[[Any], Any], item: Any) -> Any:
    return work(item)
