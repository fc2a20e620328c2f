"""Targets whose squared deviations are no normal numbers: all models of them would be a mean that scores 1."""

import numpy as np
import pytest

from kermes import EquivalentWassersteinGP, LSSVMRegressor, MeasureGPRegressor, Measures, divergences, kernels
from kermes.estimators import ConformalRegressor, StreamingLSSVMRegressor
from kermes.exceptions import InvalidParameterError

X = Measures.from_samples([np.array([[0.0], [shift]]) for shift in range(1, 9)])
Y = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0])
KERNEL = kernels.Exponential(divergences.Wasserstein(p=2))
REGRESSORS = [
    LSSVMRegressor(KERNEL),
    StreamingLSSVMRegressor(),
    MeasureGPRegressor(KERNEL, optimizer=None),
    EquivalentWassersteinGP(n_restarts=0),
    ConformalRegressor(LSSVMRegressor(KERNEL)),
]


@pytest.mark.parametrize("model", REGRESSORS, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("scale", [1e200, 1e-200, 1e-310])
def test_targets_whose_squares_are_no_normal_numbers(model, scale):
    with pytest.raises(InvalidParameterError, match=r"the values of `y` reach .* Divide them by"):
        model.fit(X, Y * scale)


def test_scores_of_such_targets():
    with pytest.raises(InvalidParameterError, match="the values of `y` reach 8e-200 and differ by 7e-200"):
        LSSVMRegressor(KERNEL).fit(X, Y).score(X, Y * 1e-200)


@pytest.mark.parametrize("scale", [1e-149, 1e140])
def test_targets_at_the_edge_are_learned_alike(scale):
    expected = LSSVMRegressor(KERNEL).fit(X, Y).predict(X)
    np.testing.assert_allclose(LSSVMRegressor(KERNEL).fit(X, Y * scale).predict(X), expected * scale, rtol=1e-9)
