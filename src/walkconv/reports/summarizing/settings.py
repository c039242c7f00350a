"""The settings of the fit, the history of the training, and the versions of the libraries."""

import inspect
import sys
from importlib.metadata import version
from typing import Any

import numpy as np

from walkconv.reports.summarizing.model import FittedModel
from walkconv.reports.summarizing.plain import plain_number

LIBRARIES = ("walkconv", "numpy", "scipy", "scikit-learn", "torch")
MOST_CHARACTERS = 120


def summarize_settings(model: FittedModel) -> list[dict[str, Any]]:
    """Return each setting as text, and whether it is the default."""
    defaults = {
        name: parameter.default
        for name, parameter in inspect.signature(type(model)).parameters.items()
    }
    return [
        {
            "name": name,
            "value": _as_text(value),
            "is_default": _is_same(value, defaults.get(name, inspect.Parameter.empty)),
        }
        for name, value in model.get_params(deep=False).items()
    ]


def summarize_training(model: FittedModel) -> list[dict[str, Any]]:
    """Return the losses and the validation scores of every member, epoch by epoch."""
    members: dict[int, dict[str, Any]] = {}
    for record in model.history_:
        member = members.setdefault(record["member"], {"loss": [], "validation": []})
        member["loss"].append(plain_number(record["loss"], 5))
        if "validation_score" in record:
            member["validation"].append(plain_number(record["validation_score"], 5))
    return list(members.values())


def summarize_versions() -> dict[str, str]:
    """Return the versions of Python and the libraries."""
    return {"Python": sys.version.split()[0], **{name: version(name) for name in LIBRARIES}}


def _as_text(value: Any) -> str:
    shape = getattr(value, "shape", None)
    if shape is not None and len(shape):
        return f"{type(value).__name__} of shape {tuple(shape)}"
    if callable(value) and hasattr(value, "__name__"):
        return f"function {value.__name__}"
    text = value if isinstance(value, str) and value else repr(value)
    return text if len(text) <= MOST_CHARACTERS else f"{text[:MOST_CHARACTERS]}…"


def _is_same(value: Any, default: Any) -> bool:
    if isinstance(value, np.ndarray) or hasattr(value, "shape"):
        return False
    return type(value) is type(default) and bool(value == default)
