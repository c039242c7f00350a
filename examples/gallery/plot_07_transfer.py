"""
Transfer filters to other columns
=================================

Filters belong to ranks, not to columns. So filters that were learned on one table serve another
table with other columns and few rows.
"""

# %%
# A source table of 60 sensors along a line with many rows, and a target table of 25 other sensors
# with only 40 rows. In both the answer is the mean jump between two neighbours.

import matplotlib.pyplot as plt
import numpy as np

import walkconv as wc


def measure(n_rows, n_sensors, seed):
    """Return a table in no order, and the mean jump in each row."""
    rng = np.random.default_rng(seed)
    series = np.cumsum(rng.normal(size=(n_rows, n_sensors)), axis=1)
    jump = np.abs(np.diff(series, axis=1)).mean(axis=1)
    return series[:, rng.permutation(n_sensors)], jump


X, y = measure(1500, 60, seed=0)
X_other, y_other = measure(1040, 25, seed=1)
X_few, y_few = X_other[:40], y_other[:40]
X_test, y_test = X_other[40:], y_other[40:]

# %%
settings = {"n_neighbors": 5, "n_members": 1, "random_state": 0, "learning_rate": 0.01}
settings |= {"soft_clip": None, "standardize": False}
source = wc.GraphCNNRegressor("C8-G", **settings).fit(X, y)
print(f"R2 of the source on its own rows: {source.score(X, y):.2f}")
small = source.transfer(X_few, y_few)
alone = wc.GraphCNNRegressor("C8-G", **settings).fit(X_few, y_few)
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
