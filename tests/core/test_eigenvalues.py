"""Laws of eigenvalues: rounding, negative mass, repairs."""

import numpy as np
import pytest

from kermes.core import eigenvalues


def test_rounding_scales_with_size_and_order():
    eps = np.finfo(float).eps
    assert eigenvalues.rounding(np.array([-3.0, 2.0])) == pytest.approx(2 * eps * 3.0)
    assert eigenvalues.rounding(np.zeros(5)) == 0.0


def test_negative_mass():
    assert eigenvalues.negative_mass(np.array([-1.0, 0.0, 3.0])) == 0.25
    assert eigenvalues.negative_mass(1e-3 * np.array([-1.0, 0.0, 3.0])) == pytest.approx(0.25)  # of any scale
    assert eigenvalues.negative_mass(np.zeros(2)) == 0.0


def test_factors_leave_rounding_alone():
    values = np.array([-1.0, -1e-17, 0.0, 2.0])
    np.testing.assert_array_equal(eigenvalues.factors(values, "clip"), [0, 1, 1, 1])
    np.testing.assert_array_equal(eigenvalues.factors(values, "flip"), [-1, 1, 1, 1])
    assert eigenvalues.shift(values) == 1.0
    assert eigenvalues.shift(values[1:]) == 0.0
