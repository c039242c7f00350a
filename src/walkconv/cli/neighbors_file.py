"""Neighbours in a file: a row for each slot that is filled, or the arrays as they are."""

import numpy as np
import polars as pl

from walkconv import Neighbors
from walkconv._files import whole_file
from walkconv.cli.tables import ending_of, write_table
from walkconv.walks.listing import list_neighbors


def write_neighbors(found: Neighbors, names: pl.Series, path: str) -> None:
    """Write the neighbours of the named nodes (n_nodes,), in a format by the end of the name.

    An npz has `index`, `visits` and `sign` (n_nodes, n_neighbors) and `names` (n_nodes,).
    """
    if ending_of(path) == ".npz":
        text = names.dtype == pl.String
        labels = np.array(names.to_list(), dtype=str) if text else names.to_numpy()
        with whole_file(path) as part, part.open("wb") as file:
            np.savez(file, index=found.index, visits=found.visits, sign=found.sign, names=labels)
        return
    write_table(pl.DataFrame(list_neighbors(found, names)), path)
