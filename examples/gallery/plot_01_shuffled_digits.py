"""
Shuffled digits
===============

Handwritten digits whose pixels are in no order. The default fit compares networks with and without
a graph, and says what it chose.
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
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)

# %%
# No settings: `fit` compares networks on held-back training rows, and fits the chosen one on all.

model = wc.GraphCNNClassifier(random_state=0).fit(X_train, y_train)
print(f"{model.architecture_}, accuracy on the test rows {model.score(X_test, y_test):.3f}")

# %%
# What was compared. The same network with random neighbours, and without neighbours, shows what the
# graph is worth.

figure, ax = plt.subplots(figsize=(7, 2.6), layout="constrained")
choices = model.choices_[::-1]
ax.barh(
    [choice["candidate"] for choice in choices],
    [100 * (1 - choice["score"]) for choice in choices],
    color=["#00798c" if choice["chosen"] else "#c9d1d9" for choice in choices],
)
ax.set(xlabel="error on held-back training rows, % (lower is better)")
plt.show()

# %%
# Where do the neighbours of a pixel lie? The network never saw the true positions.

varying = np.flatnonzero(X_train.std(axis=0))
place = shuffled[varying]
neighbors = wc.select_neighbors(wc.correlation_graph(X_train[:, varying]), n_neighbors=6)
figure, axes = plt.subplots(1, 3, figsize=(9, 3.2), layout="constrained")
for ax, pixel in zip(axes, (27, 36, 42), strict=True):
    column = int(np.flatnonzero(place == pixel)[0])
    grid = np.zeros(64)
    grid[place[neighbors.index[column]]] = 0.5
    grid[pixel] = 1
    ax.imshow(grid.reshape(8, 8), cmap="BuGn", vmin=0, vmax=1)
    ax.set(xticks=[], yticks=[], title=f"neighbours of pixel {pixel}")
plt.show()
