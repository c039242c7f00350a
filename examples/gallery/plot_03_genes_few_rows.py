"""
Genes, with 70 rows
===================

Gene expression has thousands of columns and few rows. A network with a million parameters has
nothing to learn them from. This example compares networks of different sizes honestly.
"""

# %%
# 70 samples of 1,000 genes. Genes of one module rise and fall together; the class moves three of
# the 50 modules a little.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import walkconv as wc

rng = np.random.default_rng(0)
y = rng.integers(2, size=70)
modules = rng.normal(size=(70, 50))
modules[:, :3] += 1.2 * y[:, None]
X = np.repeat(modules, 20, axis=1) + 1.5 * rng.normal(size=(70, 1000))
X = X[:, rng.permutation(1000)]

# %%
# Filters over the 20 most correlated genes average the noise of a module away.

candidates = {
    "logistic regression": make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
    "C2, each gene alone": wc.GraphCNNClassifier("C2", n_neighbors=1, random_state=0),
    "C2, 20 neighbours": wc.GraphCNNClassifier("C2", n_neighbors=20, random_state=0),
}
folds = StratifiedKFold(n_splits=5, shuffle=True, random_state=0)
scores = {name: cross_val_score(model, X, y, cv=folds) for name, model in candidates.items()}
for name, each in scores.items():
    print(f"{name:20} accuracy {each.mean():.2f} +- {each.std() / np.sqrt(len(each)):.2f}")

# %%
figure, ax = plt.subplots(figsize=(7, 2.6), layout="constrained")
ax.boxplot(list(scores.values()), orientation="horizontal", tick_labels=list(scores))
ax.set(xlabel="accuracy of a fold", xlim=(0, 1.05))
plt.show()
