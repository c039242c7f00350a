import sys
import warnings
from pathlib import Path

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


class StandIn:
    """Plays an estimator: remembers the call, trains nothing.

    It says 0.25 for the first class and predicts the sum of the columns.
    """

    def __init__(self, **settings):
        self.settings = settings
        self.architecture = settings.get("architecture", "C1")
        self.n_members = 3
        self.modules_ = [None, None]  # a fit that Ctrl-C has stopped
        self.n_parameters_ = 1234
        self.neighbors_ = None

    def fit(self, X, y):
        self.X, self.y = X, y
        self.feature_names_in_ = np.array(X.columns, dtype=object)
        self.n_features_in_ = X.width
        return self

    def save(self, path):
        Path(path).write_text("saved")

    def score(self, X, y):
        self.scored = X, y
        return 0.5

    def predict(self, X):
        self.asked = X
        return np.asarray(X).sum(axis=1)


class StandInClassifier(StandIn):
    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return super().fit(X, y)

    def predict(self, X):
        super().predict(X)
        return self.classes_[np.arange(X.height) % 2]

    def predict_proba(self, X):
        return np.tile([0.25, 0.75], (X.height, 1))


@pytest.fixture
def made(monkeypatch):
    """The stand-ins that were made, the last one last."""
    made = []
    for name, kind in (
        ("GraphCNNClassifier", StandInClassifier),
        ("GraphCNNRegressor", StandIn),
    ):

        def make(kind=kind, **settings):
            made.append(kind(**settings))
            return made[-1]

        monkeypatch.setattr(walkconv, name, make, raising=False)
    monkeypatch.setattr(walkconv, "load", lambda _: made[-1], raising=False)
    return made
