"""``walkconv predict``: a model file and a table become predictions."""

from contextlib import nullcontext
from typing import TYPE_CHECKING, Annotated

import typer

from walkconv.cli.options import check_output, hint_at

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import numpy as np
    import polars as pl

    from walkconv import GraphCNNClassifier, GraphCNNRegressor


def predict(
    model: Annotated[
        str, typer.Argument(metavar="MODEL", help="Model file that `walkconv fit` wrote.")
    ],
    data: Annotated[
        str,
        typer.Argument(metavar="FILE", help="Table with the columns of the model; - reads CSV."),
    ],
    output: Annotated[
        str,
        typer.Option(
            "--output", "-o", metavar="FILE", help="CSV or Parquet to write; - is stdout."
        ),
    ] = "-",
    keep: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="Column to copy to the output; repeatable."),
    ] = None,
) -> None:
    """Predict each row of a table: a number, or a class and the probability of each class.

    The table may have any number of rows: some thousand are in memory at a time. Standard output
    gets them as soon as they are predicted.
    """
    import walkconv
    from walkconv import io

    check_output(output, {"MODEL": model, "FILE": data}, endings=io.TABLE_ENDINGS)
    fitted = walkconv.load(model)
    encoding = fitted.table_encoding_
    if encoding is None:
        names = [str(name) for name in getattr(fitted, "feature_names_in_", [])]
        words = set[str]()
    else:
        names = encoding.used_names
        words = set(names) - set(encoding.number_names)
    # Kept columns and text are read as they are written.
    numbers = [name for name in names if name not in words.union(keep or [])]
    parts = io.read_table_parts(data, numbers=numbers)
    predictions = _predictions(
        fitted, parts, names, keep or [], words, source=data, is_text=_is_text(output)
    )
    io.write_table_parts(predictions, output)


def _predictions(
    fitted: "GraphCNNClassifier | GraphCNNRegressor",
    parts: "Iterable[pl.DataFrame]",
    features: list[str],
    keep: list[str],
    words: set[str],
    *,
    source: str,
    is_text: bool,
) -> "Iterator[pl.DataFrame]":
    """Yield the kept columns and the predictions of each part of a table.

    A model without names takes all columns of the first part that are not kept. Words are the
    columns that may hold text.
    """
    import polars as pl

    from walkconv import io

    has_names, n_before = bool(features), 0
    for part in parts:
        kept = io.select_columns(part, keep, source=source)
        with hint_at("--keep") if not has_names else nullcontext():
            X = io.take_features(
                part,
                features or None,
                drop=kept.columns,
                text=sorted(words),
                source=source,
                first_row=n_before + 1,
            )
        features = X.columns
        _refuse_infinity(X, source, n_before + 1)
        answers = _answers(fitted, X if has_names else X.to_numpy())
        if "prediction" in answers and answers["prediction"].dtype == bool and is_text:
            answers["prediction"] = answers["prediction"].astype(str)  # as in probability_True
        twice = [name for name in kept.columns if name in answers]
        if twice:
            raise ValueError(
                f"--keep must not name a column of the predictions; got {', '.join(twice)}. Rename "
                "it in the table."
            )
        columns = {name: column.tolist() for name, column in answers.items()}
        yield pl.concat([kept, pl.DataFrame(columns)], how="horizontal")
        n_before += part.height


def _refuse_infinity(X: "pl.DataFrame", source: str, first_row: int) -> None:
    """Refuse an infinite cell, with its row."""
    import polars as pl

    for column in X.select(pl.col(pl.Float64)):
        is_infinite = column.is_infinite()
        if is_infinite.any():
            raise ValueError(
                f"{source} must hold finite numbers; column {column.name!r} holds infinity in row "
                f"{first_row + is_infinite.arg_true()[0]}. Correct the cell, or empty it."
            )


def _answers(
    fitted: "GraphCNNClassifier | GraphCNNRegressor", X: object
) -> "dict[str, np.ndarray]":
    """Return the columns of the predictions. The network runs once."""
    from walkconv import GraphCNNClassifier

    if isinstance(fitted, GraphCNNClassifier):
        probability = fitted.predict_proba(X)
        answers = {"prediction": fitted.classes_[probability.argmax(axis=1)]}
        for label, column in zip(fitted.classes_, probability.T, strict=True):
            answers[f"probability_{label}"] = column
        return answers
    predictions = fitted.predict(X)
    if predictions.ndim == 1:
        return {"prediction": predictions}
    return {f"prediction_{i}": column for i, column in enumerate(predictions.T)}


def _is_text(output: str) -> bool:
    return not output.lower().endswith((".parquet", ".pq"))
