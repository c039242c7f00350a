"""
Shuffled photographs
====================

A table of small colour pictures whose columns are in no order. The library finds the plane that the
columns came from, and which three columns are the colours of one pixel, from the values alone.
"""

# %%
# Pieces of a photograph that comes with scikit-learn, 24 x 24 pixels in three colours: 1,728
# columns, shuffled.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_sample_image
from sklearn.feature_extraction.image import extract_patches_2d

import walkconv as wc

photograph = load_sample_image("flower.jpg")[::4, ::4]
pieces = extract_patches_2d(photograph, (24, 24), max_patches=3000, random_state=0)
shuffled = np.random.default_rng(0).permutation(1728)
X = pieces.reshape(3000, 1728)[:, shuffled]

# %%
# `ColumnLayout` learns a pixel and a channel for every column. Its `layout_` says what was found.
# This does not always succeed: small pieces of scikit-learn's other photograph, at a quarter of its
# size, are taken for a line.

columns = wc.ColumnLayout().fit(X)
print(columns.layout_)
images = columns.transform(X)
print(images.shape)

# %%
# Nobody can know which side was up, and which colour is which. So for the eye we turn the pictures,
# and order the colours, as they agree best with the truth.


def turned(images, truth):
    """Return images turned or mirrored, with their channels in the order, that fits best."""
    ways = [
        (np.rot90(each, turns, axes=(1, 2))[..., order])
        for each in (images, images[:, ::-1])
        for turns in range(4)
        for order in ([0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0])
    ]
    ways = [way for way in ways if way.shape == truth.shape]
    return min(ways, key=lambda way: np.abs(way - truth).mean())


found = turned(images, pieces.astype(float))
print(f"values at their true place: {100 * np.mean(found == pieces):.1f} %")

# %%
shown = np.argsort(-pieces.std(axis=(1, 2, 3)))[::150][:5]  # some with much contrast
figure, axes = plt.subplots(3, 5, figsize=(9, 5.6), layout="constrained")
rows = {"as the table has it": X.reshape(pieces.shape), "as found": found, "the truth": pieces}
for row, (title, pictures) in zip(axes, rows.items(), strict=True):
    row[0].set_ylabel(title)
    for ax, picture in zip(row, pictures[shown].astype(np.uint8), strict=True):
        ax.imshow(picture)
        ax.set(xticks=[], yticks=[])
plt.show()
