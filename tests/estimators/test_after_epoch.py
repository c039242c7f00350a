"""What a caller may do after every epoch."""

import numpy as np
import pytest
import torch
from sklearn.base import clone

from walkconv import load


def weights(model):
    tensors = [t for module in model.modules_ for t in module.state_dict().values()]
    return torch.cat([tensor.flatten() for tensor in tensors]).numpy()


def test_after_epoch_sees_the_weights_of_that_epoch(regressor, table, values):
    model = regressor.set_params(max_iter=4, schedule="constant", n_members=2)
    seen = []
    model.fit(table, values, after_epoch=lambda fitted: seen.append(fitted.predict(table)))
    assert len(seen) == 8
    np.testing.assert_array_equal(seen[-1], model.predict(table))
    short = clone(model).set_params(max_iter=3, n_members=1).fit(table, values)
    np.testing.assert_array_equal(seen[2], short.predict(table))


def test_what_after_epoch_returns_joins_the_history(classifier, table, classes, tmp_path):
    def score(model):
        return {"own_score": model.score(table, classes), "so_far": len(model.history_)}

    model = classifier.fit(table, classes, after_epoch=score)
    assert [record["so_far"] for record in model.history_] == list(range(1, 13))
    assert model.history_[-1]["own_score"] == model.score(table, classes)
    model.save(tmp_path / "m.safetensors")
    kept = [{k: v for k, v in record.items() if k != "seconds"} for record in model.history_]
    assert load(tmp_path / "m.safetensors").history_ == kept


def test_numbers_of_numpy_and_torch_become_plain_ones(regressor, table, values, tmp_path):
    noted = {"hits": np.int64(3), "rate": torch.tensor(0.25), "of_classes": [0.5, 0.6]}
    model = regressor.fit(table, values, after_epoch=lambda _: noted)
    model.save(tmp_path / "m.safetensors")
    last = load(tmp_path / "m.safetensors").history_[-1]
    assert [last[name] for name in noted] == [3, 0.25, [0.5, 0.6]]


@pytest.mark.parametrize("noted", [3, {"scores": {0.5, 0.6}}, {1: 0.5}, {"loss": 0.5}])
def test_what_after_epoch_returns_is_looked_at_after_the_first(regressor, table, values, noted):
    calls = []
    with pytest.raises(TypeError, match=r"after_epoch must return .*; got "):
        regressor.fit(table, values, after_epoch=lambda _: calls.append(None) or noted)
    assert len(calls) == 1


def test_after_epoch_does_not_change_what_is_learned(classifier, table, classes):
    plain = clone(classifier).fit(table, classes)
    watched = clone(classifier).fit(
        table, classes, after_epoch=lambda model: {"score": model.score(table, classes)}
    )
    np.testing.assert_array_equal(weights(plain), weights(watched))


def test_a_continued_fit_keeps_what_after_epoch_returned(classifier, table, classes, tmp_path):
    calls = []

    def count(_):
        calls.append(None)
        return {"call": len(calls)}

    def stop(_):
        if len(calls) == 5:
            raise RuntimeError
        return count(_)

    path = tmp_path / "c.safetensors"
    with pytest.raises(RuntimeError):
        clone(classifier).fit(table, classes, checkpoint=path, after_epoch=stop)
    model = classifier.fit(table, classes, checkpoint=path, after_epoch=count)
    assert [record["call"] for record in model.history_] == list(range(1, 13))
