import json
import re

import numpy as np
import polars as pl
import pytest
from scipy import stats

from walkconv.comparison import Difference
from walkconv.comparison.verdict import conclude, judge, paired_difference


def scores(**errors):
    """Return the table of errors by contestant, a list of one for each split."""
    names = {"model": "model", "alone": "no neighbours", "random": "random neighbours"}
    rows = [
        (names.get(name, name), split, error, 1.0)
        for name, each in errors.items()
        for split, error in enumerate(each)
    ]
    return pl.DataFrame(rows, schema=["contestant", "split", "error", "seconds"], orient="row")


def test_the_interval_by_hand():
    """Differences 1, 2, 3: variance 1, times 1/3 + 1/2, and the quantile of t with 2 degrees."""
    found = paired_difference(np.array([5.0, 5, 5]), np.array([6.0, 7, 8]), test_share=0.5)
    assert found.mean == 2
    assert found.half_width == pytest.approx(stats.t.ppf(0.975, 2) * np.sqrt(5 / 6))


def test_correlated_splits_give_a_wider_interval_than_independent_ones():
    """Of correlated means the corrected interval holds the truth, the plain one often misses it."""
    rng = np.random.default_rng(0)
    n, share = 10, 0.25
    correlation = share / (1 + share)  # what the correction assumes
    shared = np.sqrt(correlation) * rng.normal(size=(2000, 1))
    samples = shared + np.sqrt(1 - correlation) * rng.normal(size=(2000, n))
    held = {}
    for name, test_share in (("corrected", share), ("plain", 0.0)):
        found = [paired_difference(np.zeros(n), each, test_share=test_share) for each in samples]
        held[name] = np.mean([abs(each.mean) < each.half_width for each in found])
    assert held["corrected"] == pytest.approx(0.95, abs=0.015)
    assert held["plain"] < 0.8


@pytest.mark.parametrize(
    ("alone", "random", "finding"),
    [
        ((1, 0.5), (1, 0.5), "helps"),
        ((1, 0.5), (1, 1.5), "no evidence"),  # wide filters help, whatever they see
        ((1, 1.5), (1, 0.5), "no evidence"),
        ((0, 1), (0, 1), "no evidence"),
        ((-1, 0.5), (0, 1), "no evidence"),
        ((1, 0.5), (-1, 0.5), "no evidence"),
        ((-1, 0.5), (-1, 0.5), "hurts"),
    ],
)
def test_both_twins_must_agree(alone, random, finding):
    twins = {"no neighbours": Difference(*alone), "random neighbours": Difference(*random)}
    assert judge(twins | {"LightGBM": Difference(-9, 1)}) == finding


def test_verdict_that_it_helps():
    found = conclude(
        scores(model=[10, 11, 10], alone=[13, 14.1, 13], random=[14, 15, 14.1]),
        test_share=0.5,
        uses_graph=True,
    )
    assert found.finding == "helps"
    assert re.fullmatch(
        r"The graph reduces the error by 3\.0\d* \+- 0\.\d+ points against no neighbours, and by "
        r"4\.0\d* \+- 0\.\d+ points against random neighbours\.",
        found.verdict,
    )


def test_verdict_names_directions_only_if_ranks_are_worse():
    errors = {"model": [10, 11, 10], "alone": [13, 14.1, 13], "random": [14, 15, 14.1]}
    better = conclude(scores(**errors, ranks=[12, 13, 12.1]), test_share=0.5, uses_graph=True)
    assert better.verdict.endswith("; directions, not ranks, do it.")
    equal = conclude(scores(**errors, ranks=[10, 11, 10.1]), test_share=0.5, uses_graph=True)
    assert "directions" not in equal.verdict


def test_verdict_that_it_hurts_names_both_twins():
    found = conclude(
        scores(model=[13, 14, 13], alone=[10, 11.1, 10], random=[11, 12, 11.1]),
        test_share=0.5,
        uses_graph=True,
    )
    assert found.finding == "hurts"
    assert "The graph hurts: its error is 3.0" in found.verdict
    assert "points above that with no neighbours" in found.verdict
    assert "points above that with random neighbours" in found.verdict


def test_verdict_without_evidence_and_without_a_graph():
    errors = scores(model=[10, 12, 10], alone=[12, 11, 10], random=[9, 13, 9])
    found = conclude(errors, test_share=0.5, uses_graph=True)
    assert found.finding == "no evidence"
    assert found.verdict.startswith(
        "There is no evidence that the graph helps: its error is 0.3 +-"
    )
    found = conclude(scores(model=[10, 12, 10]), test_share=0.5, uses_graph=False)
    assert found.finding == "no graph"
    assert "uses no graph" in found.verdict


def test_the_table_has_the_model_first_and_signs_its_differences():
    found = conclude(
        scores(model=[10, 11, 10], alone=[13, 14.1, 13], random=[9, 10, 8.9], LightGBM=[7, 8, 7.2]),
        test_share=0.5,
        uses_graph=True,
    )
    assert found.table["contestant"].to_list()[0] == "model"
    assert found.table["difference"].to_list()[0] == 0
    lines = str(found).splitlines()
    assert lines[1].split() == ["model", "10.33"]
    assert lines[2].split()[:3] == ["no", "neighbours", "13.37"]
    assert "+3.0" in lines[2]
    assert "-2.9" in lines[4]
    assert lines[-1] == found.verdict


def test_the_differences_of_the_table_stand_below_each_other():
    found = conclude(
        scores(model=[10, 11, 10], alone=[50, 21, 33], random=[10.1, 11, 10.1]),
        test_share=0.5,
        uses_graph=True,
    )
    _, _, *lines = str(found).splitlines()[:-2]
    assert len({len(line) for line in lines}) == 1
    assert len({line.index("+-") for line in lines}) == 1


def test_plain_values_hold_the_verdict_and_a_row_for_each_contestant():
    found = conclude(
        scores(model=[10, 11, 10], alone=[13, 14.1, 13]), test_share=0.5, uses_graph=True
    )
    plain = json.loads(json.dumps(found.to_plain()))
    assert plain["verdict"] == found.verdict
    assert plain["finding"] == "helps"
    assert [row["contestant"] for row in plain["rows"]] == ["model", "no neighbours"]


def test_an_error_that_never_changes_has_an_interval_of_no_width():
    assert str(Difference(0.0, 0.0)) == "0.0 +- 0.0"
    found = conclude(
        scores(model=[10, 10], alone=[10, 10], random=[10, 10]), test_share=1.0, uses_graph=True
    )
    assert found.finding == "no evidence"
