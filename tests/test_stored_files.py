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


def predict(model):
    """Return what a model predicts for fixed samples."""
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
    assert len(STORED) >= 4


def main():
    """Write models of every kind, with their predictions."""
    from tests.hostile.bases import models

    folder = FOLDER / "format-1"
    folder.mkdir(parents=True, exist_ok=True)
    names = ("pooled-regressor", "classifier-on-a-grid", "graph-samples", "directions")
    for name, content in zip(names, models(), strict=True):
        path = folder / f"{name}.safetensors"
        path.write_bytes(content)
        expected = predict(walkconv.load(path)).tolist()
        path.with_suffix(".json").write_text(json.dumps(expected) + "\n")


if __name__ == "__main__":
    main()
