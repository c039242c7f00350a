"""A candidate on a table or on graphs: trained on some rows, scored on others.

The graph, the layout and the neighbours of a table are found once, on all training rows, unless y
has a part in them.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from torch import nn

from walkconv.estimators.candidates import Candidate
from walkconv.estimators.divisions import Division, short_training
from walkconv.estimators.records import Request, Rows, Target
from walkconv.estimators.relations import Relations
from walkconv.estimators.samples import Lesson
from walkconv.estimators.search import Trial
from walkconv.estimators.settings import Settings, is_option
from walkconv.estimators.table_samples import TableSamples
from walkconv.networks.network import NetworkPlan
from walkconv.training.batches import predict
from walkconv.training.countdown import Countdown
from walkconv.training.loop import BatchLoss, Training
from walkconv.training.scoring import score_predictions

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
    is_whole : bool
        Whether these are all training rows, and not a sample or a part of a stream.
    """

    request: Request
    target: Target
    rows: Rows
    seed: int
    make_networks: Callable[[Request, NetworkPlan, int], list[nn.Module]]
    batch_loss: Callable[..., BatchLoss]
    time_left: Countdown | None
    is_whole: bool


class Trials:
    """Candidates trained and scored on divisions of some rows.

    Parameters
    ----------
    parts : Parts

    Attributes
    ----------
    table : TableSamples or None
        The samples if they are rows of a table.
    relations : Relations or None
        What was found about the columns of the table so far.
    sees_y : bool
        Whether y has a part in the graph: then it is learned again for each division.
    divisions : list of Division
        Set before the first trial.
    n_left : int
        Trials to come, which share the time that is left; set before the first trial.
    """

    def __init__(self, parts: Parts):
        self.parts = parts
        samples = parts.rows.samples
        self.table = samples if isinstance(samples, TableSamples) else None
        settings = parts.request.settings
        self.sees_y = is_option(settings.graph, "supervised") or (
            settings.graph_source == "callable"
        )
        self.relations = None
        if self.table is not None:
            self.relations = Relations(self.table.X, self.table.names, encoding=self.table.encoding)
        self.started = None if parts.time_left is None else parts.time_left()
        self.divisions: list[Division] = []
        self.n_left = 1
        self._known: dict[tuple[str, int, int], Trial | None] = {}

    def run(self, candidate: Candidate, division: int, share: float) -> Trial | None:
        """Return the trial of a candidate with a share of its epochs; None if it fails."""
        n_rows = len(self.divisions[division][0])
        request = self.parts.request.choosing(candidate.settings)
        n_epochs = short_training(n_rows, share, request.settings.training)
        what = str(candidate), division, n_epochs
        if what not in self._known:
            self._known[what] = self._trial(candidate, division, n_epochs)
        self.n_left = max(1, self.n_left - 1)
        return self._known[what]

    def lesson(self, settings: Settings, rows: np.ndarray | slice) -> Lesson:
        """Return what is known when something is learned about some of the rows."""
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

    def _trial(self, candidate: Candidate, division: int, n_epochs: int) -> Trial | None:
        seconds = self._seconds()
        if seconds == 0:
            return None
        started = time.perf_counter()
        try:
            outputs, n_epochs = self._train(candidate, division, n_epochs, seconds)
        except ValueError:
            return None  # it diverged, or these rows are too few for it
        losses, score = self._score(outputs, self.divisions[division][1])
        return Trial(losses, score, time.perf_counter() - started, n_epochs)

    def _seconds(self) -> float | None:
        """Return the seconds that a trial may take: 0 if there are none, None without a limit."""
        if self.parts.time_left is None or self.started is None:
            return None
        left = self.parts.time_left() - (1 - SEARCH_SHARE) * self.started
        return max(0.0, left / self.n_left)

    def _train(
        self, candidate: Candidate, division: int, n_epochs: int, seconds: float | None
    ) -> tuple[np.ndarray, int]:
        """Return the outputs for the held-back rows, and the epochs of the training."""
        train, apart = self.divisions[division]
        parts, target = self.parts, self.parts.target
        request = parts.request.choosing(candidate.settings)
        settings = self._settings_of(candidate, request.settings)
        training_settings = replace(settings.training, max_iter=n_epochs, patience=None)
        settings = replace(settings, n_members=1, training=training_settings)
        rows, held = parts.rows.take(train), parts.rows.take(apart)
        lesson = self.lesson(settings, train)
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
        training.seconds = seconds
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
