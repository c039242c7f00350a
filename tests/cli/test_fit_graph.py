"""``walkconv fit --graph``: a learner by name, or a file whose nodes are the columns."""

import gzip

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from scipy.io import mmwrite

import walkconv
from walkconv.cli.network_options import LEARNED_GRAPHS
from walkconv.estimators.relations import LEARNERS

COLUMNS = ["north", "east", "south", "west"]
WEIGHTS = np.array([[0, 2, 0, 0], [2, 0, -1, 0], [0, -1, 0, 0], [0, 0, 0, 0]])
"""west has no edge."""
FIT = ["-a", "C2", "-p", 2, "--max-iter", 1, "--n-members", 1, "--random-state", 0]


@pytest.fixture
def data(rng, tmp_path):
    X = rng.normal(size=(20, 4)).cumsum(axis=1)
    pl.DataFrame(X, schema=COLUMNS).with_columns(y=pl.Series(X[:, 1])).write_csv(tmp_path / "d.csv")
    return tmp_path / "d.csv"


@pytest.fixture
def fit(run, data, tmp_path):
    def fit(graph, *arguments):
        output = tmp_path / "m.safetensors"
        return run("fit", data, "--target", "y", "-o", output, *FIT, "--graph", graph, *arguments)

    return fit


def matrix_table(path):
    order = [2, 0, 3, 1]
    names = [COLUMNS[i] for i in order]
    frame = pl.DataFrame(WEIGHTS[np.ix_(order, order)], schema=names)
    frame.insert_column(0, pl.Series("", names)).write_csv(path)


FILES = {
    "named.txt": lambda path: path.write_text("east north 2\neast south -1\n"),
    "named.csv.gz": lambda path: path.write_bytes(
        gzip.compress(b"weight,source,target\n2,east,north\n-1,south,east\n")
    ),
    "lengths.csv.gz": lambda path: path.write_bytes(
        gzip.compress(b"source,target,length\neast,north,2\nsouth,east,-1\n")
    ),
    "numbered.txt": lambda path: path.write_text("1 0 2\n1 2 -1\n"),
    "graph.mtx": lambda path: mmwrite(path, sp.coo_array(WEIGHTS)),
    "graph.npz": lambda path: sp.save_npz(path, sp.csr_array(WEIGHTS)),
    "matrix.csv": matrix_table,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_the_nodes_of_a_file_are_the_columns(fit, tmp_path, name):
    FILES[name](tmp_path / name)
    code, _, err = fit(tmp_path / name)
    assert code == 0, err
    n_known = 3 if name.endswith((".txt", ".csv.gz")) else 4
    assert f"graph of {tmp_path / name}: {n_known} of 4 columns, 4 edges\n" in err
    model = walkconv.load(tmp_path / "m.safetensors")
    np.testing.assert_array_equal(model.graph.toarray(), WEIGHTS)
    expected = walkconv.select_neighbors(WEIGHTS, n_neighbors=2)
    np.testing.assert_array_equal(model.neighbors_.index, expected.index)
    np.testing.assert_array_equal(model.neighbors_.sign, expected.sign)


@pytest.mark.slow
def test_a_learner_has_a_name_and_the_file_remembers_it(fit, tmp_path):
    code, _, err = fit("knn", "--early-stopping")
    assert code == 0, err
    model = walkconv.load(tmp_path / "m.safetensors")
    assert (model.graph, model.early_stopping) == ("knn", True)
    assert "validation_score" in model.history_[0]


@pytest.mark.slow
def test_a_checkpoint_knows_its_graph(fit, tmp_path):
    FILES["named.txt"](tmp_path / "g.txt")
    assert fit(tmp_path / "g.txt", "--checkpoint", tmp_path / "epochs")[0] == 0
    (tmp_path / "g.txt").write_text("east north 2\neast west -1\n")
    code, _, err = fit(tmp_path / "g.txt", "--checkpoint", tmp_path / "epochs")
    assert code == 1
    assert "belongs to another fit: graph has changed" in err


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("g.txt", "east north\neast up\n", "must be feature columns, by name or numbered from 0 "),
        ("g.txt", "1 2\n2 4\n", "these are not: '4'. They seem to be numbered from 1."),
        ("g.mtx", "%%MatrixMarket matrix coordinate real general\n3 3 1\n2 1 1\n", "shape (3, 3)."),
        ("g.csv", "a,b\n1,2\n3,4\n5,6\n", "name its columns source and target"),
    ],
)
def test_a_file_that_does_not_fit_the_columns_is_refused(fit, tmp_path, name, content, message):
    (tmp_path / name).write_text(content)
    code, _, err = fit(tmp_path / name, "-q")
    assert code == 1
    assert err.count("\n") == 1
    assert message in err
    assert str(tmp_path / name) in err


def test_columns_whose_names_are_numbers_are_found_by_name(run, tmp_path, monkeypatch):
    given = []

    def make(**settings):
        given.append(settings["graph"].toarray().tolist())
        raise ValueError("enough")

    monkeypatch.setattr(walkconv, "GraphCNNRegressor", make, raising=False)
    (tmp_path / "d.csv").write_text("2,1,0,y\n1,2,3,0.5\n4,5,6,1.5\n")
    (tmp_path / "g.txt").write_text("2 1 5\n")
    output = tmp_path / "m"
    run("fit", tmp_path / "d.csv", "--target", "y", "-o", output, "--graph", tmp_path / "g.txt")
    assert given == [[[0, 5, 0], [5, 0, 0], [0, 0, 0]]]


def test_a_name_that_is_neither_is_refused_before_the_table_is_read(run, tmp_path):
    arguments = ["fit", tmp_path / "none.csv", "--target", "y", "-o", tmp_path / "m"]
    code, _, err = run(*arguments, "--graph", "corr")
    assert code == 1
    assert f"--graph must be a file or one of {', '.join(LEARNERS)}; got 'corr'." in err


def test_help_names_the_learners_and_the_layers(run):
    code, out, _ = run("fit", "--help")
    assert code == 0
    text = " ".join(out.split())
    for word in (*LEARNERS, "C20", "P4", "FC100", "N1"):
        assert word in text
    assert tuple(LEARNERS) == LEARNED_GRAPHS


def test_help_says_what_several_processes_share(run):
    text = " ".join(run("fit", "--help")[1].split())
    assert "losses are the same up to rounding, and the predictions agree to about four" in text
