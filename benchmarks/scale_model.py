"""What large problems cost, by counting: edges walked, multiplications, bytes.

How long one of these takes is read off one measured size; the other sizes then check the model, and
the largest graph of all is what it is for. `docs/scale.md` says what follows.
"""

from dataclasses import dataclass

N_TALLIES = 3
"""Lists of all nodes that a thread adds up visits in: here, there, and its own."""
PLACES_OF_32_BITS = 2**31


@dataclass(frozen=True)
class Selection:
    """Two steps on a random graph.

    Attributes
    ----------
    n_nodes : int
    mean_degree : float
    n_neighbors : int
        The paper's p.
    n_threads : int
    """

    n_nodes: int
    mean_degree: float
    n_neighbors: int
    n_threads: int

    @property
    def n_edges_walked(self) -> float:
        """From each node along its d edges and along all edges of their ends, d + 1 each."""
        return self.n_nodes * self.mean_degree * (self.mean_degree + 2)

    @property
    def graph_bytes(self) -> float:
        """A weight and a place for each entry, and where each row begins."""
        n_entries = self.n_nodes * self.mean_degree
        place = 4 if n_entries < PLACES_OF_32_BITS else 8
        return n_entries * (8 + place) + self.n_nodes * place

    @property
    def tally_bytes(self) -> float:
        """An amount of each node and a list of the nodes, for one thread."""
        place = 4 if self.n_nodes * self.mean_degree < PLACES_OF_32_BITS else 8
        return N_TALLIES * self.n_nodes * (8 + place)

    @property
    def answer_bytes(self) -> float:
        """Neighbours and visits."""
        return self.n_nodes * self.n_neighbors * 16

    @property
    def extra_bytes(self) -> float:
        """Beyond the graph: its checked copy, the probabilities, the order of the rows, and all."""
        order = 8 * self.n_nodes
        return 2 * self.graph_bytes + order + self.n_threads * self.tally_bytes + self.answer_bytes


def n_products(n_columns: int, n_rows: int) -> float:
    """Return how many multiplications half of the correlations of all columns take."""
    return n_columns**2 / 2 * n_rows
