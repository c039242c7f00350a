"""Checks on input, the choice of the engine, and the neighbours that it returns."""

import os
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state

from walkconv._adapters import as_graph
from walkconv._checks import check_integer, check_option, check_positions, check_steps, describe
from walkconv._cluster import check_client
from walkconv._progress import has_bar
from walkconv._threads import available_threads
from walkconv.walks import blocked, dense, sparse
from walkconv.walks.block_file import BlockFile, identify_selection
from walkconv.walks.neighbors import Neighbors
from walkconv.walks.plan import Plan
from walkconv.walks.ranking import BY_CHANCE, BY_DISPLACEMENT, BY_INDEX, TieRule
from walkconv.walks.reach import enough_steps
from walkconv.walks.slots import (
    CANDIDATES_PER_SLOT,
    REACHED_PER_SLOT,
    check_places,
    oriented,
    refuse_places,
)

ENGINES = {
    "dense": dense.most_visited,
    "blocked": blocked.most_visited,
    "sparse": sparse.most_visited,
}


def select_neighbors(
    graph: Any,
    *,
    n_neighbors: int,
    n_steps: int | Literal["auto"] = 1,
    order: Literal["visits", "direction"] = "visits",
    positions: Any = None,
    period: Any = None,
    ties: Any = "index",
    random_state: Any = None,
    method: Literal["auto", "dense", "blocked", "sparse"] = "auto",
    block_size: int | None = None,
    n_threads: int | None = None,
    checkpoint: str | os.PathLike | None = None,
    verbose: int = 0,
    client: Any = None,
) -> Neighbors:
    """Return the nodes that a random walk from each node visits most, most visited first.

    For every node i these are the `n_neighbors` nodes j with the largest ``Q_ij`` of
    `expected_visits`. The node itself is one of them, and the first whenever `n_steps` is 1.

    With ``order="direction"`` a slot means the same displacement at every node instead, as a
    weight of an image filter does; `slot_offsets` says which. The candidates are the most visited
    nodes, eight for each slot. All slots are filled together, so that the sum of the squared
    distances between candidates and offsets is least. Offsets are steps of the local spacing, the
    usual distance to the nearest nodes. A slot without a candidate within one step stays empty.

    Parameters
    ----------
    graph
        Similarity (n_nodes, n_nodes) in any form `as_graph` takes; weighted or not, directed or
        not, signed or not. The walk follows out-edges in proportion to their absolute weight.
    n_neighbors : int
        The paper's p, the node itself included.
    n_steps : int or "auto", default 1
        The paper's k. "auto" takes the smallest k at which nearly every node (99 %) has filled its
        slots (with ``order="direction"``, twice its slots), or reached all that it can reach.
    order : "visits" or "direction", default "visits"
        What a slot means: a rank, or a displacement.
    positions : array of shape (n_nodes, n_dims), optional
        Of the nodes, for ``order="direction"``: known, or from `layout_graph`.
    period : array of shape (n_dims,), optional
        Length of an axis of `positions` that runs round a ring; 0 for an axis with two ends.
    ties : "index", "random" or array of shape (n_nodes, n_axes), default "index"
        The order of nodes with equal visits: in descending order, visits within a relative 1e-9
        of the ones before them are tied with them. The node itself comes first; then the lowest
        index, or a random order that `random_state` fixes. Given positions, the order of the
        displacements along the first axis, then the second, and so on: on a grid this makes the
        interior an ordinary convolution.
    random_state : int, RandomState, Generator or None
        Used by ``ties="random"``.
    method : "auto", "dense", "blocked" or "sparse", default "auto"
        The engine. All give the same neighbours.
    block_size, n_threads : int, optional
        Rows computed at once and threads used. They do not change the neighbours.
    checkpoint : path, optional
        A file to which finished rows are added. A call with the same graph and settings computes
        only the missing rows, so it continues a call that was killed. The file of another graph or
        of other settings is refused, and so is a file that another call is using.
    verbose : int, default 0
        Whether to show a progress bar. None is shown if standard error is not a terminal.
    client : dask.distributed.Client, optional
        Its workers walk instead of the threads (extra ``walkconv[dask]``). The graph is sent to
        each worker once (the workers of a LocalCluster map a temporary file), and blocks of rows
        are the tasks. If a worker dies, its rows are computed again. Index and sign are the same.
        With the sparse engine and the same library visits are the same bit for bit, with the
        other engines up to rounding.

    Returns
    -------
    Neighbors
        `index`, `visits` and `sign`, each (n_nodes, n_neighbors). A node that reaches fewer than
        `n_neighbors` nodes has -1 in its last slots; ordered by direction, in any but the first.

    Examples
    --------
    >>> from walkconv import graph_from_edges, select_neighbors
    >>> graph = graph_from_edges([[0, 0, 1, 2], [1, 2, 2, 3]], [3.0, 1.0, 1.0, 1.0], n_nodes=5)
    >>> select_neighbors(graph, n_neighbors=3).index
    array([[ 0,  1,  2],
           [ 1,  0,  2],
           [ 2,  0,  1],
           [ 3,  2, -1],
           [ 4, -1, -1]])
    >>> line = graph_from_edges([[2, 0, 1], [0, 1, 3]], n_nodes=4)  # 2 - 0 - 1 - 3
    >>> places = [[1], [2], [0], [3]]
    >>> select_neighbors(
    ...     line, n_neighbors=3, n_steps="auto", order="direction", positions=places
    ... ).index  # itself, the one to the left, the one to the right
    array([[ 0,  2,  1],
           [ 1,  0,  3],
           [ 2, -1,  0],
           [ 3,  1, -1]])
    """
    return select_checked(
        as_graph(graph),
        n_neighbors=n_neighbors,
        n_steps=n_steps,
        order=order,
        positions=positions,
        period=period,
        ties=ties,
        random_state=random_state,
        method=method,
        block_size=block_size,
        n_threads=n_threads,
        checkpoint=checkpoint,
        verbose=verbose,
        client=client,
    )


def select_checked(
    graph: sp.csr_array,
    *,
    n_neighbors: int,
    n_steps: int | Literal["auto"] = 1,
    order: Literal["visits", "direction"] = "visits",
    positions: Any = None,
    period: Any = None,
    ties: Any = "index",
    random_state: Any = None,
    method: Literal["auto", "dense", "blocked", "sparse"] = "auto",
    block_size: int | None = None,
    n_threads: int | None = None,
    checkpoint: str | os.PathLike | None = None,
    verbose: int = 0,
    client: Any = None,
) -> Neighbors:
    """Return the neighbours as `select_neighbors` does, of a graph that `as_graph` returned.

    Such a graph is square CSR, float64 and finite, with sorted indices and no duplicates. It is
    neither checked nor copied again.
    """
    n_nodes = graph.shape[0]
    n_neighbors = check_integer(n_neighbors, "n_neighbors", minimum=1)
    check_option(order, "order", ["visits", "direction"])
    if n_neighbors > n_nodes and order == "visits":
        raise ValueError(
            f"n_neighbors must be at most the number of nodes ({n_nodes}); got {n_neighbors}. "
            "Lower n_neighbors."
        )
    # By direction, slots may outnumber the nodes: those without a node stay empty.
    places = None
    if order == "direction":
        places = check_places(positions, period, n_nodes)
    elif positions is not None or period is not None:
        refuse_places(positions, period)
    if isinstance(n_steps, str):
        check_option(n_steps, "n_steps", ["auto"])
        n_reached = n_neighbors if places is None else REACHED_PER_SLOT * n_neighbors
        n_steps = enough_steps(graph, min(n_nodes, n_reached))
    else:
        n_steps = check_steps(n_steps)
    n_ranked = n_neighbors
    if places is not None:
        # The node itself must be a candidate. The first of its k + 1 visits is to itself, so at
        # most k nodes are visited more.
        n_ranked = min(n_nodes, max(CANDIDATES_PER_SLOT * n_neighbors, n_steps + 1))
    method = check_option(method, "method", ["auto", *ENGINES])  # type: ignore[assignment]
    if block_size is not None:
        block_size = check_integer(block_size, "block_size", minimum=1)
    if client is not None:
        check_client(client)
        if n_threads is not None:
            raise ValueError(
                "n_threads must not be given together with a client, whose workers have threads "
                f"of their own; got {n_threads}. Remove one of the two."
            )
    if n_threads is None:
        n_threads = available_threads()
    rule = tie_rule(ties, random_state, n_nodes)
    n_threads = check_integer(n_threads, "n_threads", minimum=1)
    kept: AbstractContextManager[BlockFile | None] = nullcontext()
    if checkpoint is not None:
        # With a new seed, rows of this call would not fit those already in the file.
        if isinstance(ties, str) and ties == "random" and random_state is None:
            raise ValueError("A checkpoint with ties='random' needs a random_state: pass a number.")
        identity = identify_selection(graph, n_ranked, n_steps, rule)
        kept = BlockFile.open(checkpoint, identity)
    plan = Plan(
        n_neighbors=n_ranked,
        n_steps=n_steps,
        tie_rule=rule,
        block_size=block_size,
        n_threads=n_threads,
        is_silent=not (verbose and has_bar()),
        client=client,
    )
    engine = ENGINES[_fastest(graph, plan.n_steps) if method == "auto" else method]
    with kept as finished:
        index, visits = engine(graph, replace(plan, finished=finished))
    if places is not None:
        index, visits = oriented(index, visits, places, n_neighbors, plan)
    return Neighbors(index, visits, _signs(graph, index), plan.n_steps)


def _fastest(graph: sp.csr_array, n_steps: int) -> str:
    """Return the engine that is fastest for the share of pairs that have an edge.

    Measured at 1,000 and 4,000 nodes: one step reads each edge once, for any number of edges. Two
    steps along the edges beat dense products up to a share of 0.1, more steps up to 0.02.
    """
    share = graph.nnz / graph.shape[0] ** 2
    return "sparse" if n_steps <= 1 or share < (0.1 if n_steps == 2 else 0.02) else "blocked"


def _signs(graph: sp.csr_array, index: np.ndarray) -> np.ndarray:
    """Return the sign of the edge to each neighbour: +1 without an edge, 0 in an empty slot."""
    # Without negative edges there is nothing to look up.
    if graph.data.min(initial=0.0) >= 0:
        return (index >= 0).astype(np.int8)
    # Empty slots (-1) look up node 0; their sign is set to 0 at the end.
    rows = np.broadcast_to(np.arange(len(index))[:, None], index.shape)
    weight = sp.csr_array(graph[rows, np.maximum(index, 0)]).toarray()
    sign = np.where(weight < 0, -1, 1)
    return np.where(index < 0, 0, sign).astype(np.int8)


def tie_rule(ties: Any, random_state: Any, n_nodes: int) -> TieRule:
    """Return the rule for ``ties="index"``, ``"random"`` or an array of positions."""
    nowhere = np.empty((0, 0))
    if isinstance(ties, str) and ties == "index":
        return TieRule(BY_INDEX, np.uint64(0), nowhere)
    if isinstance(ties, str) and ties == "random":
        if isinstance(random_state, np.random.Generator):
            seed = random_state.integers(2**31)
        else:
            seed = check_random_state(random_state).randint(2**31 - 1)
        return TieRule(BY_CHANCE, np.uint64(seed), nowhere)
    if isinstance(ties, str) or ties is None:
        raise ValueError(
            f"ties must be 'index', 'random' or positions (n_nodes, n_axes); got {describe(ties)}."
        )
    positions = check_positions(ties, "ties", n_nodes)
    # In units of a 2^30th of the extent displacements round to integers, so that equal steps of a
    # grid are equal whatever their last digits.
    extent = np.ptp(positions, axis=0)
    return TieRule(
        BY_DISPLACEMENT, np.uint64(0), positions / np.where(extent > 0, extent, 1.0) * 2.0**30
    )
