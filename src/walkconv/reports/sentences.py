"""What was fitted and how well, in a few sentences made from a summary."""

from collections.abc import Mapping
from typing import Any

from walkconv.reports.wording import count, number, percent

GRAPHS = {
    "correlation": "their correlations",
    "knn": "their nearest columns",
    "heat_kernel": "their distances, through a heat kernel",
    "supervised": "a network trained to predict the target",
    "given": "a graph that was given",
}


def tell(summary: Mapping[str, Any]) -> list[str]:
    """Return the sentences that open a report."""
    return [*_model(summary["model"]), *_result(summary)]


def _model(model: Mapping[str, Any]) -> list[str]:
    kind = "classifier" if model["is_classifier"] else "regressor"
    layers = f"the layers {model['architecture']}" if model["architecture"] else "no hidden layer"
    on = "graphs, one for each sample"
    if model["samples"] == "table":
        on = count(model["n_columns"], "column")
        if model["n_channels"] > 1:
            on += f" of {model['n_channels']} channels"
    networks = count(model["n_members"], "network")
    said = [
        f"A {kind} with {layers} on {on}: {networks} of {model['n_parameters']:,} parameters, "
        f"trained for {count(model['n_epochs'], 'epoch')}."
    ]
    if model["n_neighbors"]:
        source = GRAPHS.get(model["graph"], "a graph")
        text = (
            f"Each filter sees a column and {count(model['n_neighbors'] - 1, 'neighbour')}. The "
            f"neighbours come from a random walk on a graph of the columns, made from {source}."
        )
        if model["order"] == "direction":
            text += " A weight belongs to a direction, the same at every column, as in an image."
        else:
            text += " A weight belongs to a rank: most visited first."
        said.append(text)
    return said


def _result(summary: Mapping[str, Any]) -> list[str]:
    scores = summary["scores"]
    if scores is None:
        return ["No test rows were given, so this report does not say how well the model predicts."]
    by_name = {score["name"]: score for score in scores["scores"]}
    is_table = summary["model"]["samples"] == "table"
    rows = count(scores["n_rows"], "test row" if is_table else "test graph")
    if "Accuracy" in by_name:
        accuracy = by_name["Accuracy"]
        commonest = by_name["Always the commonest class"]["value"]
        return [
            f"On {rows} it predicts {percent(accuracy['value'])} of the classes correctly "
            f"(95 % interval {percent(accuracy['low'])} to {percent(accuracy['high'])}). Always "
            f"naming the commonest class would reach {percent(commonest)}."
        ]
    error = by_name["Root mean squared error"]["value"]
    constant = by_name["Error of predicting their mean"]["value"]
    said = f"On {rows} its root mean squared error is {number(error)}"
    if constant:
        change = 1 - error / constant
        word = "less" if change >= 0 else "more"
        said += f", {percent(abs(change))} {word} than that of predicting the mean"
    if "R²" in by_name:
        r2 = by_name["R²"]
        said += f". R² is {number(r2['value'])}"
        if r2["low"] is not None:
            said += f" (95 % interval {number(r2['low'])} to {number(r2['high'])})"
    return [f"{said}."]
