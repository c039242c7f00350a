"""Successive halving over trials whose losses are known."""

import numpy as np

from walkconv.estimators.search import Round, Trial, compare

ROUNDS = [Round(1, 0.25, 2), Round(2, 0.5, 1)]


def runs_of(losses, calls, refused=()):
    """Return a run whose held-back losses have these means, each row a little different."""

    def run(candidate, division, share):
        calls.append((candidate, division, share))
        if candidate in refused:
            return None
        noise = np.random.default_rng(division).normal(0, 0.01, size=50)
        own = np.random.default_rng((candidate, division)).normal(0, 0.01, size=50)
        return Trial(losses[candidate] + noise + own, -losses[candidate], 1.0, 4)

    return run


def test_the_least_loss_wins_and_the_worst_get_no_long_training():
    calls = []
    outcome = compare([True] * 4, runs_of([3.0, 1.0, 1.004, 4.0], calls), ROUNDS)
    assert outcome.chosen == 1
    assert {call[0] for call in calls if call[2] == 0.5} == {1, 2}
    assert [len(found) for found in outcome.trials] == [1, 2, 2, 1]


def test_the_first_of_candidates_within_the_noise_is_kept():
    assert compare([True] * 3, runs_of([1.0005, 1.0, 1.2], []), ROUNDS).chosen == 0
    assert compare([True] * 3, runs_of([1.05, 1.0, 1.2], []), ROUNDS).chosen == 1


def test_a_candidate_that_cannot_win_takes_part_in_the_first_round():
    calls = []
    outcome = compare([True, False, True], runs_of([1.0, 0.5, 1.001], calls), ROUNDS)
    assert outcome.chosen == 0
    assert {call[2] for call in calls if call[0] == 1} == {0.25}
    mean, error = outcome.difference(1, 0)
    assert abs(mean + 0.5) < 0.01
    assert 0 < error < 0.01


def test_a_candidate_that_fails_is_not_chosen():
    outcome = compare([True] * 2, runs_of([1.0, 2.0], [], refused={0}), ROUNDS)
    assert outcome.chosen == 1
    assert outcome.last(0) == []
    assert outcome.difference(0, 1) is None
    nothing = compare([True] * 2, runs_of([1.0, 2.0], [], refused={0, 1}), ROUNDS)
    assert nothing.chosen == 0


def test_without_time_for_the_second_round_the_first_decides():
    calls = []
    run = runs_of([3.0, 1.0, 1.004], calls)
    outcome = compare([True] * 3, lambda *what: run(*what) if what[2] == 0.25 else None, ROUNDS)
    assert outcome.chosen == 1


def test_a_clear_lead_ends_the_search():
    calls = []
    outcome = compare([True] * 3, runs_of([3.0, 1.0, 2.0], calls), ROUNDS)
    assert outcome.chosen == 1
    assert {call[2] for call in calls} == {0.25}


def test_without_tolerance_the_least_loss_wins():
    run = runs_of([1.0005, 1.0, 1.2], [])
    assert compare([True] * 3, run, ROUNDS, tolerance=0.0).chosen == 1
