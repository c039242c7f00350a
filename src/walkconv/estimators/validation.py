"""Rows that are scored after every epoch: which they are, and how a network is scored on them."""

import math
import warnings

import numpy as np
from sklearn.model_selection import train_test_split
from torch import nn

from walkconv.estimators.records import Rows, Target
from walkconv.estimators.samples import Learned
from walkconv.estimators.settings import Settings
from walkconv.training.batches import predict
from walkconv.training.loop import Score
from walkconv.training.scoring import score_predictions


def hold_back(rows: Rows, target: Target, settings: Settings, seed: int) -> tuple[Rows, Rows]:
    """Return the rows to train on and the rows to score after every epoch."""
    if target.is_classification:
        _check_every_class_is_split(rows.y, target, settings.validation_fraction)
    seen, apart = train_test_split(
        np.arange(len(rows.y)),
        test_size=settings.validation_fraction,
        random_state=seed,
        stratify=rows.y if target.is_classification else None,
    )
    if rows.samples.is_lazy:  # rows that are read in blocks must ascend
        seen, apart = np.sort(seen), np.sort(apart)
    return rows.take(seen), rows.take(apart)


def scorer(rows: Rows, learned: Learned, target: Target, settings: Settings) -> Score:
    """Return the score of a network on validation rows, NaN where the outputs overflow."""
    if len(rows.y) < 2:
        raise ValueError(
            f"There must be at least two validation rows; got {len(rows.y)}. "
            "Raise validation_fraction or give validation_data."
        )
    batches = learned.batches(rows.samples, settings.device)

    def score_of(outputs: np.ndarray) -> float:
        if settings.scoring is None:
            return target.score(outputs, rows.y, rows.weight)
        return score_predictions(settings.scoring, target.answers(outputs), rows.given, rows.weight)

    def score(network: nn.Module) -> float:
        outputs = predict(network, batches, settings.training.batch_size)
        return score_of(outputs) if np.isfinite(outputs).all() else np.nan

    if settings.scoring is not None:
        with warnings.catch_warnings():  # whether it fits, before any work
            warnings.simplefilter("ignore")
            drawn = np.random.default_rng(0).normal(size=(len(rows.y), target.n_outputs))
            score_of(drawn.astype(np.float32))
    return score


def _check_every_class_is_split(y: np.ndarray, target: Target, fraction: float) -> None:
    """Refuse classes of which not both parts of the rows can hold some."""
    present, counts = np.unique(y, return_counts=True)
    if counts.min() < 2:
        rarest = target.attributes()["classes_"].tolist()[present[counts.argmin()]]
        raise ValueError(
            f"early_stopping needs two rows of each class; {rarest!r} has {counts.min()}. Add "
            "some, drop the class, or give validation_data."
        )
    n_apart = math.ceil(fraction * len(y))
    n_fewest = min(n_apart, len(y) - n_apart)
    if n_fewest < len(counts):
        raise ValueError(
            "early_stopping needs at least as many rows to score, and to train on, as there are "
            f"classes ({len(counts)}); got {n_fewest}. Change validation_fraction or give "
            "validation_data."
        )
