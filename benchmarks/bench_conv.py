"""Time the convolution beside the usual ways: `make bench-conv`.

Prints the tables, and writes what they hold to `results/conv.json` and, as a page, `conv.md`.
"""

import argparse
import json
from collections.abc import Callable
from functools import partial

import torch
from machine import provenance
from page import BARE, OURS, RESULTS, USUAL, write_page
from rivals import bare_products, gather_tensordot, pyg_layers, select_matmul
from timing import interleaved, peak_bytes
from torch import Tensor, nn

import walkconv as wc

SHAPES = {  # M samples, N nodes, p neighbours, d channels in, f filters
    "MNIST layer 1": (128, 717, 6, 1, 20),
    "MNIST layer 2": (128, 717, 6, 20, 20),
    "LeNet layer 2": (128, 196, 25, 40, 80),
    "DPP4 layer 2": (200, 2153, 5, 10, 20),
    "large graph": (4, 200_000, 8, 16, 16),
}


def problem(M: int, N: int, p: int, d: int, f: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return x (M, N, d), a random table (N, p), weight (p, d, f) and bias (f)."""
    draw = torch.Generator().manual_seed(0)
    index = torch.randint(0, N, (N, p), generator=draw)
    x = torch.randn(M, N, d, generator=draw).requires_grad_()
    weight = torch.randn(p, d, f, generator=draw).requires_grad_()
    return x, index, weight, torch.randn(f, generator=draw).requires_grad_()


def training_step(
    convolve: Callable[..., Tensor], inputs: tuple[Tensor, ...], *arguments: object
) -> Callable[[], object]:
    """Return a function that does forward and backward into `inputs`."""
    grad = torch.randn_like(convolve(*arguments))
    return lambda: torch.autograd.grad(convolve(*arguments), inputs, grad)


@torch.no_grad()
def forward_pass(convolve: Callable[..., Tensor], *arguments: object) -> Tensor:
    """Run the convolution without recording it for a gradient."""
    return convolve(*arguments)


def contestants(
    shape: tuple[int, int, int, int, int],
) -> tuple[dict[str, Callable[[], object]], dict[str, Callable[[], object]]]:
    """Return the forward passes and the training steps to time, by name."""
    torch.compiler.reset()  # one shape at a time is compiled, none falls back for being the ninth
    x, index, weight, bias = arguments = problem(*shape)
    ways: dict[str, Callable[..., Tensor]] = {
        OURS: wc.graph_conv,
        USUAL: gather_tensordot,
        "index_select + matmul": select_matmul,
        "torch.compile of the usual way": torch.compile(gather_tensordot, dynamic=False),
    }
    forward = {name: partial(forward_pass, way, *arguments) for name, way in ways.items()}
    training = {
        name: training_step(way, (x, weight, bias), *arguments) for name, way in ways.items()
    }
    forward[BARE], training[BARE] = bare_products(x.detach(), index, weight)
    edges = torch.stack([index.flatten(), torch.arange(len(index)).repeat_interleave(shape[2])])
    for name, layer in pyg_layers(*weight.shape[1:], shape[2]).items():
        forward[name] = partial(forward_pass, layer, x, edges)
        training[name] = training_step(layer, (x, *layer.parameters()), x, edges)
    return forward, training


def time_shapes(rounds: int) -> list[dict]:
    """Time every way on every shape."""
    rows = []
    for name, shape in SHAPES.items():
        forward, training = contestants(shape)
        rows.append(
            {
                "name": name,
                "shape": shape,
                "forward": interleaved(forward, rounds),
                "training": interleaved(training, rounds),
            }
        )
        print_shape(rows[-1])
    return rows


def print_shape(row: dict) -> None:
    """Print one shape: milliseconds, and how many times ours each takes."""
    print(f"\n{row['name']}  M, N, p, d, f = {', '.join(map(str, row['shape']))}")
    print(f"  {'':32}{'forward':>12}{'/ ours':>9}{'fwd + bwd':>14}{'/ ours':>9}")
    for name, forward in row["forward"].items():
        training = row["training"][name]
        print(
            f"  {name:32}{forward * 1e3:9.2f} ms{forward / row['forward'][OURS]:8.2f}x"
            f"{training * 1e3:11.2f} ms{training / row['training'][OURS]:8.2f}x"
        )


def measure_memory() -> list[dict]:
    """Measure what a training step needs beyond its input, output and gradients."""
    print("\nPeak memory of a training step beyond input, output and gradients")
    rows = []
    more_samples = {"LeNet layer 2, four times the samples": (512, 196, 25, 40, 80)}
    for name, shape in (SHAPES | more_samples).items():  # does what is fixed stay so?
        x, _, weight, bias = arguments = problem(*shape)
        M, N, _, _, f = shape
        output_bytes = 4 * M * N * f
        gradient_bytes = sum(4 * t.numel() for t in (x, weight, bias))
        counted = 4 * x.numel() + 2 * output_bytes + gradient_bytes
        extra = {}
        for way, convolve in ((OURS, wc.graph_conv), (USUAL, gather_tensordot)):
            # Input and gradient of the output are there before: they are no part of the growth.
            step = training_step(convolve, (x, weight, bias), *arguments)
            extra[way] = max(0, peak_bytes(step) - output_bytes - gradient_bytes)
        rows.append({"name": name, "counted_bytes": counted, "extra_bytes": extra})
        shares = "   ".join(
            f"{way} {nbytes / 2**20:8.1f} MiB ({nbytes / counted:6.1%})"
            for way, nbytes in extra.items()
        )
        print(f"  {name:37} counted {counted / 2**20:7.1f} MiB   extra: {shares}")
    return rows


def measure_growth(rounds: int) -> dict[str, list[dict]]:
    """Time training steps as the number of nodes, and of neighbours, grows."""
    print("\nGrowth of a training step")
    growth: dict[str, list[dict]] = {"nodes": [], "neighbors": []}
    cases = [("nodes", (4, n, 8, 16, 16)) for n in (10_000, 30_000, 100_000, 300_000, 1_000_000)]
    cases += [("neighbors", (64, 2000, p, 16, 16)) for p in (4, 8, 16, 32)]
    steps = {}
    for what, shape in cases:
        x, index, weight, bias = problem(*shape)
        if what == "nodes":  # neighbours nearby, as in a graph whose numbering means something
            near = torch.randint(-500, 500, index.shape)
            index = (torch.arange(len(index))[:, None] + near) % len(index)
        steps[what, shape] = training_step(wc.graph_conv, (x, weight, bias), x, index, weight, bias)
    seconds = interleaved(steps, rounds)
    for (what, shape), value in seconds.items():
        unit = value / (shape[0] * shape[1] if what == "nodes" else shape[2])
        growth[what].append({"shape": shape, "seconds": value})
        per = "ns per sample and node" if what == "nodes" else "ms per neighbour"
        scaled = unit * (1e9 if what == "nodes" else 1e3)
        print(f"  M, N, p, d, f = {shape!s:30} {value * 1e3:10.2f} ms   {scaled:8.3f} {per}")
    return growth


class UsualConv(nn.Module):
    """A GraphConv's filters applied the usual way."""

    def __init__(self, layer: wc.GraphConv):
        super().__init__()
        self.layer = layer

    def forward(self, x: Tensor) -> Tensor:
        """Return the convolution (M, N, c_out)."""
        bias = self.layer.bias
        assert bias is not None
        return gather_tensordot(x, self.layer.index, self.layer.weight, bias)


def epoch(n_layers: int, is_ours: bool, n_batches: int) -> Callable[[], object]:
    """Return a function that trains C20 or C20-C20 for some batches of 128 rows of 717 columns."""
    torch.manual_seed(0)
    X = torch.randn(128 * n_batches, 717).cumsum(dim=1)
    y = torch.randint(0, 10, (len(X),))
    neighbors = wc.select_neighbors(wc.correlation_graph(X[:1000].numpy()), n_neighbors=6)
    stack: list[nn.Module] = []
    for c_in in (1, 20)[:n_layers]:
        layer = wc.GraphConv(c_in, 20, neighbors)
        stack += [layer if is_ours else UsualConv(layer), nn.ReLU()]
    network = nn.Sequential(*stack, nn.Flatten(), nn.Linear(717 * 20, 10))
    optimizer = torch.optim.AdamW(network.parameters())

    def train() -> None:
        for rows, labels in zip(X.split(128), y.split(128), strict=True):
            optimizer.zero_grad()
            nn.functional.cross_entropy(network(rows[..., None]), labels).backward()
            optimizer.step()

    return train


def time_epochs(n_batches: int) -> list[dict]:
    """Time whole training loops, torch's own layers and optimiser included."""
    print(f"\nTraining, {n_batches} batches of 128 rows of 717 columns, all layers and AdamW")
    rows = []
    for name, n_layers in (("C20", 1), ("C20-C20", 2)):
        seconds = interleaved(
            {OURS: epoch(n_layers, True, n_batches), USUAL: epoch(n_layers, False, n_batches)}, 3
        )
        rows.append({"architecture": name, "n_batches": n_batches, "seconds": seconds})
        print(
            f"  {name:8} ours {seconds[OURS]:7.2f} s   usual {seconds[USUAL]:7.2f} s   "
            f"speed-up {seconds[USUAL] / seconds[OURS]:5.2f}x"
        )
    return rows


def main() -> None:
    """Measure what was asked for and write it beside what was measured before."""
    parser = argparse.ArgumentParser(description=__doc__)
    sections = ["memory", "shapes", "growth", "epochs"]  # memory first, in a process still small
    parser.add_argument("sections", nargs="*", default=sections, metavar="|".join(sections))
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--batches", type=int, default=117, help="a quarter of an MNIST epoch")
    settings = parser.parse_args()
    measure: dict[str, Callable[[], object]] = {
        "shapes": lambda: time_shapes(settings.rounds),
        "memory": measure_memory,
        "growth": lambda: measure_growth(settings.rounds),
        "epochs": lambda: time_epochs(settings.batches),
    }
    made_with = provenance("torch_geometric")
    print("\n".join(f"{key}: {value}" for key, value in made_with.items()))
    for section in settings.sections:
        results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
        results[section] = {"made_with": made_with, "measured": measure[section]()}
        RESULTS.write_text(json.dumps(results, indent=1) + "\n")
        write_page()


if __name__ == "__main__":
    main()
