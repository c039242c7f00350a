"""
Traffic on known roads
======================

Sensors along roads measure speeds. The graph is known: which sensor follows which. The network
predicts the speed at every sensor, 15 minutes ahead.
"""

# %%
# A small simulated network: three roads of 20 sensors that meet in one junction. Jams appear at
# random and move backwards along the roads.

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np

import walkconv as wc

roads = nx.Graph()
for road in range(3):
    nx.add_path(roads, ["junction", *[f"{'ABC'[road]}{i}" for i in range(20)]])
sensors = list(roads)
graph = nx.to_scipy_sparse_array(roads, nodelist=sensors, format="csr", dtype=float)
step = graph.multiply(1 / graph.sum(axis=1)[:, None]).tocsr()

rng = np.random.default_rng(0)
jam = np.zeros((800, len(sensors)))
for t in range(1, len(jam)):
    fresh = (rng.random(len(sensors)) < 0.01) * rng.uniform(1, 3, len(sensors))
    jam[t] = 0.45 * jam[t - 1] + 0.5 * (step @ jam[t - 1]) + fresh
speed = 60 * np.exp(-jam) + rng.normal(scale=1.0, size=jam.shape)

# %%
# X holds the last four measurements of each sensor as channels; y the speed three steps later.

past, ahead = 4, 3
times = np.arange(past, len(speed) - ahead)
X = np.stack([speed[times - lag] for lag in range(past)], axis=2)  # (rows, sensors, channels)
y = speed[times + ahead]
train, test = slice(0, 600), slice(600, None)

# %%
# `N1` gives one value for every node.

errors = {"last value": np.abs(X[test][:, :, 0] - y[test]).mean()}
for name, n_neighbors in (("each sensor alone", 1), ("with its neighbours", 5)):
    model = wc.GraphCNNRegressor(
        "C16-C16-N1",
        graph=graph,
        n_neighbors=n_neighbors,
        n_steps=2,
        n_members=1,
        learning_rate=0.01,
        random_state=0,
    )
    errors[name] = np.abs(model.fit(X[train], y[train]).predict(X[test]) - y[test]).mean()
for name, error in errors.items():
    print(f"{name:20} mean absolute error {error:.2f}")

# %%
figure, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
drawn = nx.kamada_kawai_layout(roads)
last = dict(zip(sensors, speed[-1], strict=True))
nodes = nx.draw_networkx_nodes(
    roads, drawn, ax=ax, node_size=60, node_color=[last[s] for s in sensors], cmap="RdYlGn"
)
nx.draw_networkx_edges(roads, drawn, ax=ax, edge_color="#c9d1d9")
figure.colorbar(nodes, label="speed now")
ax.set_axis_off()
plt.show()
