"""The picture of the demonstration: what a person sees, what the network sees, what it found."""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")  # a file, no window

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

COLORS = plt.get_cmap("tab10").colors


def draw_neighborhoods(
    neighbors: np.ndarray,
    place: np.ndarray,
    shape: tuple[int, int],
    example: np.ndarray,
    path: Path,
) -> None:
    """Draw a few neighbourhoods on the grid, beside one digit in order and shuffled.

    Parameters
    ----------
    neighbors : ndarray of shape (n_pixels, n_neighbors)
        The neighbours of each pixel, itself among them, -1 for none.
    place : ndarray of shape (n_pixels,)
        Where each pixel lies in the picture, counted along its rows.
    shape : pair of int
        Rows and columns of the picture.
    example : ndarray of shape (n_pixels,)
        One digit.
    path : Path
        The PNG to write.
    """
    figure, (ordered, given, found) = plt.subplots(1, 3, figsize=(12, 4.4), layout="constrained")
    picture = np.zeros(shape)
    picture.flat[place] = example
    ordered.imshow(picture, cmap="gray_r")
    ordered.set_title("What a person sees")
    given.imshow(_as_block(example), cmap="gray_r")
    given.set_title(f"What the network sees: {len(example)} numbers")
    found.imshow(picture, cmap="gray_r", alpha=0.12)
    centers = _spread_pixels(place, shape)
    for number, center in enumerate(centers):
        _draw_one(found, center, neighbors[center], place, shape[1], COLORS[number % len(COLORS)])
    found.set_title(f"The neighbours it found, for {len(centers)} of its pixels")
    for axes in (ordered, given, found):
        axes.set(xticks=[], yticks=[])
    figure.savefig(path, dpi=150)
    plt.close(figure)


def _draw_one(
    axes: Axes, center: int, neighbors: np.ndarray, place: np.ndarray, width: int, color: tuple
) -> None:
    """Fill the cells of a neighbourhood, its own pixel darkest, with lines to the others."""
    row, column = divmod(int(place[center]), width)
    for neighbor in neighbors[neighbors >= 0]:
        there_row, there_column = divmod(int(place[neighbor]), width)
        axes.fill(
            there_column + np.array([-0.5, 0.5, 0.5, -0.5]),
            there_row + np.array([-0.5, -0.5, 0.5, 0.5]),
            color=color,
            alpha=1.0 if neighbor == center else 0.45,
            linewidth=0,
        )
        axes.plot([column, there_column], [row, there_row], color=color, linewidth=1)


def _spread_pixels(place: np.ndarray, shape: tuple[int, int]) -> list[int]:
    """Return pixels near the points of a coarse lattice, away from the border."""
    per_axis = min(4, min(shape) // 3)
    rows, columns = (np.linspace(side / 6, 5 * side / 6 - 1, per_axis) for side in shape)
    lattice = np.stack(np.meshgrid(rows, columns, indexing="ij"), axis=-1).reshape(-1, 2)
    positions = np.stack(np.divmod(place, shape[1]), axis=1)
    distance = np.linalg.norm(positions[None] - lattice[:, None], axis=2)
    return list(dict.fromkeys(distance.argmin(axis=1).tolist()))


def _as_block(example: np.ndarray) -> np.ndarray:
    """Return the numbers in their given order as a near-square block."""
    width = int(np.ceil(np.sqrt(len(example))))
    block = np.full(width * int(np.ceil(len(example) / width)), np.nan)
    block[: len(example)] = example
    return block.reshape(-1, width)
