"""
Molecules from SMILES
=====================

Each sample is a graph of its own: atoms and bonds. The network predicts a property of the whole
molecule.
"""

# %%
# Simple molecules, written as SMILES. The answer is computed by rdkit: the surface that is polar.

import matplotlib.pyplot as plt
import numpy as np
from rdkit import Chem
from rdkit.Chem import Descriptors

import walkconv as wc

rng = np.random.default_rng(0)
parts = ["C", "CC", "C(=O)", "O", "N", "C(C)", "c1ccc(cc1)", "C(O)", "S", "C(N)", "C(Cl)", "C(F)"]
smiles = sorted(
    {"C" + "".join(rng.choice(parts, size=rng.integers(2, 8))) + "C" for _ in range(500)}
)
smiles = [each for each in smiles if Chem.MolFromSmiles(each) is not None]
y = np.array([Descriptors.TPSA(Chem.MolFromSmiles(each)) for each in smiles])
molecules = wc.graphs_from_smiles(smiles)
print(f"{len(molecules)} molecules, for example {smiles[5]}: {molecules[5]}")

# %%
# `Gsum` adds over the atoms, since a larger molecule has a larger surface.

order = rng.permutation(len(molecules))
train, test = order[:-100], order[-100:]
model = wc.GraphCNNRegressor(
    "C16-C16-Gsum-FC32", n_neighbors=4, n_members=1, max_iter=30, learning_rate=0.01, random_state=0
)
model.fit([molecules[i] for i in train], y[train])
predicted = model.predict([molecules[i] for i in test])
print(f"R2 on new molecules: {model.score([molecules[i] for i in test], y[test]):.3f}")

# %%
figure, ax = plt.subplots(figsize=(4.2, 4), layout="constrained")
ax.scatter(y[test], predicted, s=12, color="#00798c")
ax.axline((0, 0), slope=1, color="#c9d1d9")
ax.set(xlabel="polar surface, computed", ylabel="predicted", aspect="equal")
plt.show()
