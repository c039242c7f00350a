"""
Export to ONNX
==============

A fitted model becomes one ONNX file that runs without Python, walkconv or torch. Scaling, missing
values and the average of the ensemble members are inside.
"""

# %%
import tempfile
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import onnxruntime
from sklearn.datasets import load_digits

import walkconv as wc

X, y = load_digits(return_X_y=True)
model = wc.GraphCNNClassifier("C8-FC32", n_neighbors=6, max_iter=10, random_state=0)
model.fit(X[:1400], y[:1400])

# %%
# `to_onnx` checks the file: its answers must agree with `predict_proba`.

path = Path(tempfile.mkdtemp()) / "digits.onnx"
model.to_onnx(path)
print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")

# %%
session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
(entry,) = session.get_inputs()
outputs = [output.name for output in session.get_outputs()]
print("input", entry.name, entry.shape, "outputs", outputs)
answers = session.run(None, {entry.name: X[1400:].astype(np.float32)})
print("first labels:", answers[0][:8], "ours:", model.predict(X[1400:1408]))

# %%
# The time for one row, in this process.


def microseconds(call, n_times=300):
    """Return the median time of a call."""
    times = []
    for _ in range(n_times):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return 1e6 * float(np.median(times))


row = X[1400:1401].astype(np.float32)
seconds = {
    "predict": microseconds(lambda: model.predict(row)),
    "onnxruntime": microseconds(lambda: session.run(None, {entry.name: row})),
}
figure, ax = plt.subplots(figsize=(6, 1.8), layout="constrained")
ax.barh(list(seconds), list(seconds.values()), color=["#c9d1d9", "#00798c"])
ax.set(xlabel="microseconds for one row")
plt.show()
