"""What is given to ``torch.ops.walkconv`` directly is checked: the kernel believes it."""

import pytest
import torch

from walkconv import graph_conv

CONV = torch.ops.walkconv.graph_conv
BACK = torch.ops.walkconv.graph_conv_backward


@pytest.fixture
def given():
    draw = torch.Generator().manual_seed(0)
    return {
        "x": torch.randn(2, 50, 4, generator=draw),
        "index": torch.randint(-1, 50, (50, 3), generator=draw),
        "weight": torch.randn(3, 4, 5, generator=draw),
        "bias": torch.randn(5, generator=draw),
        "scale": torch.randn(50, 3, generator=draw),
    }


WRONG = {
    "weight of other slots": {"weight": torch.randn(1, 1, 64)},
    "weight of other channels": {"weight": torch.randn(3, 5, 5)},
    "wide weight, short bias": {"weight": torch.randn(3, 4, 50_000)},
    "index of int32": {"index": torch.zeros(50, 3, dtype=torch.int32)},
    "index of floats": {"index": torch.zeros(50, 3)},
    "index of other samples": {"index": torch.zeros(3, 50, 3, dtype=torch.int64)},
    "index of one axis": {"index": torch.zeros(50, dtype=torch.int64)},
    "index outside": {"index": torch.full((50, 3), 50)},
    "index below": {"index": torch.full((50, 3), -2)},
    "short bias": {"bias": torch.randn(1)},
    "bias of float64": {"bias": torch.randn(5, dtype=torch.float64)},
    "short scale": {"scale": torch.randn(1, 3)},
    "scale of float64": {"scale": torch.randn(50, 3, dtype=torch.float64)},
    "x of two axes": {"x": torch.randn(50, 4)},
    "x of float64": {"x": torch.randn(2, 50, 4, dtype=torch.float64)},
    "x of integers": {"x": torch.ones(2, 50, 4, dtype=torch.int64)},
}


@pytest.mark.parametrize("wrong", WRONG)
def test_arguments_that_do_not_fit_are_refused(given, wrong, each_engine):
    arguments = given | WRONG[wrong]
    with pytest.raises((ValueError, TypeError, IndexError), match=r"must|needs"):
        CONV(*arguments.values())
    if wrong not in ("short bias", "bias of float64"):
        x, index, weight, _, scale = arguments.values()
        with pytest.raises((ValueError, TypeError, IndexError), match=r"must|needs"):
            BACK(torch.randn(2, 50, 5), x, index, weight, scale, True, True, True)


def test_a_gradient_that_does_not_fit_is_refused(given, each_engine):
    x, index, weight, _, scale = given.values()
    for grad in (torch.randn(1, 1, 1), torch.randn(2, 50, 5, dtype=torch.float64)):
        with pytest.raises((ValueError, TypeError), match="grad must"):
            BACK(grad, x, index, weight, scale, True, True, True)


def misaligned(tensor):
    """Return the same values at an address that their type may not have."""
    raw = torch.empty(tensor.numel() * tensor.element_size() + 1, dtype=torch.uint8).numpy()
    shifted = raw[1:].view(tensor.numpy().dtype).reshape(tensor.shape)
    shifted[...] = tensor.numpy()
    found = torch.from_numpy(shifted)
    assert found.data_ptr() % tensor.element_size()
    return found


def test_values_at_odd_addresses_are_copied(given, each_native_engine, monkeypatch):
    from walkconv.conv import native

    seen, address = [], native._address

    def look(tensor):
        if tensor is not None:
            seen.append(tensor.data_ptr() % tensor.element_size())
        return address(tensor)

    monkeypatch.setattr(native, "_address", look)
    expected = graph_conv(*given.values())
    odd = {name: misaligned(tensor) for name, tensor in given.items()}
    torch.testing.assert_close(graph_conv(*odd.values()), expected, rtol=0, atol=0)
    x, index, weight, _, scale = odd.values()
    for found, wanted in zip(
        BACK(misaligned(expected), x, index, weight, scale, True, True, True),
        BACK(expected, given["x"], given["index"], given["weight"], given["scale"], *[True] * 3),
        strict=True,
    ):
        torch.testing.assert_close(found, wanted, rtol=0, atol=0)
    assert not any(seen)


POOL = {
    "start of int32": {"start": torch.tensor([0, 2, 5], dtype=torch.int32)},
    "member of int32": {"member": torch.arange(5, dtype=torch.int32)},
    "start of two axes": {"start": torch.tensor([[0, 2, 5]])},
    "no groups": {"start": torch.tensor([0])},
    "nothing": {"start": torch.tensor([], dtype=torch.int64)},
    "start past the end": {"start": torch.tensor([0, 2, 9])},
    "start falls": {"start": torch.tensor([0, 7, 5])},
    "member outside": {"member": torch.arange(5) + 1},
    "other nodes": {"x": torch.randn(3, 4, 2)},
    "one axis": {"x": torch.randn(5)},
    "integers": {"x": torch.ones(3, 5, 2, dtype=torch.int64)},
}


@pytest.mark.parametrize("wrong", POOL)
def test_groups_that_do_not_fit_are_refused(wrong, each_engine):
    given = {"x": torch.randn(3, 5, 2), "start": torch.tensor([0, 2, 5]), "member": torch.arange(5)}
    arguments = given | POOL[wrong]
    with pytest.raises((ValueError, IndexError), match="must"):
        torch.ops.walkconv.largest(*arguments.values(), 3)
    if "x" in POOL[wrong]:
        return
    grad, winner = torch.randn(3, 2, 2), torch.zeros(3, 2, 2, dtype=torch.uint8)
    with pytest.raises((ValueError, IndexError), match="must"):
        torch.ops.walkconv.largest_backward(grad, winner, arguments["start"], arguments["member"])


def test_gradients_of_groups_that_do_not_fit_are_refused(each_engine):
    start, member = torch.tensor([0, 2, 5]), torch.arange(5)
    winner = torch.zeros(3, 2, 2, dtype=torch.uint8)
    for grad, turns in ((torch.randn(3, 9, 2), winner), (torch.randn(3, 2, 2), winner[:1])):
        with pytest.raises(ValueError, match="must"):
            torch.ops.walkconv.largest_backward(grad, turns, start, member)


def test_pooling_copies_values_at_odd_addresses(each_native_engine):
    x, start, member = torch.randn(3, 5, 2), torch.tensor([0, 2, 5]), torch.arange(5)
    expected = torch.ops.walkconv.largest(x, start, member, 3)
    found = torch.ops.walkconv.largest(misaligned(x), misaligned(start), misaligned(member), 3)
    assert all(torch.equal(a, b) for a, b in zip(found, expected, strict=True))


def test_a_wrong_number_of_turns_is_refused(each_engine):
    start, member = torch.tensor([0, 300]), torch.arange(300)
    with pytest.raises(ValueError, match="n_turns must be the size of the largest group, 300"):
        torch.ops.walkconv.largest(torch.randn(1, 300, 2), start, member, 3)
