"""The networks that a search compares: a short list for each situation, from the samples alone.

The list is in order of preference. The first is what the search keeps unless another one is better
by more than chance. docs/default.md says on which tables the rules were chosen.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from walkconv.training.loop import fitting_size

Role = Literal["network", "alone", "random"]
WIDE = 200
"""Columns from which on a filter may be wide."""
PENALTIES = (1.0, 0.1, 0.01, 1e-3, 1e-4)
"""Penalties of a linear model that are compared, in shares of the mean variance of its rows."""
SOLVABLE = 2**24
"""Values of a table over which a linear model is solved: one pass takes some 10 ms."""
FEW_STEPS = 2000
"""Rows up to which a plain network takes about 300 steps."""
ROWS_PER_COLUMN = 1 / 20
"""A table with fewer rows has few rows for its columns."""
WIDE_FILTER = 400
"""Neighbours of a wide filter, or half of the columns if these are fewer."""
MOST_NEIGHBORS = 2_000_000
"""Neighbours of all columns together that a wide filter may have: a layer costs in proportion."""
MOST_WIDE = 20_000
"""Columns up to which a convolution may feed a large layer."""
MANY_ROWS = 1000
"""Rows from which on pictures are shifted."""
SMALL = 2**18
"""Values of a table on which three members cost little."""


@dataclass(frozen=True)
class Situation:
    """What the choice of candidates depends on.

    Attributes
    ----------
    is_graphs : bool
        Whether samples are graphs rather than rows of a table.
    n_rows : int
    n_nodes : int
        Columns of the table; 0 if samples are graphs.
    n_channels : int
        Values of a column.
    n_dims : int
        Axes of the layout if the columns have one, else 0.
    has_graph : bool
        Whether convolutions may be used.
    is_classification : bool
    is_whole : bool
        Whether these are all training rows, and not a sample or a part of a stream.
    """

    is_graphs: bool
    n_rows: int
    n_nodes: int
    n_channels: int
    n_dims: int
    has_graph: bool
    is_classification: bool
    is_whole: bool = True


@dataclass(frozen=True)
class Candidate:
    """A network and its training.

    Attributes
    ----------
    settings : mapping of str to value
        A value for every setting of `CHOSEN`.
    role : "network", "alone" or "random"
        "alone" and "random" are a network with ``n_neighbors=1`` and with random neighbours, which
        say whether the graph helps. Random neighbours are never chosen.
    """

    settings: Mapping[str, Any] = field(hash=False)
    role: Role = "network"

    def __str__(self) -> str:
        """Return the candidate in words."""
        settings = self.settings
        words = [settings["architecture"] or "linear model"]
        if starts_with_convolution(settings["architecture"]):
            n_neighbors = settings["n_neighbors"]
            kind = "neighbours" if is_by_visits(settings["order"]) else "directions"
            if self.role == "random":
                kind = "random neighbours"
            words.append("no neighbours" if n_neighbors == 1 else f"{n_neighbors} {kind}")
        if settings["solver"] == "lbfgs":
            words.append(f"penalty {settings['weight_decay']:.3g}")
        if settings["shift"]:
            words.append(f"rows shifted by up to {settings['shift']}")
        if settings["standardize"] == "relevance":
            words.append("columns weighted by relevance")
        return ", ".join(words)


def list_candidates(situation: Situation) -> list[Candidate]:
    """Return the candidates for a situation, the preferred one first.

    Examples
    --------
    >>> from walkconv.estimators.candidates import Situation, list_candidates
    >>> wide = Situation(False, 1500, 4000, 1, 0, True, False)
    >>> print(*list_candidates(wide), sep=chr(10))
    C10-FC100, 400 neighbours, columns weighted by relevance
    C10-FC100, no neighbours, columns weighted by relevance
    C10-FC100, 400 random neighbours, columns weighted by relevance
    C8-FC128, 9 neighbours
    FC300-FC100, columns weighted by relevance
    linear model, penalty 0.0267
    """
    if situation.is_graphs:
        return _for_graphs(situation)
    if not situation.has_graph:
        return _plain(situation)
    if situation.n_dims:
        networks = _directional(situation)
    elif situation.n_nodes < WIDE:
        networks = _narrow(situation)
    elif situation.n_rows < ROWS_PER_COLUMN * situation.n_nodes or situation.n_nodes > MOST_WIDE:
        networks = _few_rows(situation)
    else:
        networks = _wide(situation)
    graphic = next(each for each in networks if each.settings["n_neighbors"] != 1)
    place = networks.index(graphic) + 1
    return networks[:place] + _twins(graphic) + networks[place:]


def starts_with_convolution(architecture: str) -> bool:
    """Tell whether the first layer is a C layer."""
    return architecture.startswith("C")


def is_by_visits(order: Any) -> bool:
    """Tell whether an order is that of visits, and not of directions or given positions."""
    return isinstance(order, str) and order != "direction"


def _settings(situation: Situation, architecture: str, **others: Any) -> dict[str, Any]:
    """Return the settings of a candidate: those of a plain network, and what differs."""
    usual = {
        "architecture": architecture,
        "n_neighbors": 1,
        "order": "visits",
        "shift": 0,
        "standardize": True,
        "dropout": 0.2 if situation.is_classification else 0.5,
        "solver": "adamw",
        "learning_rate": 1e-3,
        "weight_decay": 1e-2,
        "max_iter": 20,
        "n_members": _members(situation),
    }
    return usual | others


def _members(situation: Situation) -> int:
    if situation.n_rows * max(100, situation.n_nodes * situation.n_channels) <= SMALL:
        return 3
    return 1 if situation.is_classification else 3


def _directional(situation: Situation) -> list[Candidate]:
    n_nodes, n_dims = situation.n_nodes, situation.n_dims
    shared = {
        "order": "direction",
        "n_neighbors": min({1: 9, 2: 25, 3: 27}[n_dims], n_nodes),
        "learning_rate": 4e-3,
        "weight_decay": 0.02,
        "max_iter": _between(8, 50_000 / situation.n_rows, 40),
        "n_members": 1 if situation.is_classification else 3,
    }
    if n_nodes >= 256:
        architecture = "C32-P4-C64-P4-FC128"
    elif n_nodes >= 48:
        architecture = "C32-P4-C64-FC128"
    else:
        architecture = "C32-FC128"
    fixed = Candidate(_settings(situation, architecture, **shared, dropout=0.4))
    if n_dims == 2 and n_nodes >= 256 and situation.n_rows >= MANY_ROWS:
        # On small pictures and on series that were taken for planes shifts did harm.
        shifted = Candidate({**fixed.settings, "shift": 1})
        return [shifted, fixed, *_plain(situation)]
    if n_dims > 1 or n_nodes < 48:
        return [fixed, *_plain(situation)]
    # What a line shows may stand anywhere on it: a readout does not ask where.
    moving = Candidate(_settings(situation, "C32-P4-C64-P4-C64-G-FC64", **shared, dropout=0.2))
    return [moving, fixed, *_plain(situation)]


def _wide(situation: Situation) -> list[Candidate]:
    shared = {"standardize": "relevance"}
    n_nodes = situation.n_nodes
    n_neighbors = min(WIDE_FILTER, n_nodes // 2, MOST_NEIGHBORS // n_nodes)
    return [
        Candidate(_settings(situation, "C10-FC100", n_neighbors=n_neighbors, **shared)),
        Candidate(_settings(situation, "C8-FC128", n_neighbors=9)),
        Candidate(_settings(situation, "FC300-FC100", **shared)),
        _linear(situation),
    ]


def _few_rows(situation: Situation) -> list[Candidate]:
    shared = {"standardize": "relevance", "n_members": 5}
    return [
        _linear(situation),
        Candidate(_settings(situation, "FC64", **shared)),
        Candidate(_settings(situation, "C4-FC32", n_neighbors=9, **shared)),
    ]


def _narrow(situation: Situation) -> list[Candidate]:
    n_neighbors = min(9, situation.n_nodes)
    network, linear = _plain(situation)
    settings = {**network.settings, "architecture": "C8-FC128", "n_neighbors": n_neighbors}
    return [linear, network, Candidate(settings)]


def _plain(situation: Situation) -> list[Candidate]:
    """Return a plain network and a linear model.

    On small tables 150 to 300 steps at a high rate did as well on held-out rows as 1,000 steps at a
    low one.
    """
    settings: dict[str, Any] = {}
    if situation.n_rows <= FEW_STEPS:
        n_epochs = 300 * fitting_size(situation.n_rows) / situation.n_rows
        settings = {"learning_rate": 3e-3, "max_iter": _between(8, n_epochs, 60)}
    if situation.n_nodes >= WIDE:
        settings["standardize"] = "relevance"
    return [Candidate(_settings(situation, "FC256-FC128", **settings)), _linear(situation)]


def with_penalties(candidate: Candidate, situation: Situation) -> list[Candidate]:
    """Return a linear model with each penalty that is worth a look, any other candidate alone."""
    if candidate.settings["solver"] != "lbfgs":
        return [candidate]
    unit = _variance(situation)
    return [
        Candidate({**candidate.settings, "weight_decay": unit * penalty}, candidate.role)
        for penalty in PENALTIES
    ]


def _linear(situation: Situation) -> Candidate:
    """Return a linear model, solved at once where all rows are at hand and not too many."""
    n_values = situation.n_rows * situation.n_nodes * situation.n_channels
    if situation.is_whole and n_values <= SOLVABLE:
        solved = {"solver": "lbfgs", "max_iter": 1, "n_members": 1}
        return Candidate(
            _settings(situation, "", weight_decay=0.01 * _variance(situation), **solved)
        )
    n_epochs = _between(20, 3000 * fitting_size(situation.n_rows) / situation.n_rows, 100)
    return Candidate(_settings(situation, "", learning_rate=1e-2, max_iter=n_epochs))


def _variance(situation: Situation) -> float:
    """Return the mean variance of scaled rows along the directions that they span."""
    n_values = situation.n_nodes * situation.n_channels
    return n_values / min(situation.n_rows, n_values)


def _for_graphs(situation: Situation) -> list[Candidate]:
    shared = {"max_iter": 30, "dropout": 0.2}
    deep = Candidate(_settings(situation, "C32-C32-C32-Gsum-FC64", n_neighbors=4, **shared))
    return [
        deep,
        Candidate(_settings(situation, "C16-Glog_sum-FC32", n_neighbors=4, **shared)),
        Candidate(_settings(situation, "Gsum-FC64-FC64", **shared)),
        Candidate(_settings(situation, "Glog_sum-FC64-FC64", **shared)),
        Candidate({**deep.settings, "n_neighbors": 1}, "alone"),
    ]


def _twins(network: Candidate) -> list[Candidate]:
    """Return the network with no neighbours, and with random ones."""
    plain = {**network.settings, "order": "visits", "shift": 0}
    return [Candidate({**plain, "n_neighbors": 1}, "alone"), Candidate(plain, "random")]


def _between(least: int, value: float, most: int) -> int:
    return min(max(round(value), least), most)
