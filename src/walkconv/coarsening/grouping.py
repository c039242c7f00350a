"""Nodes become groups: begun where little is left to join, grown by the strongest bonds."""

import heapq

import numpy as np
import scipy.sparse as sp

from walkconv._compiled import compiled


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
    groups = np.full(bonds.shape[0], -1, dtype=np.int64)
    _grow(bonds.indptr, bonds.indices, bonds.data, group_size, groups)
    _, lowest, groups = np.unique(groups, return_index=True, return_inverse=True)
    number = np.empty(len(lowest), dtype=np.int64)
    number[np.argsort(lowest)] = np.arange(len(lowest))
    return number[groups]


@compiled
def _grow(indptr, indices, bonds, group_size, groups):
    """Fill `groups`, one after the other.

    What a node has left is the sum of its bonds to nodes without a group. The node with the least
    left begins a group: first the corners and borders, then what lies along the groups that are
    there, so that few nodes are stranded. Then the node with the largest bond to the group joins,
    divided by the square root of all it had left: a hub has large bonds to every group.
    """
    n_nodes = len(groups)
    left = np.zeros(n_nodes, dtype=np.int64)
    for node in range(n_nodes):
        left[node] = bonds[indptr[node] : indptr[node + 1]].sum()
    waiting = [(left[node], node) for node in range(n_nodes)]
    heapq.heapify(waiting)
    to_group = np.zeros(n_nodes, dtype=np.int64)
    nearby = np.empty(n_nodes, dtype=np.int64)
    n_groups = 0
    while len(waiting) > 0:
        # What a node has left only falls, so of its entries the newest comes first.
        _, node = heapq.heappop(waiting)
        if groups[node] >= 0:
            continue
        n_nearby = 0
        for _ in range(group_size):
            groups[node] = n_groups
            for edge in range(indptr[node], indptr[node + 1]):
                other = indices[edge]
                if groups[other] < 0:
                    if to_group[other] == 0:
                        nearby[n_nearby] = other
                        n_nearby += 1
                    to_group[other] += bonds[edge]
                    left[other] -= bonds[edge]
            node = -1
            closest = 0.0
            for other in nearby[:n_nearby]:
                if groups[other] < 0:
                    bond = to_group[other] / np.sqrt(to_group[other] + left[other])
                    if bond > closest or (bond == closest and other < node):
                        closest = bond
                        node = other
            if node < 0:
                break
        for other in nearby[:n_nearby]:
            to_group[other] = 0
            if groups[other] < 0:
                heapq.heappush(waiting, (left[other], other))
        n_groups += 1
