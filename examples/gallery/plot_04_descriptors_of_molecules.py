"""
Descriptors of molecules
========================

Chemists describe a molecule by hundreds of numbers, many of which say nearly the same. Does it help
to convolve over correlated descriptors?
"""

# %%
# Random molecules, their descriptors from rdkit, and a property that is computed from the molecule:
# its refractivity. The descriptors that contain the answer are removed.

import matplotlib.pyplot as plt
import numpy as np
from rdkit import Chem, RDLogger
from rdkit.Chem import Descriptors
from sklearn.ensemble import RandomForestRegressor
from sklearn.model_selection import train_test_split

import walkconv as wc

RDLogger.DisableLog("rdApp.*")
rng = np.random.default_rng(0)
parts = ["C", "CC", "C(=O)", "O", "N", "C(C)", "c1ccc(cc1)", "C(O)", "S", "C(N)", "C(Cl)", "C(F)"]
smiles = sorted({"C" + "".join(rng.choice(parts, rng.integers(2, 9))) + "C" for _ in range(500)})
molecules = [molecule for each in smiles if (molecule := Chem.MolFromSmiles(each)) is not None]
tables = [Descriptors.CalcMolDescriptors(molecule) for molecule in molecules]
names = [name for name in tables[0] if "MR" not in name]
X = np.array([[table[name] for name in names] for table in tables], dtype=np.float32)
y = np.array([table["MolMR"] for table in tables])
X = X[:, np.isfinite(X).all(axis=0) & (X.std(axis=0) > 0)]
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
print(f"{len(X)} molecules, {X.shape[1]} descriptors")

# %%
# Narrow and wide filters, no neighbours, and a random forest.

models = {"random forest": RandomForestRegressor(random_state=0)}
for p in (1, 9, 60):
    models[f"C8-FC64, p = {p}"] = wc.GraphCNNRegressor(
        "C8-FC64", n_neighbors=p, n_members=1, dropout=0.1, learning_rate=3e-3, random_state=0
    )
scores = {name: m.fit(X_train, y_train).score(X_test, y_test) for name, m in models.items()}
for name, score in scores.items():
    print(f"{name:18} R2 {score:.3f}")

# %%
# For this easy property all are level, so the simplest model will do. On the harder activities of
# METAB wide filters are better than narrow ones: see the page of results.

figure, ax = plt.subplots(figsize=(6, 2.4), layout="constrained")
ax.barh(list(scores), [1 - score for score in scores.values()], color="#00798c")
ax.set(xlabel="unexplained share of the variance, 1 - R2 (lower is better)")
plt.show()
