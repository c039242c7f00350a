"""The runs of `bench_tables.py` as a page: every number in it comes from the runs."""

import json
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from page import origin, table
from scipy.stats import rankdata

RESULTS = Path(__file__).parent / "results" / "tables.jsonl"
PAGE = RESULTS.with_suffix(".md")
OURS = "walkconv"
GROUPS = ("structured", "wide", "few rows", "small")
HALVES = {
    "reported": "Reported half: no rule was chosen on these tables",
    "tuning": "Tuning half: the rules were chosen on these tables",
}


def read_runs() -> list[dict]:
    """Return the runs measured so far."""
    if not RESULTS.exists():
        return []
    return [json.loads(line) for line in RESULTS.read_text().splitlines()]


def add_run(run: dict) -> None:
    """Add a run to the file."""
    RESULTS.parent.mkdir(exist_ok=True)
    with RESULTS.open("a") as file:
        file.write(json.dumps(run) + "\n")


def write_page() -> None:
    """Write the page again from the runs."""
    PAGE.write_text(page(read_runs()))


def page(runs: Sequence[dict]) -> str:
    """Return the runs as Markdown."""
    parts = [
        "# Tables: fits with no settings",
        "Written by `make bench-tables` from `tables.jsonl`. Accuracy for classes, R2 for values, "
        "both times 100; the mean over the splits that every method of the table has, and in "
        "brackets walkconv's difference to the best other method with its standard error over the "
        "splits (no error if there is one split). Core-seconds are of one fit and its "
        "predictions, the median over the splits. Ranks are means over the tables. Every run names "
        "its commit; the line at the end is of the last.",
    ]
    for half, title in HALVES.items():
        of_half = [run for run in runs if run["half"] == half]
        if of_half:
            parts += [f"## {title}", *_half(of_half)]
    return "\n\n".join([*parts, origin(runs[-1]["made_with"])]) + "\n"


def _half(runs: Sequence[dict]) -> list[str]:
    parts = []
    names = list(dict.fromkeys(run["method"] for run in runs))
    for group in GROUPS:
        tables: dict[str, list[dict]] = defaultdict(list)
        for run in runs:
            if run["group"] == group:
                tables[run["table"]].append(run)
        if not tables:
            continue
        header = [group, "rows x columns", *names, "difference", "core-seconds"]
        lines = [_line(name, of_table, names) for name, of_table in tables.items()]
        ranks = [_ranks(of_table, names) for of_table in tables.values()]
        whole = [each for each in ranks if not np.isnan(each).any()]
        means = np.mean(whole, axis=0) if whole else np.full(len(names), np.nan)
        lines.append(["mean rank", f"{len(whole)} tables", *(f"{r:.2f}" for r in means), "", ""])
        parts += [table(header, lines), _verdict(group, list(tables.values()))]
    return parts


def _line(name: str, runs: Sequence[dict], names: Sequence[str]) -> list[str]:
    scores = _scores(runs, names)
    found = [
        "" if np.isnan(each).all() else f"{100 * np.nanmean(each):.1f}" for each in scores.values()
    ]
    seconds = [
        f"{np.median([run['core_seconds'] for run in runs if run['method'] == each]):.1f}"
        for each in names
        if any(run["method"] == each for run in runs)
    ]
    shape = f"{runs[0]['n_train']} x {runs[0]['n_columns']}"
    return [name, shape, *found, _difference(scores), " / ".join(seconds)]


def _scores(runs: Sequence[dict], names: Sequence[str]) -> dict[str, np.ndarray]:
    """Return the scores by method over the splits that all methods of the table have."""
    by_method = {
        name: {run["split"]: run["score"] for run in runs if run["method"] == name}
        for name in names
    }
    given = [set(splits) for splits in by_method.values() if splits]
    shared = sorted(set.intersection(*given))
    return {
        name: np.array([splits.get(split, np.nan) for split in shared])
        for name, splits in by_method.items()
    }


def _difference(scores: dict[str, np.ndarray]) -> str:
    found = _beside_best(scores)
    if found is None:
        return ""
    mean, error = found
    return f"{100 * mean:+.1f}" if np.isnan(error) else f"{100 * mean:+.1f} ± {100 * error:.1f}"


def _beside_best(scores: dict[str, np.ndarray]) -> tuple[float, float] | None:
    """Return how far we are above the best other method, and the standard error over splits."""
    if OURS not in scores:
        return None
    others = {name: each for name, each in scores.items() if name != OURS and len(each)}
    others = {name: each for name, each in others.items() if not np.isnan(each).any()}
    if not others or np.isnan(scores[OURS]).any() or not len(scores[OURS]):
        return None
    best = max(others.values(), key=lambda each: float(each.mean()))
    differences = scores[OURS] - best
    n_splits = len(differences)
    error = differences.std(ddof=1) / np.sqrt(n_splits) if n_splits > 1 else np.nan
    return float(differences.mean()), float(error)


def _ranks(runs: Sequence[dict], names: Sequence[str]) -> np.ndarray:
    means = np.array([np.mean(each) for each in _scores(runs, names).values()])
    return np.full(len(names), np.nan) if np.isnan(means).any() else rankdata(-means)


def _verdict(group: str, tables: Sequence[Sequence[dict]]) -> str:
    """Say on how many tables we are ahead, level or behind."""
    ahead, level, behind = [], [], []
    for runs in tables:
        names = list(dict.fromkeys(run["method"] for run in runs))
        found = _beside_best(_scores(runs, names)) if OURS in names else None
        if found is None:
            continue
        mean, error = found
        within = mean + (0.0 if np.isnan(error) else error) >= 0
        (ahead if mean > 0 else level if within else behind).append(runs[0]["table"])
    lost = f" Behind: {', '.join(behind)}." if behind else ""
    n_tables = len(ahead) + len(level) + len(behind)
    return (
        f"Of {n_tables} {group} tables walkconv is ahead of the best other method on {len(ahead)}, "
        f"within one standard error on {len(level)}, behind on {len(behind)}.{lost}"
    )
