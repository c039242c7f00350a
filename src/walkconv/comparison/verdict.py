"""Errors on the same splits become differences with an interval, and one sentence.

The training rows of the splits overlap, so the differences are not independent, and their plain
standard error is too small. Nadeau and Bengio (2003) replace 1/J in the variance of a mean of J
differences by 1/J + n_test/n_train.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import polars as pl
from scipy import stats

CONFIDENCE = 0.95
MODEL, ALONE, RANDOM, RANKS = "model", "no neighbours", "random neighbours", "ranks"
Finding = Literal["helps", "hurts", "no evidence", "no graph"]


@dataclass(frozen=True)
class Difference:
    """How much larger the error of a contestant is than that of the model.

    Attributes
    ----------
    mean : float
    half_width : float
        Of the interval around the mean that holds the true difference with a confidence of 95 %.

    Examples
    --------
    >>> from walkconv.comparison import Difference
    >>> str(Difference(0.81, 0.3))
    '0.8 +- 0.3'
    """

    mean: float
    half_width: float

    @property
    def is_above(self) -> bool:
        """Whether the interval lies above 0: the model is better."""
        return self.mean - self.half_width > 0

    @property
    def is_below(self) -> bool:
        """Whether the interval lies below 0: the model is worse."""
        return self.mean + self.half_width < 0

    def __str__(self) -> str:
        return f"{_shown(self.mean, self.half_width)} +- {_shown(self.half_width)}"

    def __neg__(self) -> "Difference":
        return Difference(-self.mean, self.half_width)


def paired_difference(errors: np.ndarray, others: np.ndarray, *, test_share: float) -> Difference:
    """Return the mean of ``others - errors`` with the corrected interval.

    Parameters
    ----------
    errors, others : ndarray of shape (n_splits,)
        Errors on the same splits.
    test_share : float
        Test rows of a split for each training row: 1/4 with five folds.

    Examples
    --------
    >>> import numpy as np
    >>> from walkconv.comparison.verdict import paired_difference
    >>> errors = np.array([10.0, 12.0, 11.0, 13.0])
    >>> str(paired_difference(errors, errors + [1, 2, 1, 2], test_share=0.25))
    '1.5 +- 1.3'
    """
    differences = np.asarray(others, dtype=np.float64) - errors
    n = len(differences)
    variance = differences.var(ddof=1) * (1 / n + test_share)
    quantile = stats.t.ppf((1 + CONFIDENCE) / 2, n - 1)
    return Difference(float(differences.mean()), float(quantile * np.sqrt(variance)))


@dataclass(frozen=True, eq=False)
class Comparison:
    """What `compare` found.

    Attributes
    ----------
    verdict : str
        One sentence about the graph.
    finding : "helps", "hurts", "no evidence" or "no graph"
        The verdict in short. "no graph" says that the model has no layer that uses one.
    differences : dict of str to Difference
        For each contestant its error minus that of the model, in points.
    table : polars DataFrame
        A row for each contestant, the model first: ``contestant``, ``error`` (mean over the splits;
        the share of wrong classes, or of the variance that is not explained, in per cent),
        ``difference`` to the model, ``low`` and ``high`` ends of its interval, and ``seconds`` of a
        fit.
    scores : polars DataFrame
        The same for every fit: ``contestant``, ``split``, ``error`` and ``seconds``.

    Examples
    --------
    >>> import numpy as np
    >>> import walkconv
    >>> X = np.random.default_rng(0).normal(size=(40, 5))
    >>> model = walkconv.GraphCNNRegressor("FC4", max_iter=1, n_members=1)
    >>> found = walkconv.compare(model, X, X[:, 0], n_splits=2, simple_models=False)
    >>> found.verdict
    'The model uses no graph: none of its layers looks at the neighbours of a column.'
    """

    verdict: str
    finding: Finding
    differences: dict[str, Difference]
    table: pl.DataFrame
    scores: pl.DataFrame

    def to_plain(self) -> dict[str, Any]:
        """Return the verdict and the rows of the table as plain values, for a report."""
        rows = self.table.to_dicts()
        return {"verdict": self.verdict, "finding": self.finding, "rows": rows}

    def __str__(self) -> str:
        width = max(len(name) for name in self.table["contestant"])
        shown = {
            name: (_signed(found), _shown(found.half_width))
            for name, found in self.differences.items()
        }
        widths = [max(map(len, part)) for part in zip(*shown.values(), strict=True)]
        lines = [f"{'':{width}}  error in %  compared with the model"]
        for name, error in self.table.select("contestant", "error").iter_rows():
            parts = zip(shown.get(name, ()), widths, strict=False)
            beside = " +- ".join(text.rjust(size) for text, size in parts)
            lines.append(f"{name:{width}}  {error:10.2f}  {beside}".rstrip())
        return "\n".join([*lines, "", self.verdict])

    def __repr__(self) -> str:
        return f"Comparison(finding={self.finding!r}, n_contestants={self.table.height})"


def conclude(scores: pl.DataFrame, *, test_share: float, uses_graph: bool) -> Comparison:
    """Return the comparison that these fits amount to.

    Parameters
    ----------
    scores : polars DataFrame
        As in `Comparison`.
    test_share : float
        Test rows of a split for each training row.
    uses_graph : bool
        Whether a layer of the model uses a graph.
    """
    names = scores["contestant"].unique(maintain_order=True).to_list()
    errors = {
        name: scores.filter(pl.col("contestant") == name).sort("split")["error"].to_numpy()
        for name in names
    }
    differences = {
        name: paired_difference(errors[MODEL], errors[name], test_share=test_share)
        for name in names
        if name != MODEL
    }
    means = scores.group_by("contestant", maintain_order=True).agg(
        pl.col("error", "seconds").mean()
    )
    found = [differences.get(name, Difference(0.0, 0.0)) for name in means["contestant"]]
    table = means.select(
        "contestant",
        "error",
        pl.Series("difference", [each.mean for each in found]),
        pl.Series("low", [each.mean - each.half_width for each in found]),
        pl.Series("high", [each.mean + each.half_width for each in found]),
        "seconds",
    )
    finding = judge(differences) if uses_graph else "no graph"
    verdict = put_in_words(finding, differences)
    return Comparison(verdict, finding, differences, table, scores)


def judge(differences: Mapping[str, Difference]) -> Finding:
    """Return whether the graph helps.

    It does if the model is better than its twin without neighbours, and better than the one with
    random neighbours, where there is one. It hurts if the model is worse than both: one of two
    comparisons is below zero by chance too often.
    """
    twins = [differences[name] for name in (ALONE, RANDOM) if name in differences]
    if all(twin.is_above for twin in twins):
        return "helps"
    return "hurts" if twins and all(twin.is_below for twin in twins) else "no evidence"


def put_in_words(finding: Finding, differences: Mapping[str, Difference]) -> str:
    """Return the verdict as one sentence."""
    if finding == "no graph":
        return "The model uses no graph: none of its layers looks at the neighbours of a column."
    twins = {name: differences[name] for name in (ALONE, RANDOM) if name in differences}
    if finding == "helps":
        text = ", and ".join(f"by {found} points against {name}" for name, found in twins.items())
        ranks = differences.get(RANKS)
        directions = "; directions, not ranks, do it" if ranks and ranks.is_above else ""
        return f"The graph reduces the error {text}{directions}."
    unclear = "There is no evidence that the graph helps"
    start = "The graph hurts" if finding == "hurts" else unclear
    text = ", and ".join(
        f"{found if found.mean >= 0 else -found} points {'above' if found.mean < 0 else 'below'} "
        f"that with {name}"
        for name, found in twins.items()
    )
    return f"{start}: its error is {text}."


def _shown(value: float, uncertainty: float | None = None) -> str:
    """Return a number with one digit of its uncertainty, or of itself, at least one decimal."""
    size = abs(value if uncertainty is None else uncertainty)
    n_decimals = 1 if size == 0 or not np.isfinite(size) else max(1, -int(np.floor(np.log10(size))))
    return f"{value:.{min(n_decimals, 6)}f}"


def _signed(found: Difference) -> str:
    text = _shown(found.mean, found.half_width)
    return text if text.startswith("-") else f"+{text}"
