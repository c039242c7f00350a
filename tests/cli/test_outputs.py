"""What a command refuses to write, before it reads anything."""

import os

import pytest

COMMANDS = {
    "fit": ["fit", "data.csv", "--target", "y", "--test", "test.csv"],
    "predict": ["predict", "model", "data.csv"],
    "neighbors": ["neighbors", "data.csv"],
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder to stand in, with the files of a command; none of them could be read."""
    monkeypatch.chdir(tmp_path)
    for name in ("data.csv", "test.csv", "model", "rows"):
        (tmp_path / name).write_text("precious")
    return tmp_path


@pytest.mark.parametrize(
    ("command", "output", "said"),
    [
        (["fit"], "data.csv", "FILE"),
        (["fit"], "test.csv", "--test"),
        (["fit", "--checkpoint", "rows"], "rows", "--checkpoint"),
        (["fit", "--checkpoint", "not-yet"], "not-yet", "--checkpoint"),
        (["predict"], "data.csv", "FILE"),
        (["predict"], "model", "MODEL"),
        (["neighbors"], "data.csv", "FILE"),
        (["neighbors", "--checkpoint", "rows"], "rows", "--checkpoint"),
    ],
)
@pytest.mark.parametrize("way", ["as it is", "by a link", "by a second name", "by another path"])
def test_what_a_command_reads_is_never_its_output(run, folder, command, output, said, way):
    name = output
    if way in ("by a link", "by a second name") and (folder / output).exists():
        name = "other.csv"
        link = os.symlink if way == "by a link" else os.link
        link(folder / output, folder / name)
    elif way == "by another path":
        name = f"../{folder.name}/{output}"
    code, out, err = run(*COMMANDS[command[0]], *command[1:], "--output", name)
    assert (code, out) == (1, "")
    assert err == (
        f"walkconv: error: {said} and --output must be two files; both are {name}. "
        "Name another output.\n"
    )
    for kept in ("data.csv", "test.csv", "model", "rows"):
        assert (folder / kept).read_text() == "precious"
