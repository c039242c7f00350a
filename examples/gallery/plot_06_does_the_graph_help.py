"""
Does my graph help?
===================

The same network, with its graph, without neighbours, and with random neighbours, on the same
splits. One sentence says whether the graph pays.
"""

# %%
# Noisy measurements at 30 places along a hidden line. The answer is the number of peaks that stand
# out, so the relations of the columns matter.

import matplotlib.pyplot as plt
import numpy as np

import walkconv as wc

rng = np.random.default_rng(0)
places = np.arange(30)
heights = rng.gamma(1.0, size=(400, 30)) * (rng.random((400, 30)) < 0.1)
spread = np.exp(-((places[:, None] - places) ** 2) / 2)
X = heights @ spread + 0.3 * rng.normal(size=(400, 30))
y = np.maximum(heights - 0.5, 0).sum(axis=1)
X = X[:, rng.permutation(30)]
model = wc.GraphCNNRegressor(
    "C8-G", n_neighbors=5, n_members=1, dropout=0.0, learning_rate=0.01, max_iter=15
)

# %%
found = wc.compare(model, X, y, n_splits=4, n_repeats=2)
print(found)

# %%
# The same question where the answer has nothing to do with the columns.

print(wc.compare(model, X, rng.permutation(y), n_splits=4, simple_models=False).verdict)

# %%
figure, ax = plt.subplots(figsize=(6, 2.6), layout="constrained")
table = found.table
ax.barh(table["contestant"].to_list()[::-1], table["error"].to_list()[::-1], color="#00798c")
ax.set(xlabel="variance that is not explained (%), mean over the splits")
plt.show()
