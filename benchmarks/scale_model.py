"""What large problems cost, by counting: edges walked, multiplications, bytes.

How long one of these takes is read off one measured size; the other sizes then check the model, and
the largest graph of all is what it is for. `docs/scale.md` says what follows.
"""

from dataclasses import dataclass

from page import table

LARGEST = {"n_nodes": 10**9, "mean_degree": 200, "n_neighbors": 10, "n_threads": 64}
"""A billion nodes and a hundred billion edges, each followed both ways."""
N_TALLIES = 3
"""Lists of all nodes that a thread adds up visits in: here, there, and its own."""
PLACES_OF_32_BITS = 2**31


@dataclass(frozen=True)
class Selection:
    """Two steps on a random graph without weights.

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
    def place_bytes(self) -> int:
        """Of a place in the graph."""
        return 4 if self.n_nodes * self.mean_degree < PLACES_OF_32_BITS else 8

    @property
    def graph_bytes(self) -> float:
        """A weight and a place for each entry, and where each row begins."""
        n_entries = self.n_nodes * self.mean_degree
        return n_entries * (8 + self.place_bytes) + self.n_nodes * self.place_bytes

    @property
    def step_bytes(self) -> float:
        """A place for each entry and where each row begins: all is there but probabilities."""
        return (self.n_nodes * self.mean_degree + self.n_nodes) * self.place_bytes

    @property
    def tally_bytes(self) -> float:
        """An amount of each node and a list of the nodes, for one thread."""
        return N_TALLIES * self.n_nodes * (8 + self.place_bytes)

    @property
    def answer_bytes(self) -> float:
        """Neighbours and visits."""
        return self.n_nodes * self.n_neighbors * 16

    @property
    def extra_bytes(self) -> float:
        """Beyond the graph: its checked copy, its steps, the order of the rows, and all."""
        order = 8 * self.n_nodes
        tallies = self.n_threads * self.tally_bytes
        return self.graph_bytes + self.step_bytes + order + tallies + self.answer_bytes


def n_products(n_columns: int, n_rows: int) -> float:
    """Return how many multiplications half of the correlations of all columns take."""
    return n_columns**2 / 2 * n_rows


def model_section(results: dict) -> list[str]:
    """Return the model beside what was measured, and what it says of a very large graph."""
    growth = results["growth"]["measured"]
    n_threads = results["growth"]["made_with"]["threads"]
    counted = [Selection(row["n_nodes"], 10, 10, n_threads) for row in growth]
    middle = len(growth) // 2
    each = growth[middle]["seconds"] * n_threads / counted[middle].n_edges_walked
    lines = []
    for row, model in zip(growth, counted, strict=True):
        seconds = model.n_edges_walked * each / n_threads
        lines.append(
            [
                f"{row['n_nodes']:,} nodes",
                f"{model.n_edges_walked:.1e} edges",
                f"{seconds:.2f} s",
                f"{row['seconds']:.2f} s",
                f"{row['seconds'] / seconds:.2f}",
                f"{model.extra_bytes / 2**30:.2f} GiB",
                f"{row['extra_bytes'] / 2**30:.2f} GiB",
                f"{row['extra_bytes'] / model.extra_bytes:.2f}",
            ]
        )
    bare = [row for row in results["tables"]["measured"] if row["rival"] == "bare products"]
    rate = n_products(bare[0]["n_columns"], bare[0]["n_rows"]) / bare[0]["rival_seconds"]
    for row in bare:
        products = n_products(row["n_columns"], row["n_rows"])
        lines.append(
            [
                f"{row['n_columns']:,} columns",
                f"{products:.1e} products",
                f"{products / rate:.2f} s",
                f"{row['seconds']:.2f} s",
                f"{row['seconds'] * rate / products:.2f}",
                *[""] * 3,
            ]
        )
    header = ["", "counted", "time by the model", "measured", "ratio"]
    header += ["memory by the model", "measured", "ratio"]
    return [
        "## A cost model",
        "Counted, not fitted, but for two constants: walking along an edge and ranking what is "
        f"found takes {each * 1e9:.0f} ns of one core (from the middle row), and a core multiplies "
        f"and adds {rate / n_threads / 1e9:.0f} billion numbers a second (from the bare products "
        "of the first table). Bytes are those beyond the graph.",
        table(header, lines),
        _forecast(each),
    ]


def _forecast(seconds_of_edge: float) -> str:
    largest = Selection(**LARGEST)
    hours = largest.n_edges_walked * seconds_of_edge / 3600
    return (
        f"For {largest.n_nodes:.0e} nodes of mean degree {largest.mean_degree}, two steps and "
        f"p = {largest.n_neighbors}, it says: {largest.n_edges_walked:.1e} edges walked, "
        f"{hours:,.0f} core-hours; the graph {largest.graph_bytes / 1e12:.1f} TB, its checked copy "
        f"as much, its steps {largest.step_bytes / 1e12:.1f} TB; tallies "
        f"{largest.tally_bytes / 1e9:.0f} GB for every thread; the answer "
        f"{largest.answer_bytes / 1e9:.0f} GB."
    )
