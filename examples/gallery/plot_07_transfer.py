"""
Transfer filters to other columns
=================================

Filters belong to ranks, not to columns. So filters that were learned on one table serve another
table with other columns and few rows.
"""

# %%
# A source table of 60 columns and many rows, and a target table of 40 other columns with only 40
# rows. In both a row is a spectrum with one peak, and the answer is the width of the peak.

import matplotlib.pyplot as plt
import numpy as np

import walkconv as wc


def measure(n_rows, n_columns, seed):
    """Return spectra with columns in no order, and the width of the peak in each row."""
    rng = np.random.default_rng(seed)
    low, high = [4, 1, 0.5], [n_columns - 4, 4, 2]
    centre, width, height = rng.uniform(low, high, size=(n_rows, 3)).T[:, :, None]
    spectra = height * np.exp(-(((np.arange(n_columns) - centre) / width) ** 2))
    noisy = spectra + 0.02 * rng.normal(size=spectra.shape)
    return noisy[:, rng.permutation(n_columns)], width[:, 0]


X, y = measure(1500, 60, seed=0)
X_other, y_other = measure(1040, 40, seed=1)
X_few, y_few = X_other[:40], y_other[:40]
X_test, y_test = X_other[40:], y_other[40:]

# %%
# `transfer` keeps the filters, and learns the graph and the other layers from the 40 rows.

settings = {"n_neighbors": 5, "n_members": 1, "random_state": 0, "learning_rate": 0.01}
settings |= {"soft_clip": None, "standardize": False, "dropout": 0.0}
source = wc.GraphCNNRegressor("C16-G", **settings).fit(X, y)
print(f"R2 of the source on its own rows: {source.score(X, y):.2f}")
small = source.transfer(X_few, y_few)
alone = wc.GraphCNNRegressor("C16-G", **settings).fit(X_few, y_few)
scores = {
    "filters transferred": small.score(X_test, y_test),
    "trained on 40 rows": alone.score(X_test, y_test),
}
print({name: round(score, 2) for name, score in scores.items()})

# %%
figure, ax = plt.subplots(figsize=(6, 2.2), layout="constrained")
ax.barh(list(scores), list(scores.values()), color=["#00798c", "#c9d1d9"])
ax.axvline(0, color="#22313f", linewidth=0.8)
ax.set(xlabel="R2 on new rows of the small table")
plt.show()
