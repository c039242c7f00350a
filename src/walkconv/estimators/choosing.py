"""The search of the default: which candidates there are, which is best, and what was found."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from walkconv.estimators.candidates import (
    ROWS_PER_COLUMN,
    Candidate,
    Situation,
    is_by_visits,
    list_candidates,
    starts_with_convolution,
    with_penalties,
)
from walkconv.estimators.choice import Choice
from walkconv.estimators.divisions import divide, list_rounds
from walkconv.estimators.relations import Orientation
from walkconv.estimators.search import Outcome, Round, Trial, compare
from walkconv.estimators.settings import is_option
from walkconv.estimators.trials import Parts, Trials

MOST_COLUMNS = 4096
"""Columns that a search lays out at most: the layout costs more than training beyond."""


def choose(parts: Parts) -> Choice:
    """Return what held-back training rows prefer."""
    trials = Trials(parts)
    situation = _situation(trials)
    given = parts.request.given_settings
    candidates = _distinct(list_candidates(situation), given)
    n_values = len(parts.rows.y) * max(1, situation.n_nodes) * situation.n_channels
    trials.divisions = divide(
        parts.rows.y, n_values, parts.seed, is_classification=situation.is_classification
    )
    if len(candidates) == 1 or not trials.divisions:
        return _choice(trials, candidates, Outcome(0, [[] for _ in candidates]))
    rounds = list_rounds(len(trials.divisions))
    trials.n_left = len(candidates) * rounds[0].n_splits + rounds[0].n_kept * rounds[1].n_splits
    candidates = [_with_best_penalty(each, situation, trials) for each in candidates]
    can_win = [
        each.role == "network" or (each.role == "alone" and "n_neighbors" not in given)
        for each in candidates
    ]
    return _choice(trials, candidates, compare(can_win, _run(trials, candidates), rounds))


def _run(trials: Trials, candidates: Sequence[Candidate]) -> Callable[..., Trial | None]:
    return lambda number, division, share: trials.run(candidates[number], division, share)


def _with_best_penalty(candidate: Candidate, situation: Situation, trials: Trials) -> Candidate:
    """Return the candidate with the penalty that does best, if it can be solved in no time."""
    given = trials.parts.request.given_settings
    options = _distinct(with_penalties(candidate, situation), given)
    if len(options) == 1:
        return options[0]
    n_left = trials.n_left
    rounds = [Round(1, 1.0, 2), Round(len(trials.divisions), 1.0, 1)]
    outcome = compare([True] * len(options), _run(trials, options), rounds, tolerance=0.0)
    trials.n_left = n_left
    return options[outcome.chosen]


def _situation(trials: Trials) -> Situation:
    parts, table = trials.parts, trials.table
    n_nodes, n_channels = (0, 1) if table is None else table.shape
    orientation = _orientation(trials)
    positions = None if orientation is None else orientation.positions
    return Situation(
        is_graphs=table is None,
        n_rows=len(parts.rows.y),
        n_nodes=n_nodes,
        n_channels=n_channels,
        n_dims=0 if positions is None else positions.shape[1],
        has_graph=parts.request.settings.graph_source != "none" and n_nodes > 1,
        is_classification=parts.target.is_classification,
        is_whole=parts.is_whole,
    )


def _orientation(trials: Trials) -> Orientation | None:
    """Return the layout of the columns, None if slots cannot be directions."""
    request, table = trials.parts.request, trials.table
    settings, asked = request.settings, request.parameters["order"]
    if table is None or trials.relations is None or settings.graph_source == "none":
        return None
    if is_option(asked, "visits"):
        return None
    is_asked_for = settings.positions is not None or is_option(asked, "direction")
    n_nodes = table.shape[0]
    is_hopeless = n_nodes < 3 or len(table) < ROWS_PER_COLUMN * n_nodes
    if not is_asked_for and (is_hopeless or n_nodes > MOST_COLUMNS or trials.sees_y):
        return None
    if not is_asked_for and _is_short(trials, n_nodes):
        return None
    order = "direction" if is_asked_for else "auto"
    try:
        lesson = trials.lesson(replace(settings, order=order), slice(None))
        return trials.relations.orientation(lesson)
    except ValueError:
        if is_asked_for:
            raise
        return None  # hardly a column varies


def _is_short(trials: Trials, n_nodes: int) -> bool:
    """Tell whether a layout might use up the time limit."""
    return trials.started is not None and 5 * (n_nodes / 1000) ** 2 > 0.2 * trials.started


def _distinct(candidates: Sequence[Candidate], given: Mapping[str, Any]) -> list[Candidate]:
    """Return the candidates under the settings that were given, each network once."""
    distinct: list[Candidate] = []
    for each in candidates:
        candidate = Candidate(_under(given, each), each.role)
        if all(str(candidate) != str(other) for other in distinct):
            distinct.append(candidate)
    return distinct


def _under(given: Mapping[str, Any], candidate: Candidate) -> dict[str, Any]:
    """Return the settings of a candidate under those that were given.

    What makes a twin holds against them. Rows are shifted only where a convolution with directions
    comes first.
    """
    settings = {**candidate.settings, **given}
    if candidate.role != "network":
        settings |= {name: candidate.settings[name] for name in ("order", "shift")}
    if candidate.role == "alone":
        settings["n_neighbors"] = 1
    if not starts_with_convolution(settings["architecture"]):
        settings |= {"order": candidate.settings["order"], "shift": 0}
    elif settings["shift"] and is_by_visits(settings["order"]):
        settings["order"] = "auto"  # which warns that shifts are not used
    return settings


def _choice(trials: Trials, candidates: Sequence[Candidate], outcome: Outcome) -> Choice:
    order = sorted(range(len(candidates)), key=lambda n: _place(outcome, n))
    given = trials.parts.request.given_settings
    settings = candidates[outcome.chosen].settings
    found, member_seconds = outcome.last(outcome.chosen), 0.0
    if found:
        epoch = sum(trial.seconds / trial.n_epochs for trial in found) / len(found)
        n_more = len(trials.parts.rows.y) / len(trials.divisions[0][0])
        member_seconds = epoch * n_more * settings["max_iter"]
    return Choice(
        {name: v for name, v in settings.items() if name not in given or given[name] is not v},
        [_describe(candidates[number], outcome, number) for number in order],
        None if trials.sees_y else trials.relations,
        member_seconds,
    )


def _describe(candidate: Candidate, outcome: Outcome, number: int) -> dict[str, Any]:
    trials = outcome.last(number)
    losses = [trial.losses for trial in trials]
    difference = outcome.difference(number, outcome.chosen)
    scores = [trial.score for trial in trials]
    once = {id(trial): trial for found in outcome.trials[number] for trial in found}
    return {
        "candidate": str(candidate),
        "score": float(np.mean(scores)) if trials else None,
        "loss": float(np.concatenate(losses).mean()) if trials else None,
        "standard_error": None if difference is None else difference[1],
        "epochs": max((trial.n_epochs for trial in trials), default=0),
        "seconds": sum(trial.seconds for trial in once.values()),
        "chosen": number == outcome.chosen,
    }


def _place(outcome: Outcome, number: int) -> tuple[bool, float]:
    """Return what candidates are sorted by: the chosen one first, then by loss."""
    difference = outcome.difference(number, outcome.chosen)
    return number != outcome.chosen, np.inf if difference is None else difference[0]
