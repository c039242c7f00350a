"""
The hidden axis of a spectrum
=============================

Spectra whose wavelengths were shuffled. The library finds their order again, from the values
alone.
"""

# %%
# 300 spectra: sums of a few broad peaks and some noise, at 120 wavelengths in no order.

import matplotlib.pyplot as plt
import numpy as np

import walkconv as wc

rng = np.random.default_rng(0)
wavelength = np.linspace(400, 700, 120)
centres = rng.uniform(400, 700, size=(300, 12, 1))
heights = rng.gamma(1.0, size=(300, 12, 1))
spectra = (heights * np.exp(-((wavelength - centres) ** 2) / 200)).sum(axis=1)
spectra += 0.01 * rng.normal(size=spectra.shape)
shuffled = rng.permutation(120)
X = spectra[:, shuffled]

# %%
# `layout_columns` gives every column a position, and says what it found.

layout = wc.layout_columns(X)
print(layout.kind)
print(layout.reason)

# %%
# Left: one spectrum as the table has it. Right: the positions found, beside the true wavelengths.

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
left.plot(X[0], color="#00798c", linewidth=1)
left.set(title="one row of the table", xlabel="column, in no order", ylabel="value")
found = layout.positions[layout.node, 0]
right.scatter(wavelength[shuffled], found, s=8, color="#d1495b")
right.set(title="the axis found", xlabel="true wavelength (nm)", ylabel="position found")
plt.show()

rank = np.abs(np.corrcoef(np.argsort(np.argsort(found)), np.argsort(np.argsort(shuffled)))[0, 1])
print(f"rank correlation with the true order: {rank:.3f}")
