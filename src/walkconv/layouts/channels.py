"""Columns that are measured at one place, such as the colours of a pixel, are channels of a node.

Their partial correlations are the strongest of all. So columns are grouped along their strongest
relations, and the groups count if nearly all are of one size and nearly all columns have their
strongest relation inside. Channels of neighbouring groups are then matched: a channel relates
most to the same channel of the next group. The labels count if nearly all of these matches agree.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linear_sum_assignment

SIZES = (2, 3, 4, 5, 6)
"""Numbers of channels that are tried."""
LEAST_SHARE = 0.9
"""Of the columns, in a group of full size with their strongest relation."""
LEAST_AGREEMENT = 0.9
"""Of the matches between neighbouring groups."""
N_AROUND = 6
"""Neighbouring groups whose channels are matched."""
N_ROUNDS = 20


@dataclass(frozen=True, eq=False)
class Channels:
    """Which columns share a node.

    Attributes
    ----------
    node, channel : ndarray of shape (n_columns,), int64
    n_nodes : int
    """

    node: np.ndarray
    channel: np.ndarray
    n_nodes: int

    def between_nodes(self, relation: sp.csr_array) -> sp.csr_array:
        """Return the sums (n_nodes, n_nodes) of the relations between the columns of two nodes."""
        pairs = sp.coo_array(relation)
        row, column = self.node[pairs.row], self.node[pairs.col]
        is_between = row != column
        ends = row[is_between], column[is_between]
        return sp.csr_array((pairs.data[is_between], ends), shape=(self.n_nodes, self.n_nodes))


def find_channels(relation: sp.csr_array) -> Channels | None:
    """Return the channels of the columns, None where each column is a node of its own.

    Parameters
    ----------
    relation : csr_array of shape (n_columns, n_columns)
        Symmetric and positive partial correlations.
    """
    n_columns = relation.shape[0]
    pairs = sp.coo_array(sp.triu(relation, k=1))
    order = np.lexsort((pairs.col, pairs.row, -pairs.data))
    edges = list(zip(pairs.row[order].tolist(), pairs.col[order].tolist(), strict=True))
    strongest = np.asarray(relation.argmax(axis=1)).ravel()
    for size in SIZES:
        group = _grouped(edges, n_columns, size)
        is_full = np.bincount(group)[group] == size
        if (is_full & (group == group[strongest])).mean() < LEAST_SHARE:
            continue
        channel, agreement = _labels(relation, group, size)
        if agreement >= LEAST_AGREEMENT:
            return Channels(group, channel, int(group.max()) + 1)
    return None


def _grouped(edges: list[tuple[int, int]], n_columns: int, size: int) -> np.ndarray:
    """Return the group (n_columns,) of each column: joined along the edges, up to the size."""
    group = list(range(n_columns))
    members = [[column] for column in range(n_columns)]
    for a, b in edges:
        first, second = sorted((group[a], group[b]))
        if first != second and len(members[first]) + len(members[second]) <= size:
            for column in members[second]:
                group[column] = first
            members[first] += members[second]
            members[second] = []
    return np.unique(group, return_inverse=True)[1].astype(np.int64)


def _labels(relation: sp.csr_array, group: np.ndarray, size: int) -> tuple[np.ndarray, float]:
    """Return the channel (n_columns,) of each column, and the share of matches that agree."""
    n_groups = int(group.max()) + 1
    by_group = np.argsort(group, kind="stable")
    first = np.searchsorted(group[by_group], np.arange(n_groups + 1))
    place = np.empty(len(group), dtype=np.int64)
    place[by_group] = np.arange(len(group)) - first[group[by_group]]
    pairs = sp.coo_array(relation)
    is_between = group[pairs.row] != group[pairs.col]
    a, b, value = (each[is_between] for each in (pairs.row, pairs.col, pairs.data))
    key = group[a] * n_groups + group[b]
    keys, number = np.unique(key, return_inverse=True)
    blocks = np.zeros((len(keys), size, size))
    np.add.at(blocks, (number, place[a], place[b]), value)
    source, target = np.divmod(keys, n_groups)
    around: list[list[int]] = [[] for _ in range(n_groups)]
    for number in np.argsort(-blocks.sum(axis=(1, 2)), kind="stable"):
        if len(around[source[number]]) < N_AROUND:
            around[source[number]].append(int(number))
    # Labels spread from the first group along the strongest links, then every group is matched
    # again with all groups around it until nothing changes.
    label = np.tile(np.arange(size), (n_groups, 1))
    is_labelled = np.zeros(n_groups, dtype=bool)
    for start in range(n_groups):
        waiting = [] if is_labelled[start] else [start]
        is_labelled[start] = True
        while waiting:
            here = waiting.pop(0)
            for number in around[here]:
                there = target[number]
                if not is_labelled[there]:
                    is_labelled[there] = True
                    _, match = linear_sum_assignment(-blocks[number].T)
                    label[there] = label[here][match]
                    waiting.append(int(there))
    for _ in range(N_ROUNDS):
        before = label.copy()
        for here in range(n_groups):
            votes = np.zeros((size, size))
            for number in around[here]:
                votes[:, label[target[number]]] += blocks[number]
            label[here] = linear_sum_assignment(-votes)[1]
        if (label == before).all():
            break
    n_agree = n_matches = 0
    for here in range(n_groups):
        for number in around[here]:
            _, match = linear_sum_assignment(-blocks[number])
            n_agree += int((label[target[number]][match] == label[here]).sum())
            n_matches += size
    return label[group, np.minimum(place, size - 1)], n_agree / max(1, n_matches)
