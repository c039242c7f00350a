import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from walkconv.models.architecture import (
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
        st.builds(Pooling, st.lists(SIZE, min_size=1, max_size=3).map(tuple)),
    ),
    max_size=4,
)
DENSE = st.lists(st.builds(FullyConnected, SIZE), max_size=3)
READOUT = st.lists(st.just(Readout()), max_size=1)
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
        ("C10-X20-FC300", 5, "X20", "Layers are C20, P4, P2x2, G, FC512 or N1"),
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


@pytest.mark.parametrize("bad", [None, 20, ["C20"], b"C20"])
def test_an_architecture_is_a_string(bad):
    with pytest.raises(TypeError, match="architecture must be a string such as 'C20-FC512'; got"):
        parse_architecture(bad)


def test_parsing_does_not_load_torch():
    program = (
        "import sys, walkconv.models.architecture as a\n"
        "a.parse_architecture('C10-FC20')\n"
        "assert 'torch' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
