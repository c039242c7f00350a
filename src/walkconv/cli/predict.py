"""``walkconv predict``: a model file and a table become predictions."""

from typing import TYPE_CHECKING, Annotated

import typer

from walkconv.cli.options import check_output, hint_at

if TYPE_CHECKING:
    import numpy as np

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
    """Predict each row of a table: a number, or a class and the probability of each class."""
    import polars as pl

    import walkconv
    from walkconv import io

    check_output(output, {"MODEL": model, "FILE": data}, endings=io.TABLE_ENDINGS)
    fitted = walkconv.load(model)
    table = io.read_table(data)
    kept = io.select_columns(table, keep or [], source=data)
    names = getattr(fitted, "feature_names_in_", None)
    if names is None:
        with hint_at("--keep"):
            X = io.take_features(table, drop=kept.columns, source=data).to_numpy()
    else:
        X = io.take_features(table, list(names), source=data)
    answers = _answers(fitted, X)
    if "prediction" in answers and answers["prediction"].dtype == bool and _is_text(output):
        answers["prediction"] = answers["prediction"].astype(str)  # True, as in probability_True
    twice = [name for name in kept.columns if name in answers]
    if twice:
        raise ValueError(
            f"--keep must not name a column of the predictions; got {', '.join(twice)}. Rename it "
            "in the table."
        )
    columns = {name: column.tolist() for name, column in answers.items()}
    io.write_table(pl.concat([kept, pl.DataFrame(columns)], how="horizontal"), output)


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
