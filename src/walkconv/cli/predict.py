"""``walkconv predict``: a model file and a table become predictions."""

from functools import partial
from typing import Annotated

import typer


def predict(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="Model file of `walkconv fit`.")],
    data: Annotated[
        str, typer.Argument(metavar="FILE", help="Table with the model's columns; - reads CSV.")
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
    """Predict the rows of a table: a value, or a class and its probabilities."""
    import polars as pl

    import walkconv
    from walkconv._checks import listed
    from walkconv.cli.features import MEND, as_numbers, read_features
    from walkconv.cli.outputs import check_output
    from walkconv.cli.tables import PARQUET, WRITTEN, ending_of, pick, read_table, write_table

    check_output(output, {"MODEL": model, "FILE": data}, endings=WRITTEN)
    fitted = walkconv.load(model)
    table = read_table(data)
    kept = pick(table, keep or [], data)
    names = getattr(fitted, "feature_names_in_", None)
    if names is None:
        others = table.drop(kept.columns)
        X = read_features(others, data, partial(typer.echo, err=True), option="--keep").to_numpy()
    else:
        X = as_numbers(pick(table, list(names), data), data, remedy=MEND)
    predictions = fitted.predict(X)
    if predictions.ndim == 1:
        is_spelled = predictions.dtype == bool and ending_of(output) not in PARQUET
        labels = predictions.astype(str) if is_spelled else predictions  # as in probability_True
        answers = {"prediction": labels.tolist()}
    else:
        answers = {f"prediction_{i}": column for i, column in enumerate(predictions.T)}
    if hasattr(fitted, "predict_proba"):
        for label, chance in zip(fitted.classes_, fitted.predict_proba(X).T, strict=True):
            answers[f"probability_{label}"] = chance
    twice = [name for name in kept.columns if name in answers]
    if twice:
        raise ValueError(
            f"--keep must name no column that is predicted; got {listed(twice)}. "
            "Rename it in the table."
        )
    write_table(pl.concat([kept, pl.DataFrame(answers)], how="horizontal"), output)
