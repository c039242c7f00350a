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
        f"walkconv: error: {said} and --output must be two different files; both are {name}. "
        "Choose another output.\n"
    )
    for kept in ("data.csv", "test.csv", "model", "rows"):
        assert (folder / kept).read_text() == "precious"


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("output", "message"),
    [
        (".", "must be a file; it is a folder. Name a file in it."),
        ("rows/out.csv", "must be in a folder; {folder}/rows is a file."),
        (
            "new/er/out.csv",
            "must be in a folder that exists; {folder}/new/er does not. Create it first.",
        ),
    ],
)
def test_an_output_that_cannot_be_written_is_refused(run, folder, command, output, message):
    code, out, err = run(*COMMANDS[command], "-o", output)
    assert (code, out) == (1, "")
    assert err == f"walkconv: error: {output} {message.format(folder=folder)}\n"
    assert not (folder / "new").exists()


@pytest.mark.parametrize("command", ["fit", "neighbors"])
@pytest.mark.parametrize(
    ("checkpoint", "message"),
    [
        (".", "must be a file; it is a folder. Name a file in it."),
        ("rows/new", "must be in a folder; {folder}/rows is a file."),
        ("new/rows", "must be in a folder that exists; {folder}/new does not. Create it first."),
    ],
)
def test_a_checkpoint_that_cannot_be_written_is_refused(run, folder, command, checkpoint, message):
    code, out, err = run(*COMMANDS[command], "-o", "new.csv", "--checkpoint", checkpoint)
    assert (code, out) == (1, "")
    assert err == f"walkconv: error: {checkpoint} {message.format(folder=folder)}\n"


def test_a_model_is_not_written_to_stdout(run, folder):
    code, out, err = run(*COMMANDS["fit"], "-o", "-")
    assert (code, out) == (1, "")
    assert err == (
        "walkconv: error: --output must be a file: a model cannot go to stdout. Name a file.\n"
    )
    assert not (folder / "-").exists()


@pytest.mark.parametrize("command", COMMANDS)
def test_a_device_may_have_any_name(run, folder, command):
    code, _, err = run(*COMMANDS[command], "-o", "/dev/null")
    assert code == 1
    assert "/dev/null" not in err  # the fault is in what is read


@pytest.mark.parametrize(
    ("command", "output", "known"),
    [
        ("predict", "out.xlsx", ".csv, .csv.gz, .tsv, .tsv.gz, .parquet, .pq"),
        ("predict", "out", ".csv, .csv.gz, .tsv, .tsv.gz, .parquet, .pq"),
        ("predict", "out.npz", ".csv, .csv.gz, .tsv, .tsv.gz, .parquet, .pq"),
        ("neighbors", "out.txt.gz", ".csv, .csv.gz, .tsv, .tsv.gz, .parquet, .pq, .npz"),
    ],
)
def test_an_ending_that_nobody_writes_is_refused(run, folder, command, output, known):
    code, _, err = run(*COMMANDS[command], "-o", output)
    assert code == 1
    ends = f"must end in {known}, or be - for standard output; got {output}."
    assert err == f"walkconv: error: The name of an output {ends}\n"
