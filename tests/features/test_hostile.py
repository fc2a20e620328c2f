"""No map returns numbers that are none."""

import numpy as np
import pytest

from kermes import Measures, ground
from kermes.exceptions import NumericalError
from kermes.features import QuantileFeatures, RandomFourierFeatures, SlicedFeatures


@pytest.mark.parametrize(
    ("features", "size"),
    [
        (RandomFourierFeatures(ground.Gaussian(sigma=1e-3), 20, random_state=0), 1e308),
        (QuantileFeatures(5, dtype="float32"), 1e300),
        (SlicedFeatures(5, 5, dtype="float32"), 1e300),
    ],
)
def test_overflow_names_the_measure(features, size):
    X = Measures.from_samples([np.ones((2, 2)), np.ones((3, 2)), np.array([[size, size]])])
    features.fit(X)
    assert np.isfinite(features.transform(X[:2])).all()
    with pytest.raises(NumericalError, match="the features of measure 2 are not finite; its points are too large"):
        features.transform(X)


def test_an_atom_lighter_than_the_levels_are_told_apart():
    X = Measures.from_samples([[0.0, 1.0, 2.0], [3.0, 4.0]], [[1e-16, 1.0, 1.0], [1.0, 1.0]])
    F = QuantileFeatures(None).fit_transform(X)
    assert np.linalg.norm(F[0] - F[1]) == pytest.approx(2.0, rel=1e-12)
