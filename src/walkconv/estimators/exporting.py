"""What a fitted estimator hands to an export."""

from collections.abc import Callable

import numpy as np
import polars as pl

from walkconv.estimators.answers import Answers
from walkconv.estimators.classifier import Classes, GraphCNNClassifier
from walkconv.estimators.records import Fitted
from walkconv.estimators.regressor import GraphCNNRegressor, Values
from walkconv.estimators.table_samples import Columns
from walkconv.exports import Probabilities, Quantities, TableModel


def table_model(fitted: Fitted) -> TableModel:
    """Return all that predictions of tables need, or refuse a model of other samples."""
    learned, target = fitted.learned, fitted.target
    if not isinstance(learned, Columns):
        raise TypeError(
            "Only models of tables can be exported: graphs as samples vary in size, and each "
            "needs its own neighbours. Use save and load."
        )
    if learned.encoding is not None:
        raise TypeError(
            "Only models of tables of numbers can be exported: this one has columns of text, "
            "categories or dates. Fit on numbers: encoding = walkconv.tables.learn_table_encoding"
            "(X), then X = encoding.apply(X). Or use save and load."
        )
    if isinstance(target, Classes):
        answer = Probabilities(target.labels)
    else:
        assert isinstance(target, Values)
        answer = Quantities(
            target.scaling.mean[:, 0],
            target.scaling.deviation[:, 0],
            target.is_multi_output,
            target.loss.predicts_logarithms,
        )
    relevance = learned.relevance
    return TableModel(
        mean=learned.scaling.mean,
        deviation=learned.scaling.deviation,
        soft_clip=learned.soft_clip,
        is_count=None if relevance is None else relevance.is_count,
        weight=None if relevance is None else relevance.weight,
        names=None if learned.names is None else [str(name) for name in learned.names],
        networks=fitted.modules,
        answer=answer,
    )


def answers_of(model: Answers) -> Callable[[np.ndarray], np.ndarray]:
    """Return the function from an array of rows to the probabilities, or the values, of a model."""
    names = getattr(model, "feature_names_in_", None)

    def answers(rows: np.ndarray) -> np.ndarray:
        X = rows if names is None else pl.DataFrame(rows, schema=[str(name) for name in names])
        if isinstance(model, GraphCNNClassifier):
            return model.predict_proba(X)
        assert isinstance(model, GraphCNNRegressor)
        return model.predict(X)

    return answers
