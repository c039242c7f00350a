import pandas as pd
import polars as pl
import pytest

from walkconv import correlation_graph, knn_graph
from walkconv._checks import check_number, check_option, closest, refuse_odd_table


@pytest.mark.parametrize(
    ("name", "known", "hint"),
    [
        ("heigth", ["height", "weight"], " Did you mean 'height'?"),
        ("Height", ["height", "weight"], " Did you mean 'height'?"),
        ("GENE_a", ["GENE_A", "GENE_B"], " Did you mean 'GENE_A'?"),
        ("colour", ["height", 3], ""),
        (3, ["3"], ""),
        ("a", [], ""),
    ],
)
def test_the_closest_name_is_suggested(name, known, hint):
    assert closest(name, known) == hint


def test_a_mistyped_option_gets_a_suggestion():
    with pytest.raises(ValueError, match=r"got 'denze' \(str\)\. Did you mean 'dense'\?"):
        check_option("denze", "method", ["sparse", "dense"])
    with pytest.raises(ValueError, match=r"got 5 \(int\)\.$"):
        check_option(5, "method", ["sparse", "dense"])


class AnnData:
    """Recognised by name and module, as the real class."""

    __module__ = "anndata._core.anndata"
    shape = (2, 2)


class View(AnnData):
    __module__ = "elsewhere"


@pytest.mark.parametrize("kind", [AnnData, View])
@pytest.mark.parametrize("function", [refuse_odd_table, correlation_graph, knn_graph])
def test_anndata_is_refused_with_a_remedy(function, kind):
    with pytest.raises(TypeError, match=r"Pass adata\.to_df\(\)"):
        function(kind())


def test_column_names_must_be_unique():
    frame = pd.DataFrame([[1, 2, 3, 4], [2, 1, 3, 5]], columns=["a", "b", "a", "c"])
    for function in (refuse_odd_table, correlation_graph, knn_graph):
        with pytest.raises(ValueError, match=r"unique: 'a' appears 2 times\. Rename or drop one"):
            function(frame)
    frame.columns = ["a", "a", "b", "b"]
    with pytest.raises(ValueError, match=r"'a' appears 2 times\. 1 more name\(s\) appear again\."):
        refuse_odd_table(frame)


def test_a_frame_without_columns_is_refused():
    with pytest.raises(ValueError, match="at least one column"):
        refuse_odd_table(pd.DataFrame())


@pytest.mark.parametrize("table", [[[1, 2]], pl.DataFrame({"a": [1], "b": [2]})])
def test_other_tables_pass(table):
    refuse_odd_table(table)


@pytest.mark.parametrize("value", [10**400, -(10**400)])
def test_an_integer_that_no_float_holds_is_refused(value):
    with pytest.raises(ValueError, match=r"rate must be at most 1\.8e308 in size"):
        check_number(value, "rate", minimum=0)
