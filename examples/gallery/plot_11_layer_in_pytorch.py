"""
A layer in your own PyTorch loop
================================

`GraphConv` and `GraphPool` are modules like any other. Here they stand in a plain training loop.
"""

# %%
import matplotlib.pyplot as plt
import torch
from sklearn.datasets import load_digits
from torch import nn

import walkconv as wc

X, y = load_digits(return_X_y=True)
x = torch.tensor(X / 16, dtype=torch.float32)[:, :, None]  # (rows, nodes, channels)
y = torch.tensor(y)
train, test = slice(0, 1400), slice(1400, None)

# %%
# The graph is the known grid of 8 x 8 pixels: a known graph needs no learning.

graph = wc.grid_graph((8, 8))
neighbors = wc.select_neighbors(graph, n_neighbors=9, n_steps=1)
torch.manual_seed(0)
net = nn.Sequential(
    wc.GraphConv(1, 16, neighbors),
    nn.ReLU(),
    wc.GraphPool(wc.coarsen(graph)),
    nn.Flatten(),
    nn.Linear(16 * 16, 10),
)

# %%
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-2)
losses = []
for _ in range(40):
    for rows in torch.randperm(1400).split(64):
        loss = nn.functional.cross_entropy(net(x[train][rows]), y[train][rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
with torch.no_grad():
    accuracy = (net(x[test]).argmax(dim=1) == y[test]).float().mean()
print(f"accuracy {accuracy:.3f}")

# %%
figure, ax = plt.subplots(figsize=(6, 2.6), layout="constrained")
ax.semilogy(losses, color="#00798c", linewidth=1)
ax.set(xlabel="step", ylabel="training loss")
plt.show()
