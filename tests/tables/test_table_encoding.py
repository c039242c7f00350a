"""Columns of text, categories and dates become numbers, the same way in pandas and in polars."""

import datetime
import json
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest

from walkconv.estimators.table_samples import columns_to_encode
from walkconv.tables import TableEncoding, learn_table_encoding
from walkconv.tables.cells import parse_dates

nan = np.nan
DAY = datetime.date(2020, 1, 1)  # a Wednesday, day 18262
MOMENT = datetime.datetime(2020, 1, 1, 6)
COLUMNS = {
    "text": (["v", None, "u"], ["=u", "=v", "=(missing)"], [[0, 1, 0], [0, 0, 1], [1, 0, 0]]),
    "text without holes": (["v", "w", "u"], ["=u", "=v", "=w"], np.eye(3)[[1, 2, 0]]),
    "numbers": ([1, None, 3], [""], [[1], [nan], [3]]),
    "truths": ([True, None, False], [""], [[1], [nan], [0]]),
    "days": ([DAY, None, DAY], [""], [[18262], [nan], [18262]]),
    "moments": ([MOMENT, None, MOMENT], [""], [[18262.25], [nan], [18262.25]]),
    "spans": ([datetime.timedelta(hours=12), None, None], [""], [[0.5], [nan], [nan]]),
    "text of dates": (["2020-01-01", None, "2020-01-01 06:00"], [""], [[18262], [nan], [18262.25]]),
    "nothing": ([None, None, None], [""], [[nan], [nan], [nan]]),
}


def frames(values):
    """Yield the column in both kinds of frame, beside one that must be encoded."""
    yield pd.DataFrame({"x": values, "other": ["p", "q", "q"]})
    yield pl.DataFrame({"x": values, "other": ["p", "q", "q"]})


@pytest.mark.parametrize("kind", COLUMNS)
def test_each_kind_of_column_has_its_nodes(kind):
    values, suffixes, expected = COLUMNS[kind]
    for X in frames(values):
        encoding = learn_table_encoding(X)
        found = encoding.apply(X)
        n_nodes = len(suffixes)
        assert encoding.node_names[:n_nodes].tolist() == [f"x{suffix}" for suffix in suffixes]
        assert encoding.column_of_node.tolist() == [0] * n_nodes + [1, 1]
        np.testing.assert_array_equal(found[:, :n_nodes], expected)
        assert found.dtype == np.float64


TYPES = {
    "pandas string": lambda v: pd.Series(v, dtype="string"),
    "pandas objects": lambda v: pd.Series(v, dtype=object),
    "pandas categories": lambda v: pd.Series(v, dtype="category"),
    "polars categories": lambda v: pl.Series(v, dtype=pl.Categorical),
    "polars enum": lambda v: pl.Series(v, dtype=pl.Enum(["w", "v", "u"])),
    "polars objects": lambda v: pl.Series(v, dtype=pl.Object),
}


@pytest.mark.parametrize("form", TYPES)
def test_text_may_have_any_type(form):
    frame = pl.DataFrame if form.startswith("polars") else pd.DataFrame
    X = frame({"x": TYPES[form](["v", None, "u"])})
    encoding = learn_table_encoding(X)
    assert encoding.node_names.tolist() == ["x=u", "x=v", "x=(missing)"]
    np.testing.assert_array_equal(encoding.apply(X), np.eye(3)[[1, 2, 0]])
    plain = pl.DataFrame({"x": ["u", "v", None]})  # another type when it comes to predict
    np.testing.assert_array_equal(encoding.apply(plain), np.eye(3))


def test_numbers_of_a_categorical_type_are_categories_however_they_are_written():
    X = pd.DataFrame({"x": pd.Categorical([10, None, 3])})
    assert columns_to_encode(X) == ["x"]
    encoding = learn_table_encoding(X)
    assert encoding.node_names.tolist() == ["x=10", "x=3", "x=(missing)"]
    for again in ([10, 3, None], [10.0, 3.0, nan], ["10", "3", None]):
        np.testing.assert_array_equal(encoding.apply(pd.DataFrame({"x": again})), np.eye(3))


def test_ordered_categories_are_ranks():
    sizes = pd.CategoricalDtype(["small", "medium", "large"], ordered=True)
    encoding = learn_table_encoding(pd.DataFrame({"x": pd.Series(["large", "small"], dtype=sizes)}))
    found = encoding.apply(pl.DataFrame({"x": ["large", "medium", "small", "huge", None]}))
    np.testing.assert_array_equal(found[:, 0], [2, 1, 0, nan, nan])


def test_a_category_that_was_never_seen_is_zero_everywhere():
    encoding = learn_table_encoding(pl.DataFrame({"x": ["a", "b"]}))
    found = encoding.apply(pl.DataFrame({"x": ["c", None, "a"]}))
    np.testing.assert_array_equal(found, [[0, 0], [0, 0], [1, 0]])


def test_many_categories_share_a_node_and_have_a_frequency():
    often = [f"often{i:02d}" for i in range(20)] * 3
    X = pl.DataFrame({"x": [*often, "rare1", "rare2", *[None] * 18]})  # 80 rows
    encoding = learn_table_encoding(X)
    names = encoding.node_names.tolist()
    assert names[:2] == ["x=often00", "x=often01"]
    assert names[19:] == ["x=often19", "x=(other)", "x=(frequency)", "x=(missing)"]
    found = encoding.apply(pl.DataFrame({"x": ["often19", "rare2", "new", None]}))
    expected = [[1, 0, 3 / 80, 0], [0, 1, 1 / 80, 0], [0, 1, 0, 0], [0, 0, 18 / 80, 1]]
    np.testing.assert_array_equal(found[:, 19:], expected)
    assert not found[:, :19].any()


def test_dates_have_the_cycles_that_the_rows_show():
    hours = pd.date_range("2020-01-01", periods=24, freq="h")
    weeks = pd.date_range("2020-01-01", periods=60, freq="7D")
    years = pd.to_datetime([f"{year}-03-01" for year in range(2000, 2024)])
    found = {}
    for name, dates in {"hours": hours, "weeks": weeks, "years": years}.items():
        X = pd.DataFrame({"x": dates})
        encoding = learn_table_encoding(X)
        found[name] = encoding.node_names.tolist()
        values = encoding.apply(X)
        assert np.isfinite(values).all()
    assert found["hours"] == ["x", "x:day_sin", "x:day_cos"]
    assert found["weeks"] == ["x", "x:year_sin", "x:year_cos"]
    assert found["years"] == ["x", "x:week_sin", "x:week_cos"]
    encoding = learn_table_encoding(pd.DataFrame({"x": hours}))
    noon = encoding.apply(pl.DataFrame({"x": ["2020-01-01 12:00", "2020-01-01 06:00:00", "soon"]}))
    np.testing.assert_allclose(noon, [[18262.5, 0, -1], [18262.25, 1, 0], [nan] * 3], atol=1e-9)


def test_zones_are_dropped_so_that_a_clock_shows_the_same_hour():
    naive = pd.Series(pd.to_datetime(["2020-06-01 09:30", "2020-12-01 09:30"]))
    X = pd.DataFrame({"x": naive.dt.tz_localize("Europe/Paris"), "y": naive})
    found = learn_table_encoding(X).apply(X)
    n = found.shape[1] // 2
    np.testing.assert_array_equal(found[:, :n], found[:, n:])
    polars = pl.DataFrame({"x": pl.Series(naive.to_list()).dt.replace_time_zone("Asia/Tokyo")})
    np.testing.assert_array_equal(learn_table_encoding(polars).apply(polars), found[:, :n])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2024-02-29", "2024-02-29 00:00:00"),
        ("2024-02-29 23:59", "2024-02-29 23:59:00"),
        ("2024-02-29T23:59:58.25+01:00", "2024-02-29 23:59:58"),
        ("2023-02-29", None),
        ("2024-02", None),
        ("29.02.2024", None),
        ("2024-02-29x", None),
    ],
)
def test_text_that_is_a_date(text, expected):
    found = parse_dates(pl.Series([text]))[0]
    assert (found if found is None else str(found)) == expected


def test_text_that_differs_in_every_row_is_reported_and_not_used():
    X = pl.DataFrame({"id": [f"r{i}" for i in range(30)], "x": ["a", "b"] * 15})
    with pytest.warns(UserWarning, match="not used because their text differs in nearly .*: 'id'"):
        encoding = learn_table_encoding(X)
    assert encoding.node_names.tolist() == ["x=a", "x=b"]
    assert encoding.used_names == ["x"]
    np.testing.assert_array_equal(encoding.apply(X), encoding.apply(X.select("x")))
    with (
        pytest.warns(UserWarning, match="not used"),
        pytest.raises(ValueError, match="must have a column that can be used; all 1 differ"),
    ):
        learn_table_encoding(X.select("id"))


def test_text_of_few_rows_or_with_repetitions_is_used():
    few = pl.DataFrame({"x": list("abcdefghi")})
    repeated = pl.DataFrame({"x": [f"r{i // 2}" for i in range(30)]})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert learn_table_encoding(few).used_names == ["x"]
        assert learn_table_encoding(repeated).used_names == ["x"]


@pytest.mark.parametrize(
    ("values", "cell"),
    [
        (["1.5", "2", "?", "4"], r"row 3: '\?'"),
        ([1, 2.5, "n/a", 3], "row 3: 'n/a'"),
        ([str(i / 7) for i in range(30)], "row 1: '0.0'"),
    ],
)
def test_numbers_in_text_are_refused_with_their_cell(values, cell):
    X = pd.DataFrame({"ok": ["a"] * len(values), "x": pd.Series(values, dtype=object)})
    message = rf"seem to hold numbers, .*: 'x' \({cell}\)\. Correct these cells"
    with pytest.raises(ValueError, match=message):
        learn_table_encoding(X)
    as_categories = X.astype({"x": str}).astype({"x": "category"})
    if len(values) < 10:
        assert len(learn_table_encoding(as_categories).node_names) == 1 + len(values)


def test_a_few_digits_are_categories():
    X = pl.DataFrame({"x": ["1", "2", "1"]})
    assert learn_table_encoding(X).node_names.tolist() == ["x=1", "x=2"]


X = pl.DataFrame({"a": [1.0, 2.0], "b": ["u", "v"]})


def test_columns_are_found_by_name_in_any_order():
    encoding = learn_table_encoding(X)
    np.testing.assert_array_equal(encoding.apply(X.select("b", "a")), encoding.apply(X))
    np.testing.assert_array_equal(encoding.apply(pd.DataFrame(X.to_dict())), encoding.apply(X))


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        (X.drop("a"), ValueError, r"columns of fit; missing: 'a'\.$"),
        (X.with_columns(c=1), ValueError, r"columns of fit; unknown: 'c'\.$"),
        (X.rename({"a": "aa"}), ValueError, r"missing: 'a'; unknown: 'aa'\. Did you mean 'a'\?"),
        (X.to_numpy(), TypeError, "must be a DataFrame .* got ndarray"),
        (X.with_columns(a=pl.Series(["1", "x"])), ValueError, "'a' of X must hold numbers, .* 'x'"),
        (X.with_columns(a=DAY), ValueError, "'a' of X must hold numbers, as in fit; got dates"),
        (X.with_columns(a=pl.Series([[1], [2]])), TypeError, "something else: 'a'"),
    ],
)
def test_another_table_is_refused_by_name(given, error, message):
    with pytest.raises(error, match=message):
        learn_table_encoding(X).apply(given)


def test_columns_without_names_go_by_their_number():
    X = pd.DataFrame([[1.0, "u"], [2.0, "v"]]).infer_objects()
    encoding = learn_table_encoding(X)
    assert encoding.names is None
    assert encoding.node_names.tolist() == ["0", "1=u", "1=v"]
    np.testing.assert_array_equal(encoding.apply(X), [[1, 1, 0], [2, 0, 1]])
    with pytest.raises(ValueError, match="must have 2 columns, as in fit; got 1"):
        encoding.apply(X[[0]])


def test_names_of_nodes_are_never_the_same():
    X = pl.DataFrame({"a": ["b=c", "x"], "a=b": ["c", "d"], "e": ["(missing)", None]})
    names = learn_table_encoding(X).node_names.tolist()
    assert len(set(names)) == len(names) == 6
    assert names[:3] == ["a=b=c", "a=x", "a=b=c'"]


def everything():
    return pd.DataFrame(
        {
            "n": [1.5, None, 3.0],
            "c": ["u", None, "v"],
            "o": pd.Categorical(["x", "y", "x"], ordered=True),
            "d": pd.to_datetime(["2020-01-01", "2021-06-01", None]),
            "m": [f"level{i}" for i in range(3)],
        }
    )


def test_a_file_holds_plain_data():
    X = pd.concat([everything().assign(m=[f"l{i}", f"l{i}", "often"]) for i in range(30)])
    encoding = learn_table_encoding(X)
    assert encoding.columns[-1].shares
    again = TableEncoding.from_plain(json.loads(json.dumps(encoding.to_plain())))
    assert again.names == encoding.names
    np.testing.assert_array_equal(again.apply(X), encoding.apply(X))


def damaged(change):
    plain = learn_table_encoding(everything()).to_plain()
    change(plain)
    return plain


@pytest.mark.parametrize(
    "change",
    [
        lambda plain: plain["columns"][0].update(kind="magic"),
        lambda plain: plain["columns"][1].update(levels=["u", "u"]),
        lambda plain: plain["columns"][1].update(levels="uv"),
        lambda plain: plain["columns"][1].update(levels=["u", "\ud800"]),
        lambda plain: plain["columns"][1].update(missing=2.0),
        lambda plain: plain["columns"][1].update(missing=-1),
        lambda plain: plain["columns"][1].update(shares=[["u", "x"]]),
        lambda plain: plain["columns"][1].update(shares=[["u"]]),
        lambda plain: plain["columns"][2].update(levels=[]),
        lambda plain: plain["columns"][3].update(cycles=["day", "year"]),
        lambda plain: plain["columns"][3].update(cycles=["century"]),
        lambda plain: plain["columns"].pop(),
        lambda plain: plain.update(names=["a", "a", "b", "c", "d"]),
        lambda plain: plain.update(names=[1, 2, 3, 4, 5]),
        lambda plain: plain.update(columns=[{"kind": "unused"}], names=None),
        lambda plain: plain.pop("names"),
    ],
)
def test_a_damaged_file_is_refused(change):
    with pytest.raises((ValueError, TypeError, KeyError)):
        TableEncoding.from_plain(damaged(change))


def test_plain_numbers_need_no_encoding():
    numbers = pd.DataFrame({"a": [1, 2], "b": [True, False], "c": pd.array([1, None], "Int64")})
    assert columns_to_encode(numbers) == []
    assert columns_to_encode(numbers.assign(d=pd.Series([1, None], dtype=object))) == []
    assert columns_to_encode(pl.DataFrame({"a": [1, 2], "b": [None, True], "c": [None] * 2})) == []


def test_a_column_of_moments_that_are_all_missing_is_a_missing_number():
    for table in (
        pd.DataFrame({"x": pd.to_datetime([None] * 3), "other": ["p", "q", "q"]}),
        pl.DataFrame({"x": pl.Series([None] * 3, dtype=pl.Datetime), "other": ["p", "q", "q"]}),
    ):
        assert np.isnan(learn_table_encoding(table).apply(table)[:, 0]).all()


def test_numbers_too_large_for_a_float_are_infinite_or_text():
    table = pd.DataFrame({"x": [10**400, -(10**400), None], "y": [10**400, "a", "a"]})
    found = learn_table_encoding(table).apply(table)
    np.testing.assert_array_equal(found[:, 0], [np.inf, -np.inf, nan])
    np.testing.assert_array_equal(found[:, 1:], [[1, 0], [0, 1], [0, 1]])


def test_text_that_utf8_cannot_hold_is_a_category():
    table = pd.DataFrame({"x": ["\udcff", "b", "b"]})
    encoding = learn_table_encoding(table)
    assert encoding.node_names.tolist() == ["x=\\udcff", "x=b"]
    np.testing.assert_array_equal(encoding.apply(table), [[1, 0], [0, 1], [0, 1]])
