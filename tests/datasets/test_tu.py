import numpy as np
import pytest

from walkconv.datasets import DatasetNotFoundError, load_tu

PLAIN = """3
3 1
0 1 1
2 2 0 2
0 1 1
1 0
5 0
2 1
0 1 1
0 1 0
"""


def put(folder, text, name="TINY"):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.txt").write_text(text)
    return folder


def test_graphs_classes_and_tags_are_read(tmp_path):
    found = load_tu("TINY", data_home=put(tmp_path / "data", PLAIN))
    np.testing.assert_array_equal(found.y, [1, 0, 1])
    path, alone, pair = found.graphs
    np.testing.assert_array_equal(path.graph.toarray(), [[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    np.testing.assert_array_equal(path.tags, [0, 2, 0])
    assert (alone.n_nodes, alone.graph.nnz, alone.tags.tolist()) == (1, 0, [5])
    assert pair.x is None
    assert repr(found) == "GraphCollection('TINY', 3 graphs, 2.0 nodes each, 2 classes)"


def test_attributes_follow_the_neighbours(tmp_path):
    text = "1\n2 0\n0 1 1 0.5 -1\n0 1 0 2 3\n"
    (graph,) = load_tu("TINY", data_home=put(tmp_path, text)).graphs
    np.testing.assert_array_equal(graph.x, np.float32([[0.5, -1], [2, 3]]))


def test_subfolders_and_the_environment_are_looked_in(tmp_path, monkeypatch):
    put(tmp_path / "data" / "tu", PLAIN)
    monkeypatch.setenv("WALKCONV_DATA", str(tmp_path / "data"))
    assert len(load_tu("TINY").graphs) == 3


def test_missing_files_are_named_with_every_place(tmp_path):
    with pytest.raises(DatasetNotFoundError, match="data_home") as caught:
        load_tu("NOWHERE", data_home=tmp_path)
    assert "The collection NOWHERE was not found" in str(caught.value)
    assert "NOWHERE.txt" in str(caught.value)
    assert "WALKCONV_DATA" in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "2\n1 0\n0 0\n",
        "1\n2 0\n0 1 1\n",
        "1\n1 0\n0 0\n0 0\n",
        "1\n2 0\n0 1 1\n0 1 7\n",
        "1\n2 0\n0 2 1\n0 1 0\n",
        "one\n",
        "",
        "0\n",
        "-1\n",
        f"1\n1 {10**30}\n0 0\n",
        f"1\n1 0\n{10**30} 0\n",
    ],
    ids=[
        *("too few", "cut", "too many", "neighbour", "degree", "words", "empty", "no graphs"),
        *("minus one graph", "a class that is no int64", "a tag that is no int64"),
    ],
)
def test_a_file_that_is_not_whole_is_refused(tmp_path, text):
    with pytest.raises(ValueError, match=r"TINY.txt must list its graphs"):
        load_tu("TINY", data_home=put(tmp_path, text))


def test_a_file_in_another_encoding_is_refused(tmp_path):
    put(tmp_path, PLAIN)
    (tmp_path / "TINY.txt").write_bytes(b"\xff\xfe" + PLAIN.encode())
    with pytest.raises(ValueError, match=r"TINY.txt must list its graphs .*can't decode"):
        load_tu("TINY", data_home=tmp_path)
