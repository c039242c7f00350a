"""walkconv as a model of AutoGluon, for its predictor and for TabArena.

``TabularPredictor(...).fit(data, hyperparameters={WalkconvModel: {}})`` trains it beside the models
of AutoGluon, within their time limit. AutoGluon is not installed with walkconv.
"""

from typing import Any

from autogluon.core.models import AbstractModel

from walkconv import GraphCNNClassifier, GraphCNNRegressor

SHARE = 0.9
"""Share of the time limit for `fit`: AutoGluon counts reading and scoring as well."""


class WalkconvModel(AbstractModel):
    """A classifier or regressor with no settings but those given as hyperparameters."""

    ag_key = "WALKCONV"
    ag_name = "walkconv"
    seed_name = "random_state"

    def _fit(
        self,
        X: Any,
        y: Any,
        time_limit: float | None = None,
        sample_weight: Any = None,
        **_: Any,
    ) -> None:
        """Fit on a DataFrame; the other arguments of AutoGluon, such as X_val, are not used."""
        kind = GraphCNNRegressor if self.problem_type == "regression" else GraphCNNClassifier
        settings = {"random_state": 0, **self._get_model_params()}
        if time_limit is not None:
            settings["time_limit"] = SHARE * time_limit
        self.model = kind(**settings).fit(self.preprocess(X, is_train=True), y, sample_weight)

    @classmethod
    def supported_problem_types(cls) -> list[str]:
        """Return the names that AutoGluon gives to what this model predicts."""
        return ["binary", "multiclass", "regression"]

    def _more_tags(self) -> dict[str, Any]:
        return {"can_refit_full": True}
