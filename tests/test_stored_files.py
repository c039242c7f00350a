"""Files that this and earlier versions wrote can be read, for ever.

``python -m tests.test_stored_files`` writes those of the present version, once for each release.
"""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import walkconv

FOLDER = Path(__file__).parent / "files"
STORED = sorted(FOLDER.glob("*/*.safetensors"))
X = np.arange(42.0).reshape(7, 6) % 5
MIXED = pl.DataFrame(
    {
        "number": [0.5, None, -2.0],
        "sort": ["a", "b", None],
        "many": ["level1", "rare2", "never seen"],
        "date": ["2020-05-01", "2021-01-31", None],
        "size": ["large", "small", None],
    }
)
NAMES = (
    "pooled-regressor-calibrated",
    "classifier-on-a-grid",
    "graph-samples",
    "relevance-chosen",
    "directions",
    "columns-of-text",
    "quantile",
    "poisson-bfloat16",
    "classifier-calibrated-of-text",
    "regressor-chosen",
)


def predict(model):
    """Return what a model predicts for fixed samples."""
    if model.table_encoding_ is not None:
        return model.predict(MIXED)
    if model.encoding_ is None:
        names = getattr(model, "feature_names_in_", None)
        return model.predict(X if names is None else pl.DataFrame(X, schema=list(names)))
    graphs = [
        walkconv.GraphSample(walkconv.grid_graph((n,)), tags=np.arange(n) % 3) for n in (3, 5, 8)
    ]
    return model.predict(graphs)


@pytest.mark.parametrize("path", STORED, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_stored_model_predicts_what_it_did(path):
    expected = json.loads(path.with_suffix(".json").read_text())
    found = predict(walkconv.load(path)).tolist()
    if isinstance(expected[0], str):
        assert found == expected
    else:  # other processors round otherwise
        np.testing.assert_allclose(found, expected, rtol=1e-4)


def test_some_files_are_stored():
    assert len(STORED) >= len(NAMES)


def test_what_a_stored_model_says_of_its_uncertainty_is_kept():
    model = walkconv.load(FOLDER / "format-1" / f"{NAMES[0]}.safetensors")
    half = np.diff(model.predict_interval(pl.DataFrame(X, schema=list("abcdef")), coverage=0.8))
    np.testing.assert_allclose(half[:, 0] / 2, np.full(7, model.residuals_[32, 0]), rtol=1e-6)


def main():
    """Write models of every kind, with their predictions."""
    from tests.hostile.bases import models

    folder = FOLDER / "format-1"
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in zip(NAMES, models(), strict=True):
        path = folder / f"{name}.safetensors"
        path.write_bytes(content)
        expected = predict(walkconv.load(path)).tolist()
        path.with_suffix(".json").write_text(json.dumps(expected) + "\n")


if __name__ == "__main__":
    main()
