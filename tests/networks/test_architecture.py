import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from walkconv.networks import architecture
from walkconv.networks.architecture import (
    Convolution,
    FullyConnected,
    NodeOutput,
    Pooling,
    Readout,
    format_architecture,
    parse_architecture,
)

SIZE = st.integers(1, 10**6)
NODES = st.lists(
    st.one_of(
        st.builds(Convolution, SIZE),
        st.builds(
            Pooling,
            st.lists(SIZE, min_size=1, max_size=3).map(tuple),
            st.sampled_from(["max", "mean"]),
        ),
    ),
    max_size=4,
)
DENSE = st.lists(st.builds(FullyConnected, SIZE), max_size=3)
READOUT = st.lists(
    st.builds(Readout, st.sampled_from(["mean", "sum", "log_sum", "max"])), max_size=1
)
LAYERS = st.tuples(NODES, READOUT, DENSE).map(lambda parts: (*parts[0], *parts[1], *parts[2]))


@pytest.mark.parametrize(
    ("text", "layers"),
    [
        ("", ()),
        ("   ", ()),
        ("C20", (Convolution(20),)),
        ("FC512-FC512", (FullyConnected(512), FullyConnected(512))),
        ("C10-C20-FC300", (Convolution(10), Convolution(20), FullyConnected(300))),
        ("C40-P4-C80-P2x2", (Convolution(40), Pooling((4,)), Convolution(80), Pooling((2, 2)))),
        ("c10 - p2X2-fc3 ", (Convolution(10), Pooling((2, 2)), FullyConnected(3))),
        ("C007", (Convolution(7),)),
        ("C32-n2", (Convolution(32), NodeOutput(2))),
        ("C32-g-FC64", (Convolution(32), Readout(), FullyConnected(64))),
        ("P4mean-P2x2MEAN", (Pooling((4,), "mean"), Pooling((2, 2), "mean"))),
        ("P4max", (Pooling((4,)),)),
        ("Gmean", (Readout(),)),
        ("C8-Gsum", (Convolution(8), Readout("sum"))),
        ("glog_sum-FC2", (Readout("log_sum"), FullyConnected(2))),
        ("Gmax", (Readout("max"),)),
        ("C999999999", (Convolution(999_999_999),)),
    ],
)
def test_strings_become_layers(text, layers):
    assert parse_architecture(text) == layers


@given(LAYERS)
def test_formatting_then_parsing_gives_the_same_layers(layers):
    assert parse_architecture(format_architecture(layers)) == layers


@given(LAYERS)
def test_capitals_and_spaces_do_not_matter(layers):
    text = format_architecture(layers).lower().replace("-", " - ")
    assert parse_architecture(text) == layers


@pytest.mark.parametrize(
    ("text", "position", "token", "reason"),
    [
        ("C10-X20-FC300", 5, "X20", "Layers are C20, P4, P4mean, P2x2, G, Gsum, FC512 or N1"),
        ("C10-C-FC300", 5, "C", "Layers are"),
        ("20", 1, "20", "Layers are"),
        ("C10,C20", 1, "C10,C20", "Layers are"),
        ("C1 0", 1, "C1 0", "Layers are"),
        ("C-5", 1, "C", "Layers are"),
        ("C\uff11", 1, "C\uff11", "Layers are"),
        ("C10--FC3", 5, "", "A layer is missing here"),
        ("C10-", 5, "", "A layer is missing here"),
        ("-C10", 1, "", "A layer is missing here"),
        ("C10 -  FC0", 8, "FC0", "size of at least 1"),
        ("P2x0", 1, "P2x0", "size of at least 1"),
        ("P2x", 1, "P2x", "Layers are"),
        ("C2x2", 1, "C2x2", "Only pooling has several sides"),
        ("FC300-C10", 7, "C10", "there are no nodes"),
        ("C10-FC300-P2", 11, "P2", "there are no nodes"),
        ("C10-G-P2", 7, "P2", "After a readout there are no nodes"),
        ("C10-FC3-G", 9, "G", "no nodes left to read out"),
        ("G-G", 3, "G", "no nodes left to read out"),
        ("G2", 1, "G2", "Layers are"),
        ("G2sum", 1, "G2sum", "Layers are"),
        ("Pmean", 1, "Pmean", "Layers are"),
        ("P4median", 1, "P4median", "Layers are"),
        ("C2-C4mean", 4, "C4mean", "Only P and G layers name how they reduce, as in P4mean"),
        ("FC4max", 1, "FC4max", "Only P and G layers name how they reduce"),
        ("C2-P4sum", 4, "P4sum", "Pooling takes the max or the mean, as in P4 or P4mean"),
        ("P4log_sum", 1, "P4log_sum", "Pooling takes the max or the mean"),
        ("C2-C1000000000", 4, "C1000000000", "A size must have at most 9 digits"),
        ("P2x1000000000", 1, "P2x1000000000", "A size must have at most 9 digits"),
        ("C" + "9" * 5000, 1, "C" + "9" * 5000, "A size must have at most 9 digits"),
        ("C2-N1-FC3", 7, "FC3", "N1 is the output and comes last"),
        ("C2-N1-N1", 7, "N1", "N1 is the output and comes last"),
        ("C2-P2-N1", 7, "N1", "After pooling the single nodes are gone"),
        ("C2-G-N1", 6, "N1", "After a readout there are no nodes"),
    ],
)
def test_a_bad_string_is_pointed_at(text, position, token, reason):
    with pytest.raises(ValueError, match=reason) as caught:
        parse_architecture(text)
    message, shown, arrows = str(caught.value).split("\n")
    assert f"at position {position} ({token!r})" in message
    assert shown == f"  {text}"
    assert arrows == "  " + " " * (position - 1) + "^" * max(1, len(token))


@pytest.mark.parametrize(
    ("text", "written"),
    [("p4MEAN-c2-gSUM", "P4mean-C2-Gsum"), ("P4max-Gmean", "P4-G"), ("GLOG_SUM", "Glog_sum")],
)
def test_a_reduction_is_written_unless_it_is_the_default(text, written):
    assert format_architecture(parse_architecture(text)) == written


def test_each_layer_of_a_long_architecture_is_parsed_once(monkeypatch):
    seen = []

    pattern = architecture.TOKEN

    class Pattern:
        def fullmatch(self, token):
            seen.append(len(token))
            return pattern.fullmatch(token)

    monkeypatch.setattr(architecture, "TOKEN", Pattern())
    layers = parse_architecture("-".join(["C1", "P2mean"] * 500))
    assert len(layers) == len(seen) == 1_000
    assert sum(seen) == 4_000


@pytest.mark.parametrize("bad", [None, 20, ["C20"], b"C20"])
def test_an_architecture_is_a_string(bad):
    with pytest.raises(TypeError, match="architecture must be a string such as 'C20-FC512'; got"):
        parse_architecture(bad)


def test_parsing_does_not_load_torch():
    program = (
        "import sys, walkconv.networks.architecture as a\n"
        "a.parse_architecture('C10-FC20')\n"
        "assert 'torch' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_an_architecture_without_end_is_refused_before_it_is_read():
    with pytest.raises(ValueError, match="must have at most 1000 layers; got 1001"):
        parse_architecture("-".join(["C1"] * 1001))
