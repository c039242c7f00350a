"""scikit-learn's own contract, on small fast networks."""

from inspect import signature

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from walkconv import GraphCNNClassifier, GraphCNNRegressor

pytestmark = pytest.mark.slow

SMALL = {
    "batch_size": 64,
    "learning_rate": 0.02,
    "dropout": 0.0,
    "n_members": 1,
    "random_state": 0,
}
BY_BATCHES = (
    "Rows are drawn in shuffled batches, and repeated rows fall into other batches than one row "
    "with the same weight; only a weight of 0 is exact, and tested on its own."
)
LAST_BIT = (
    "Networks compute in float32, where the place of a row in its batch may change the last bit; "
    "the check allows 1e-7. It fails by chance; the property is tested below with 1e-5, for rows "
    "in another order and for rows one by one."
)
# scikit-learn before 1.8 cannot be told, and takes pytest's setting, which is strict.
LENIENT = (
    {"xfail_strict": False}
    if "xfail_strict" in signature(parametrize_with_checks).parameters
    else {}
)
EXPECTED_FAILURES = {
    "check_methods_sample_order_invariance": LAST_BIT,
    "check_methods_subset_invariance": LAST_BIT,
    "check_sample_weight_equivalence_on_dense_data": BY_BATCHES,
    "check_sample_weight_equivalence_on_sparse_data": BY_BATCHES,
}


@parametrize_with_checks(
    [
        GraphCNNClassifier("C2-FC8", max_iter=10, **SMALL),
        GraphCNNRegressor("C2-FC8", max_iter=20, **SMALL),
    ],
    expected_failed_checks=lambda estimator: EXPECTED_FAILURES,
    **LENIENT,
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def test_the_order_of_rows_does_not_matter_to_float32_precision(classifier, table, classes, rng):
    model = classifier.fit(table, classes)
    order = rng.permutation(60)
    expected = model.predict_proba(table)[order]
    np.testing.assert_allclose(model.predict_proba(table[order]), expected, rtol=1e-5)
    one_by_one = np.concatenate([model.predict_proba(row[None]) for row in table[order]])
    np.testing.assert_allclose(one_by_one, expected, rtol=1e-5)
