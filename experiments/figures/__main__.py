"""Draw every figure, or those named, into docs/figures."""

import sys
from collections.abc import Callable

import matplotlib as mpl
from matplotlib.figure import Figure

from experiments.figures import convergence, convolution, descriptors, visits
from experiments.figures.style import SETTINGS, save

FIGURES: dict[str, Callable[[], Figure]] = {
    "figure1_convolution": convolution.draw,
    "figure2_visits": visits.draw,
    "figure3_descriptors": descriptors.draw,
    "figure3_convergence": convergence.draw,
}


def main(names: list[str]) -> int:
    """Draw; a figure whose data are not there is left as it is, and said so."""
    if unknown := set(names) - FIGURES.keys():
        raise SystemExit(f"Figures are {', '.join(FIGURES)}; got {', '.join(sorted(unknown))}.")
    for name in names or FIGURES:
        try:
            with mpl.rc_context(SETTINGS):
                save(FIGURES[name](), name)
        except FileNotFoundError as error:
            print(f"{name}: not drawn. {error}", file=sys.stderr)
        else:
            print(f"{name}: drawn")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
