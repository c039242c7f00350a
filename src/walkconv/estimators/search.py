"""Candidates compared on held-back rows by successive halving.

A short training tells most candidates apart, so only the best of them get a longer one. Nothing
here knows what a candidate is: `run` trains and scores it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

CLEAR = 3.0
"""Standard errors by which a candidate must lead all others to end a search early."""
Run = Callable[[int, int, float], "Trial | None"]


@dataclass(frozen=True, eq=False)
class Trial:
    """What held-back rows say about one trained network.

    Attributes
    ----------
    losses : ndarray of shape (n_held,)
        Of each held-back row, lower is better.
    score : float
        Of all of them, higher is better.
    seconds : float
    n_epochs : int
    """

    losses: np.ndarray
    score: float
    seconds: float
    n_epochs: int


@dataclass(frozen=True)
class Round:
    """One round of the search.

    Attributes
    ----------
    n_splits : int
        Each candidate is trained and scored on the first `n_splits` divisions of the rows.
    share : float
        Share of its epochs.
    n_kept : int
        Candidates that go on.
    """

    n_splits: int
    share: float
    n_kept: int


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a search found.

    Attributes
    ----------
    chosen : int
        Number of the chosen candidate.
    trials : list of list of list of Trial
        For each candidate and round, those on each division; empty if a candidate failed or time
        ran out before it.
    """

    chosen: int
    trials: list[list[list[Trial]]]

    def last(self, candidate: int) -> list[Trial]:
        """Return the trials of the last round of a candidate; empty if there are none."""
        return next((found for found in reversed(self.trials[candidate]) if found), [])

    def difference(self, candidate: int, other: int) -> tuple[float, float] | None:
        """Return by how much the loss of a candidate is above that of another one.

        Returns
        -------
        mean, standard error
            Paired by row, in the last round that both took part in; None if there is none.
        """
        rounds = zip(self.trials[candidate], self.trials[other], strict=False)
        both = [(a, b) for a, b in rounds if a and len(a) == len(b)]
        if not both:
            return None
        return _paired(*both[-1])


def compare(
    can_win: Sequence[bool], run: Run, rounds: Sequence[Round], tolerance: float = 1.0
) -> Outcome:
    """Return the outcome of a search.

    Parameters
    ----------
    can_win : sequence of bool
        Whether each candidate may be chosen, in order of preference. Those that may not take part
        in the first round.
    run : callable
        (candidate, division, share of its epochs) -> trial; None if the candidate failed or there
        is no time for it.
    rounds : sequence of Round
    tolerance : float, default 1
        Standard errors by which the loss of a preferred candidate may be above the least.
    """
    trials: list[list[list[Trial]]] = [[] for _ in can_win]
    running = list(range(len(can_win)))
    chosen: int | None = None
    for each in rounds:
        for candidate in running:
            trials[candidate].append(_trials_of(candidate, run, each))
        alive = [candidate for candidate in running if trials[candidate][-1]]
        ranked = sorted(alive, key=lambda candidate: _mean_loss(trials[candidate][-1]))
        winners = [candidate for candidate in ranked if can_win[candidate]]
        if not winners or chosen not in (None, *alive):
            break  # no time: what the round before has found stays
        chosen = _preferred(winners, trials, tolerance)
        if all(_is_clear(trials[chosen][-1], trials[n][-1]) for n in winners if n != chosen):
            break
        kept = {chosen, *winners[: each.n_kept]}
        # The chosen one first, in case time runs out.
        running = sorted(kept, key=lambda candidate: (candidate != chosen, candidate))
    return Outcome(0 if chosen is None else chosen, trials)


def _trials_of(candidate: int, run: Run, each: Round) -> list[Trial]:
    """Return the trials of a round, none if one of them failed."""
    found: list[Trial] = []
    for split in range(each.n_splits):
        trial = run(candidate, split, each.share)
        if trial is None:
            return []
        found.append(trial)
    return found


def _preferred(ranked: Sequence[int], trials: list[list[list[Trial]]], tolerance: float) -> int:
    """Return the first candidate whose loss is within some standard errors of the least."""
    best = ranked[0]
    for candidate in sorted(ranked):
        mean, error = _paired(trials[candidate][-1], trials[best][-1])
        if mean <= tolerance * error:
            return candidate
    return best


def _is_clear(some: Sequence[Trial], others: Sequence[Trial]) -> bool:
    mean, error = _paired(others, some)
    return mean > CLEAR * error


def _mean_loss(trials: Sequence[Trial]) -> float:
    return float(np.concatenate([trial.losses for trial in trials]).mean())


def _paired(some: Sequence[Trial], others: Sequence[Trial]) -> tuple[float, float]:
    """Return the mean of the differences of losses, and its standard error."""
    differences = np.concatenate([a.losses - b.losses for a, b in zip(some, others, strict=True)])
    error = differences.std(ddof=1) / np.sqrt(len(differences)) if len(differences) > 1 else 0.0
    return float(differences.mean()), float(error)
