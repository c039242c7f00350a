"""Figure 3, left: the correlation of the first 100 descriptors of a Merck set."""

from matplotlib.figure import Figure

from experiments.figures.style import panels
from walkconv import correlation_graph
from walkconv.datasets import load_merck

NAME, N_SHOWN = "METAB", 100


def draw() -> Figure:
    """Return the figure; it needs the files of the set, see `load_merck`."""
    shown = load_merck(NAME).X_train[:, :N_SHOWN]
    figure, axes = panels(1, 1, (5.6, 4.7))
    panel = axes[0, 0]
    image = panel.imshow(correlation_graph(shown).toarray(), cmap="RdBu_r", vmin=-1, vmax=1)
    panel.set_title(f"First {N_SHOWN} descriptors of {NAME}")
    panel.set(xticks=[0, 49, 99], yticks=[0, 49, 99])
    panel.set(xticklabels=["1", "50", "100"], yticklabels=["1", "50", "100"])
    panel.tick_params(length=0)
    panel.spines[:].set_visible(False)
    bar = figure.colorbar(image, ax=panel, shrink=0.8, ticks=[-1, -0.5, 0, 0.5, 1], aspect=24)
    bar.set_label("correlation")
    bar.outline.set_visible(False)
    return figure
