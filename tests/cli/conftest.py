import sys
import warnings
from types import SimpleNamespace

import numpy as np
import pytest

import walkconv
from walkconv.cli.main import main


@pytest.fixture
def run(capsys, monkeypatch):
    """Run the command line in this process; returns its exit code, stdout and stderr."""
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)  # put back afterwards

    def run(*arguments, stdin=None):
        if stdin is not None:
            source = type("Stdin", (), {"buffer": stdin})
            monkeypatch.setattr(sys, "stdin", source)
        with pytest.raises(SystemExit) as caught:
            main([str(argument) for argument in arguments])
        said = capsys.readouterr()
        return caught.value.code or 0, said.out, said.err

    return run


TINY = ["-a", "", "--max-iter", 1, "--n-members", 1, "--random-state", 0]
"""A real model, trained in a few milliseconds."""


@pytest.fixture
def tiny():
    return TINY


@pytest.fixture
def fitted(monkeypatch):
    """The models that `fit` was called on, the last one last, with the `X` and `y` it got."""
    fitted = []
    for kind in (walkconv.GraphCNNClassifier, walkconv.GraphCNNRegressor):

        def fit(model, X, y, _fit=kind.fit, **arguments):
            fitted.append(SimpleNamespace(model=model, X=X, y=y))
            return _fit(model, X, y, **arguments)

        monkeypatch.setattr(kind, "fit", fit)
    return fitted


@pytest.fixture
def nameless(tmp_path):
    """Fit a model on an array, whose columns have no names; returns it and its file."""

    def fit(n_features, n_outputs=None, name="nameless.safetensors"):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(20, n_features))
        y = X.sum(axis=1) if n_outputs is None else X @ rng.normal(size=(n_features, n_outputs))
        model = walkconv.GraphCNNRegressor("", max_iter=2, n_members=1, random_state=0).fit(X, y)
        model.save(tmp_path / name)
        return model, tmp_path / name

    return fit
