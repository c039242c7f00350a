"""
Does my graph help?
===================

The same network, with its graph, without neighbours, and with random neighbours, on the same
splits. One sentence says whether the graph pays.
"""

# %%
# Spectra at 40 wavelengths in no order, with one peak each, of random place and height. The answer
# is its width, so it matters which columns are neighbours.

import matplotlib.pyplot as plt
import numpy as np

import walkconv as wc

rng = np.random.default_rng(0)
centre, width, height = rng.uniform([5, 1, 0.5], [35, 4, 2], size=(400, 3)).T[:, :, None]
spectra = height * np.exp(-(((np.arange(40) - centre) / width) ** 2))
X = spectra[:, rng.permutation(40)] + 0.05 * rng.normal(size=(400, 40))
y = width[:, 0]
model = wc.GraphCNNRegressor(
    "C16-G-FC32", n_neighbors=7, n_members=1, dropout=0.0, learning_rate=0.01, max_iter=20
)

# %%
found = wc.compare(model, X, y, n_splits=4, n_repeats=2)
print(found)

# %%
# The same question where the answer has nothing to do with the columns.

shuffled = rng.permutation(y)
print(wc.compare(model, X, shuffled, n_splits=4, n_repeats=1, simple_models=False).verdict)

# %%
figure, ax = plt.subplots(figsize=(6, 2.6), layout="constrained")
table = found.table
ax.barh(table["contestant"].to_list()[::-1], table["error"].to_list()[::-1], color="#00798c")
ax.set(xlabel="variance that is not explained (%), mean over the splits")
plt.show()
