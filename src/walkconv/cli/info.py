"""``walkconv info``: the content of a model file."""

from pathlib import Path
from typing import Annotated

import typer

from walkconv.cli.options import SHOWN


def info(
    model: Annotated[
        str, typer.Argument(metavar="MODEL", help="Model file that `walkconv fit` wrote.")
    ],
) -> None:
    """Show the content of a model file."""
    from rich.console import Console
    from rich.table import Table

    import walkconv

    fitted = walkconv.load(model)
    facts = {
        "estimator": type(fitted).__name__,
        "architecture": fitted.architecture_ or "(no hidden layer)",
        "features": str(getattr(fitted, "n_features_in_", "graphs of any size")),
        "parameters": f"{fitted.n_parameters_:,}",
        "ensemble members": str(len(fitted.modules_)),
        "file size": f"{Path(model).stat().st_size:,} bytes",
    }
    names = getattr(fitted, "feature_names_in_", None)
    if names is not None:
        others = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
        facts["feature names"] = ", ".join(repr(str(name)) for name in names[:SHOWN]) + others
    classes = getattr(fitted, "classes_", None)
    if classes is not None:
        facts["classes"] = ", ".join(str(label) for label in classes)
    if fitted.neighbors_ is not None:
        facts["graph"] = fitted.graph if isinstance(fitted.graph, str) else "given"
        facts["neighbors"] = (
            f"{fitted.neighbors_.n_neighbors} of each feature, walk of "
            f"{fitted.neighbors_.n_steps} step(s)"
        )
    orientation = getattr(fitted, "orientation_", None)
    if orientation is not None and orientation.order == "direction":
        facts["slots"] = f"directions; {orientation.reason}"
    table = Table(show_header=False, box=None)
    for name, fact in facts.items():
        table.add_row(name, fact)
    Console(markup=False, highlight=False).print(table)
