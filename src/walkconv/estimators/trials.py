"""What a search does with a candidate on a table or on graphs: train it on some rows, score others.

The graph, the layout and the neighbours of a table are found once, on all training rows, unless y
has a part in them.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.model_selection import KFold, StratifiedKFold, train_test_split
from torch import nn

from walkconv.estimators.candidates import (
    ROWS_PER_COLUMN,
    Candidate,
    Situation,
    is_by_visits,
    list_candidates,
    starts_with_convolution,
)
from walkconv.estimators.choice import Choice
from walkconv.estimators.records import Request, Rows, Target
from walkconv.estimators.relations import Orientation, Relations
from walkconv.estimators.samples import Lesson
from walkconv.estimators.search import Outcome, Round, Trial, compare
from walkconv.estimators.settings import Settings, is_option
from walkconv.estimators.table_samples import TableSamples
from walkconv.networks.network import NetworkPlan
from walkconv.training.batches import predict
from walkconv.training.countdown import Countdown
from walkconv.training.loop import BatchLoss, Training, TrainingSettings, fitting_size
from walkconv.training.scoring import score_predictions

FEWEST_ROWS = 10
"""With fewer rows nothing can be held back."""
MOST_ROWS = 3000
"""Rows that a search uses at most."""
FEWEST_EPOCHS, FEWEST_STEPS = 4, 150
"""Epochs and steps of a short training, unless the candidate has fewer."""
FEW_ROWS, SOME_ROWS = 500, 2000
"""Tables with at most so many rows are divided several times, if a fit costs little."""
CHEAP = 2**20
"""Values of a table on which a fit costs little."""
MOST_COLUMNS = 4096
"""Columns that a search lays out at most: the layout costs more than training beyond."""
N_BLOCKS = 20
"""Blocks of held-back rows that a given scorer is computed without."""
SEARCH_SHARE = 0.4
"""Share of `time_limit` for the search."""


@dataclass(frozen=True, eq=False)
class Parts:
    """What a search is given to work with.

    Attributes
    ----------
    request : Request
    target : Target
    rows : Rows
        The training rows, y encoded.
    seed : int
    make_networks : callable
        (request, plan, seed) -> modules
    batch_loss : callable
        (target, y, weight, device) -> loss of a batch
    time_left : callable or None
        Seconds of the time limit that are left.
    """

    request: Request
    target: Target
    rows: Rows
    seed: int
    make_networks: Callable[[Request, NetworkPlan, int], list[nn.Module]]
    batch_loss: Callable[..., BatchLoss]
    time_left: Countdown | None


def choose(parts: Parts) -> Choice:
    """Return what held-back training rows prefer."""
    return _Search(parts).choose()


class _Search:
    """The candidates for some rows, and their trials."""

    def __init__(self, parts: Parts):
        self.parts = parts
        samples = parts.rows.samples
        self.table = samples if isinstance(samples, TableSamples) else None
        self.sees_y = is_option(parts.request.settings.graph, "supervised") or (
            parts.request.settings.graph_source == "callable"
        )
        self.relations = None
        if self.table is not None:
            self.relations = Relations(self.table.X, self.table.names, encoding=self.table.encoding)
        self.started = None if parts.time_left is None else parts.time_left()

    def choose(self) -> Choice:
        situation = self._situation()
        self.candidates = self._distinct(list_candidates(situation))
        self.divisions = self._divisions()
        if len(self.candidates) == 1 or not self.divisions:
            return self._choice(Outcome(0, [[] for _ in self.candidates]))
        rounds = _rounds(len(self.divisions))
        self.n_trials = len(self.candidates) * rounds[0].n_splits
        self.n_trials += rounds[0].n_kept * rounds[1].n_splits
        given = self.parts.request.given_settings
        can_win = [
            each.role == "network" or (each.role == "alone" and "n_neighbors" not in given)
            for each in self.candidates
        ]
        return self._choice(compare(can_win, self._run, rounds))

    def _situation(self) -> Situation:
        settings, rows = self.parts.request.settings, self.parts.rows
        n_nodes, n_channels = (0, 1) if self.table is None else self.table.shape
        orientation = self._orientation()
        positions = None if orientation is None else orientation.positions
        return Situation(
            is_graphs=self.table is None,
            n_rows=len(rows.y),
            n_nodes=n_nodes,
            n_channels=n_channels,
            n_dims=0 if positions is None else positions.shape[1],
            has_graph=settings.graph_source != "none" and n_nodes > 1,
            is_classification=self.parts.target.is_classification,
        )

    def _orientation(self) -> Orientation | None:
        """Return the layout of the columns, None if slots cannot be directions."""
        settings = self.parts.request.settings
        asked = self.parts.request.parameters["order"]
        if self.table is None or self.relations is None or settings.graph_source == "none":
            return None
        if isinstance(asked, str) and asked == "visits":
            return None
        is_asked_for = settings.positions is not None or is_option(asked, "direction")
        n_nodes = self.table.shape[0]
        is_hopeless = n_nodes < 3 or len(self.table) < ROWS_PER_COLUMN * n_nodes
        if not is_asked_for and (is_hopeless or n_nodes > MOST_COLUMNS or self.sees_y):
            return None
        if not is_asked_for and self._is_short(n_nodes):
            return None
        order = "direction" if is_asked_for else "auto"
        try:
            lesson = self._lesson(replace(settings, order=order), slice(None))
            return self.relations.orientation(lesson)
        except ValueError:
            if is_asked_for:
                raise
            return None  # hardly a column varies

    def _is_short(self, n_nodes: int) -> bool:
        """Tell whether a layout might use up the time limit."""
        return self.started is not None and 5 * (n_nodes / 1000) ** 2 > 0.2 * self.started

    def _distinct(self, candidates: Sequence[Candidate]) -> list[Candidate]:
        """Return the candidates under the settings that were given, each network once."""
        given = self.parts.request.given_settings
        distinct: list[Candidate] = []
        for each in candidates:
            candidate = Candidate(_under(given, each), each.role)
            if all(str(candidate) != str(other) for other in distinct):
                distinct.append(candidate)
        return distinct

    def _divisions(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return pairs of rows to train on and rows to score."""
        y, seed = self.parts.rows.y, self.parts.seed
        n_rows = len(y)
        if n_rows < FEWEST_ROWS:
            return []
        classes = y if self.parts.target.is_classification else None
        is_balanced = classes is not None and np.bincount(classes).min() >= 5
        n_values = n_rows * (1 if self.table is None else int(np.prod(self.table.shape)))
        if n_rows <= SOME_ROWS and n_values <= CHEAP:
            folds = (StratifiedKFold if is_balanced else KFold)(5, shuffle=True, random_state=seed)
            divisions = list(folds.split(np.empty(n_rows), classes))
            return divisions[:4] if n_rows <= FEW_ROWS else divisions[:2]
        n_used = min(n_rows, MOST_ROWS)
        train, apart = train_test_split(
            np.arange(n_rows),
            train_size=round(0.75 * n_used),
            test_size=round(0.25 * n_used),
            random_state=seed,
            stratify=classes if is_balanced else None,
        )
        return [(train, apart)]

    def _run(self, candidate: int, division: int, share: float) -> Trial | None:
        if self._time_for_trial() == 0:
            return None
        started = time.perf_counter()
        try:
            outputs, n_epochs = self._train(self.candidates[candidate], division, share)
        except ValueError:
            return None  # it diverged, or these rows are too few for it
        losses, score = self._score(outputs, self.divisions[division][1])
        return Trial(losses, score, time.perf_counter() - started, n_epochs)

    def _train(self, candidate: Candidate, division: int, share: float) -> tuple[np.ndarray, int]:
        """Return the outputs for the held-back rows, and the epochs of the training."""
        train, apart = self.divisions[division]
        parts, target = self.parts, self.parts.target
        request = parts.request.choosing(candidate.settings)
        settings = self._settings_of(candidate, request.settings)
        n_epochs = _short(len(train), share, settings.training)
        training_settings = replace(settings.training, max_iter=n_epochs, patience=None)
        settings = replace(settings, n_members=1, training=training_settings)
        rows, held = parts.rows.take(train), parts.rows.take(apart)
        lesson = self._lesson(settings, train)
        learned = rows.samples.learn(lesson, None)
        plan = learned.plan(settings, target.n_outputs)
        request = replace(request, settings=settings)
        network = parts.make_networks(request, plan, parts.seed)[0]
        loss = parts.batch_loss(target, rows.y, lesson.weight, settings.device)
        training = Training(
            network,
            learned.training_batches(rows.samples, settings),
            loss,
            settings.training,
            (parts.seed, division),
        )
        training.seconds = self._time_for_trial()
        while not training.is_finished:
            training.run_epoch()
        batches = learned.batches(held.samples, settings.device)
        outputs = predict(network, batches, settings.training.batch_size)
        if not np.isfinite(outputs).all():
            raise ValueError("the outputs are not finite")
        return outputs, training.epoch

    def _score(self, outputs: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, float]:
        """Return losses whose mean decides, and the score; a given scorer decides by itself."""
        parts, target = self.parts, self.parts.target
        y, weight = parts.rows.y[rows], parts.rows.weight[rows]
        scoring = parts.request.settings.scoring
        if scoring is None:
            loss_weight = target.loss_weight(
                y, weight, parts.request.parameters.get("class_weight")
            )
            losses = target.errors(outputs, y) * loss_weight / max(loss_weight.mean(), 1e-300)
            return losses, target.score(outputs, y, weight)

        def score_of(some: np.ndarray) -> float:
            answers = target.answers(outputs[some])
            return score_predictions(scoring, answers, parts.rows.given[rows][some], weight[some])

        values, score = jackknife(score_of, len(rows))
        return -values, score

    def _settings_of(self, candidate: Candidate, settings: Settings) -> Settings:
        if candidate.role != "random":
            return settings
        assert self.table is not None
        n_nodes = self.table.shape[0]
        graph = random_neighbors(n_nodes, settings.n_neighbors, self.parts.seed)
        return replace(settings, graph=graph)

    def _lesson(self, settings: Settings, rows: np.ndarray | slice) -> Lesson:
        parts = self.parts
        y, weight = parts.rows.y[rows], parts.rows.weight[rows]
        class_weight = parts.request.parameters.get("class_weight")
        weight = parts.target.loss_weight(y, weight, class_weight)
        is_shared = not self.sees_y or isinstance(settings.graph, sp.csr_array)
        return Lesson(
            settings,
            parts.rows.given[rows],
            parts.target.is_classification,
            weight,
            parts.seed,
            self.relations if is_shared else None,
        )

    def _time_for_trial(self) -> float | None:
        """Return the seconds that a trial may take: 0 if there are none, None without a limit."""
        time_left = self.parts.time_left
        if time_left is None or self.started is None:
            return None
        left = time_left() - (1 - SEARCH_SHARE) * self.started
        return max(0.0, min(left, SEARCH_SHARE * self.started / self.n_trials))

    def _choice(self, outcome: Outcome) -> Choice:
        order = sorted(range(len(self.candidates)), key=lambda n: _place(outcome, n))
        choices = [self._describe(outcome, number) for number in order]
        given = self.parts.request.given_settings
        settings = self.candidates[outcome.chosen].settings
        trials, member_seconds = outcome.last(outcome.chosen), 0.0
        if trials:
            epoch = sum(trial.seconds / trial.n_epochs for trial in trials) / len(trials)
            n_more = len(self.parts.rows.y) / len(self.divisions[0][0])
            member_seconds = epoch * n_more * settings["max_iter"]
        return Choice(
            {name: v for name, v in settings.items() if name not in given or given[name] is not v},
            choices,
            None if self.sees_y else self.relations,
            member_seconds,
        )

    def _describe(self, outcome: Outcome, number: int) -> dict[str, Any]:
        trials = outcome.last(number)
        losses = [trial.losses for trial in trials]
        difference = outcome.difference(number, outcome.chosen)
        scores = [trial.score for trial in trials]
        return {
            "candidate": str(self.candidates[number]),
            "score": float(np.mean(scores)) if trials else None,
            "loss": float(np.concatenate(losses).mean()) if trials else None,
            "standard_error": None if difference is None else difference[1],
            "epochs": max((trial.n_epochs for trial in trials), default=0),
            "seconds": sum(t.seconds for found in outcome.trials[number] for t in found),
            "chosen": number == outcome.chosen,
        }


def jackknife(score_of: Callable[[np.ndarray], float], n_rows: int) -> tuple[np.ndarray, float]:
    """Return values whose mean is about a score of rows and whose spread is its error.

    The score is computed again without each of a few blocks of rows (Quenouille's pseudo-values).

    Examples
    --------
    >>> import numpy as np
    >>> from walkconv.estimators.trials import jackknife
    >>> values, score = jackknife(lambda rows: float(rows.mean()), 100)
    >>> score, round(float(values.mean()), 6)
    (49.5, 49.5)
    """
    rows = np.arange(n_rows)
    blocks = np.array_split(np.random.default_rng(0).permutation(n_rows), min(N_BLOCKS, n_rows))
    score = score_of(rows)
    without = [score_of(np.setdiff1d(rows, block)) for block in blocks]
    return len(blocks) * score - (len(blocks) - 1) * np.array(without), score


def random_neighbors(n_nodes: int, n_neighbors: int, seed: int) -> sp.csr_array:
    """Return a graph in which every node points to ``n_neighbors - 1`` others, drawn at random.

    Examples
    --------
    >>> from walkconv.estimators.trials import random_neighbors
    >>> graph = random_neighbors(6, 3, seed=0)
    >>> graph.sum(axis=1).tolist(), bool(graph.diagonal().any())
    ([2.0, 2.0, 2.0, 2.0, 2.0, 2.0], False)
    """
    rng = np.random.default_rng(seed)
    n_others = min(n_neighbors, n_nodes) - 1
    draws = (rng.choice(n_nodes - 1, n_others, replace=False) for _ in range(n_nodes))
    others = np.array(list(draws), dtype=np.int64).reshape(n_nodes, n_others)
    others += others >= np.arange(n_nodes)[:, None]  # itself is not one of them
    start = np.arange(n_nodes + 1) * n_others
    values = np.ones(others.size)
    return sp.csr_array((values, others.ravel(), start), shape=(n_nodes, n_nodes))


def _rounds(n_divisions: int) -> list[Round]:
    if n_divisions == 1:
        return [Round(1, 0.25, 2), Round(1, 0.5, 1)]
    return [Round(2, 0.3, 2), Round(n_divisions, 0.5, 1)]


def _short(n_rows: int, share: float, training: TrainingSettings) -> int:
    """Return a share of the epochs, and more if these have few steps."""
    n_steps = n_rows / (training.batch_size or fitting_size(n_rows))
    least = max(FEWEST_EPOCHS, round(FEWEST_STEPS / max(1, n_steps)))
    return min(max(least, round(share * training.max_iter)), training.max_iter)


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


def _place(outcome: Outcome, number: int) -> tuple[bool, float]:
    """Return what candidates are sorted by: the chosen one first, then by loss."""
    difference = outcome.difference(number, outcome.chosen)
    return number != outcome.chosen, np.inf if difference is None else difference[0]
