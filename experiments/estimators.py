"""The settings of a row become an estimator.

Rows and their records keep the names under which they were run. Where a name of the library has
changed since, it is translated here and nowhere else.
"""

import re
from typing import Any

from walkconv import GraphCNNClassifier, GraphCNNRegressor

KINDS = {"classification": GraphCNNClassifier, "regression": GraphCNNRegressor}
CLASS_ATTRIBUTES = ("ties", "weighting", "conv_dropped", "normalization")
RENAMED = {"clip": "soft_clip", "positions": "order"}


def make_estimator(kind: type, settings: dict[str, Any], **more: Any) -> Any:
    """Return an estimator of a kind with the settings of a row, and `more` of the library's own."""
    rare = {name: settings[name] for name in CLASS_ATTRIBUTES if name in settings}
    if rare:
        kind = type(kind.__name__, (kind,), rare)
    return kind(**translated(settings), **more)


def translated(settings: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of a row under the names that the constructor has now.

    Examples
    --------
    >>> from experiments.estimators import translated
    >>> translated({"architecture": "C8-P4-G-FC2", "readout": "sum", "solver": "adam"})
    {'architecture': 'C8-P4-Gsum-FC2', 'solver': 'adam', 'schedule': 'constant'}
    """
    rest = {name: value for name, value in settings.items() if name not in CLASS_ATTRIBUTES}
    pooling, readout = rest.pop("pooling", ""), rest.pop("readout", "")
    if "architecture" in rest:
        text = re.sub(r"(P[0-9x]+)", rf"\1{pooling}", rest["architecture"])
        rest["architecture"] = re.sub(r"\bG\b", f"G{readout}", text)
    if "positions" in rest:
        rest.pop("order", None)
    rest = {RENAMED.get(name, name): value for name, value in rest.items()}
    if "n_iter_no_change" in rest:
        patience = rest.pop("n_iter_no_change")
        rest["early_stopping"] = patience if rest.get("early_stopping") else False
    if rest.get("solver", "adamw") != "adamw":
        rest["schedule"] = "constant"
    return rest
