import sys
import warnings

import pytest

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
