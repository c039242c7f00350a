"""
Shuffled digits
===============

Handwritten digits whose pixels are in no order. The library finds the plane that the pixels came
from, and convolves in it like an image network.
"""

# %%
# The table has 64 columns. We shuffle them, so their order says nothing.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import walkconv as wc

X, y = load_digits(return_X_y=True)
shuffled = np.random.default_rng(0).permutation(64)
X = X[:, shuffled]
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)

# %%
# A convolution over the most correlated columns, beside the same network without neighbours.

scores = {}
for name, n_neighbors in (("with neighbours", 6), ("each column alone", 1)):
    model = wc.GraphCNNClassifier("C16-FC64", n_neighbors=n_neighbors, random_state=0)
    scores[name] = model.fit(X_train, y_train).score(X_test, y_test)
    print(f"{name:18} accuracy {scores[name]:.3f}")

# %%
# Where do the neighbours of a pixel lie? The network never saw the true positions.

model = wc.GraphCNNClassifier("C16-FC64", n_neighbors=6, random_state=0).fit(X_train, y_train)
figure, axes = plt.subplots(1, 3, figsize=(9, 3.2), layout="constrained")
for ax, pixel in zip(axes, (27, 36, 42), strict=True):
    column = int(np.flatnonzero(shuffled == pixel)[0])
    grid = np.zeros(64)
    grid[shuffled[model.neighbors_.index[column]]] = 0.5
    grid[pixel] = 1
    ax.imshow(grid.reshape(8, 8), cmap="BuGn", vmin=0, vmax=1)
    ax.set(xticks=[], yticks=[], title=f"neighbours of pixel {pixel}")
plt.show()
