"""Neighbours in a file: a row for each filled slot, or the arrays as they are."""

import os
from collections.abc import Sequence

import numpy as np
import polars as pl

from walkconv._files import whole_file
from walkconv.io.formats import NEIGHBORS_ENDINGS, check_writable, ending_of
from walkconv.io.writing import write_table
from walkconv.walks import Neighbors
from walkconv.walks.listing import list_neighbors


def write_neighbors(
    neighbors: Neighbors, names: pl.Series | Sequence[object], path: str | os.PathLike[str]
) -> None:
    """Write the neighbours of named nodes to a file. It appears whole or not at all.

    Parameters
    ----------
    neighbors : Neighbors
        From `select_neighbors`.
    names : polars Series or sequence of shape (n_nodes,)
        Names of the nodes.
    path : path
        A table (see `write_table`) with the columns node, rank, neighbor, visits and sign, one row
        for each filled slot. Or an ``.npz``, which gets the arrays `index`, `visits` and `sign`
        (n_nodes, n_neighbors) and `names` (n_nodes,).

    Examples
    --------
    >>> from walkconv import graph_from_edges, select_neighbors
    >>> from walkconv.io import write_neighbors
    >>> neighbors = select_neighbors(graph_from_edges([(0, 1)], n_nodes=3), n_neighbors=2)
    >>> write_neighbors(neighbors, ["ada", "bob", "cyd"], "-")
    node,rank,neighbor,visits,sign
    ada,1,ada,1.0,1
    ada,2,bob,1.0,1
    bob,1,bob,1.0,1
    bob,2,ada,1.0,1
    cyd,1,cyd,2.0,1
    """
    labels = names if isinstance(names, pl.Series) else pl.Series(names)
    if len(labels) != len(neighbors.index):
        raise ValueError(
            f"names must have one name for each of the {len(neighbors.index)} nodes; got "
            f"{len(labels)}."
        )
    check_writable(path, endings=NEIGHBORS_ENDINGS)
    if ending_of(path) != ".npz":
        write_table(pl.DataFrame(list_neighbors(neighbors, labels)), path)
        return
    # As text and not as objects, which only pickle could write.
    is_text = labels.dtype == pl.String
    array = np.array(labels.to_list(), dtype=str) if is_text else labels.to_numpy()
    with whole_file(path) as part, part.open("wb") as file:
        np.savez(
            file,
            index=neighbors.index,
            visits=neighbors.visits,
            sign=neighbors.sign,
            names=array,
        )
