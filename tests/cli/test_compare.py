import numpy as np
import polars as pl
import pytest

QUICK = ["-a", "C2-FC4", "-p", 3, "--max-iter", 1, "--n-splits", 2, "--n-repeats", 1]


@pytest.fixture
def table(tmp_path):
    X = np.random.default_rng(0).normal(size=(40, 5)).cumsum(axis=1)
    frame = pl.DataFrame(X, schema=list("abcde")).with_columns(y=pl.col("c") > 0)
    frame = frame.with_columns(y=pl.when("y").then(pl.lit("high")).otherwise(pl.lit("low")))
    frame.write_csv(tmp_path / "t.csv")
    return tmp_path / "t.csv"


def test_compare_prints_a_table_and_a_verdict(run, table, tmp_path):
    output = tmp_path / "fits.csv"
    code, out, err = run("compare", table, "--target", "y", *QUICK, "-o", output)
    assert code == 0, err
    lines = out.splitlines()
    assert lines[1].startswith("model ")
    assert [line.split("  ")[0] for line in lines[2:4]] == ["no neighbours", "random neighbours"]
    assert "the graph" in lines[-1].lower()
    assert "classification" in err
    fits = pl.read_csv(output)
    assert fits.columns == ["contestant", "split", "error", "seconds"]


def test_compare_reads_a_graph_of_names_and_refuses_to_overwrite_it(run, table, tmp_path):
    graph = tmp_path / "edges.csv"
    graph.write_text("source,target\na,b\nb,c\nc,d\nd,e\n")
    target = ("--target", "y")
    code, out, err = run("compare", table, *target, *QUICK, "--graph", graph, "--quiet")
    assert code == 0, err
    assert "random neighbours" in out
    assert err == ""
    code, _, err = run("compare", table, *target, *QUICK, "--graph", graph, "-o", graph)
    assert code == 1
    assert "must be two different files" in err


def test_compare_refuses_a_misspelt_graph_and_an_impossible_checkpoint_first(run, table, tmp_path):
    code, _, err = run("compare", table, "--target", "y", "--graph", "corelation")
    assert code == 1
    assert "--graph must be a file or one of correlation, knn" in " ".join(err.split())
    code, _, err = run("compare", table, "--target", "y", "--checkpoint", tmp_path / "no" / "c")
    assert code == 1
    assert "no" in err
