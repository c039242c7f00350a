"""Nodes become groups: begun where little is left to join, grown by the strongest bonds."""

import heapq
import math

import numpy as np
import scipy.sparse as sp

from walkconv import _native


def grow_groups(bonds: sp.csr_array, group_size: int) -> np.ndarray:
    """Return the group (n_nodes,) of every node, numbered in the order of their lowest nodes.

    Parameters
    ----------
    bonds : csr_array of shape (n_nodes, n_nodes), int64
        Symmetric, nothing on the diagonal: how strongly two nodes belong together. Whole numbers,
        because their sums do not depend on the order of adding.
    group_size : int
        Most nodes of a group.
    """
    native, n_nodes = _native.library(), bonds.shape[0]
    if native is None:
        groups = np.array(_grown(bonds, group_size), dtype=np.int64)
    else:
        groups = np.full(n_nodes, -1, dtype=np.int64)
        indptr, indices = bonds.indptr.astype(np.int64), bonds.indices.astype(np.int64)
        _native.check(
            native.walkconv_grow_groups(
                *(indptr.ctypes.data, indices.ctypes.data),
                _native.address(bonds.data, np.int64, len(indices)),
                *(n_nodes, group_size, groups.ctypes.data),
            )
        )
    _, lowest, groups = np.unique(groups, return_index=True, return_inverse=True)
    number = np.empty(len(lowest), dtype=np.int64)
    number[np.argsort(lowest)] = np.arange(len(lowest))
    return number[groups]


def _grown(bonds: sp.csr_array, group_size: int) -> list[int]:
    """Return the group of every node, one after the other; the library groups the same way.

    What a node has left is the sum of its bonds to nodes without a group. The node with the least
    left begins a group: first the corners and borders, then what lies along the groups that are
    there, so that few nodes are stranded. Then the node with the largest bond to the group joins,
    divided by the square root of all it had left: a hub has large bonds to every group.
    """
    indptr, indices, bond_of = (x.tolist() for x in (bonds.indptr, bonds.indices, bonds.data))
    n_nodes = len(indptr) - 1
    groups = [-1] * n_nodes
    left = [sum(bond_of[indptr[node] : indptr[node + 1]]) for node in range(n_nodes)]
    waiting = [(left[node], node) for node in range(n_nodes)]
    heapq.heapify(waiting)
    n_groups = 0
    while waiting:
        # What a node has left only falls, so of its entries the newest comes first.
        _, node = heapq.heappop(waiting)
        if groups[node] >= 0:
            continue
        to_group: dict[int, int] = {}
        for _ in range(group_size):
            groups[node] = n_groups
            for edge in range(indptr[node], indptr[node + 1]):
                other = indices[edge]
                if groups[other] < 0:
                    to_group[other] = to_group.get(other, 0) + bond_of[edge]
                    left[other] -= bond_of[edge]
            closeness = {
                other: bond / math.sqrt(bond + left[other])
                for other, bond in to_group.items()
                if groups[other] < 0
            }
            if not closeness:
                break
            node = min(closeness, key=lambda other: (-closeness[other], other))
        for other in to_group:
            if groups[other] < 0:
                heapq.heappush(waiting, (left[other], other))
        n_groups += 1
    return groups
