"""
A report
========

One call writes one HTML page: how well the model predicts, the map of the columns, the filters, the
training curves, the errors. It needs no network, so it can be mailed.
"""

# %%
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

import walkconv as wc

data = load_breast_cancer()
X = pd.DataFrame(data.data, columns=data.feature_names)
y = data.target_names[data.target]
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)
model = wc.GraphCNNClassifier("C8-FC32", n_neighbors=5, random_state=0).fit(X_train, y_train)

# %%
path = Path(tempfile.mkdtemp()) / "report.html"
model.report(path, X_test, y_test)
print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")

# %%
# In a notebook a fitted model shows the map of its columns by itself:

model

# %%
# The same facts are there as tables, most important column first.

ranking = model.importance(X_test, y_test)
print(ranking.head())

# %%
figure, ax = plt.subplots(figsize=(6, 3.4), layout="constrained")
top = ranking.head(10)
ax.barh(top["column"].to_list()[::-1], top["importance"].to_list()[::-1], color="#00798c")
ax.set(xlabel="importance")
plt.show()
