"""Rows to train on and rows to score."""

import numpy as np
import pytest

from walkconv.estimators.divisions import divide, list_rounds


@pytest.mark.parametrize(
    ("n_rows", "n_values", "n_divisions"),
    [(9, 90, 0), (10, 100, 4), (500, 5000, 4), (501, 5000, 2), (2001, 20_000, 1), (100, 2**21, 1)],
)
def test_small_and_cheap_tables_are_divided_several_times(n_rows, n_values, n_divisions):
    divisions = divide(np.arange(n_rows), n_values, 0, is_classification=False)
    assert len(divisions) == n_divisions
    for train, apart in divisions:
        assert not set(train) & set(apart)
        assert len(train) >= 3 * len(apart) - 1


def test_every_part_has_rows_of_every_class_and_large_tables_are_sampled():
    y = np.repeat([0, 1, 2], [20, 5, 8])
    for train, apart in divide(y, 330, 0, is_classification=True):
        assert set(y[train]) == set(y[apart]) == {0, 1, 2}
    ((train, apart),) = divide(np.arange(10**5) % 7, 10**7, 0, is_classification=True)
    assert len(train) == 3 * len(apart) == 2250


@pytest.mark.parametrize("n_divisions", [1, 2, 4])
def test_the_last_round_uses_all_divisions(n_divisions):
    rounds = list_rounds(n_divisions)
    assert rounds[-1].n_splits == n_divisions
    assert rounds[0].n_kept > rounds[-1].n_kept == 1
    if n_divisions > 1:
        assert len({each.share for each in rounds}) == 1
