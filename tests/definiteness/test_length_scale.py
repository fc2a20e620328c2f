"""psd_length_scale: closed forms, the limits of Proposition 2.4, and the curve."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from kermes import definiteness

CYCLE = np.array([[0, 1, 2, 1], [1, 0, 1, 2], [2, 1, 0, 1], [1, 2, 1, 0]], dtype=float)
#: 1 - 2 q + q^4 = 0 in (0, 1): the eigenvalue of (1, -1, 1, -1) with q = exp(-1 / (2 l^2)).
CYCLE_Q = next(r.real for r in np.roots([1, 0, 0, -2, 1]) if abs(r.imag) < 1e-12 and 0 < r.real < 0.99)
CYCLE_SCALE = np.sqrt(-0.5 / np.log(CYCLE_Q))


def random_metric(n=20, seed=0):
    """Return a graph metric on a random graph: far from Euclidean."""
    rng = np.random.default_rng(seed)
    D = rng.uniform(1.0, 1.9, (n, n))
    D = np.triu(D, 1)
    return D + D.T


def test_cycle_of_four_points_closed_form():
    assert definiteness.psd_length_scale(CYCLE, rtol=1e-8) == pytest.approx(CYCLE_SCALE, rel=1e-7)


@pytest.mark.parametrize("factor", [1e-3, 1e3])
def test_scales_with_the_distances(factor):
    assert definiteness.psd_length_scale(factor * CYCLE) == pytest.approx(factor * CYCLE_SCALE, rel=2e-4)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_semidefinite_below_and_indefinite_just_above(seed):
    D = random_metric(seed=seed)
    scale = definiteness.psd_length_scale(D)
    assert 0 < scale < np.inf
    for fraction in (0.01, 0.3, 0.9, 1.0):
        assert definiteness.spectrum(np.exp(-(D**2) / (2 * (fraction * scale) ** 2))).verdict != "indefinite"
    assert definiteness.spectrum(np.exp(-(D**2) / (2 * (1.001 * scale) ** 2))).verdict == "indefinite"


def test_limits_of_the_least_eigenvalue():
    """Lemmas 2.2 and 2.3 of `wek`: 1 as the length scale tends to 0, if distances are positive, 0 at infinity."""
    D = random_metric()
    near, far = (definiteness.spectrum(np.exp(-(D**2) / (2 * scale**2))).min for scale in (0.05, 1e4))
    assert near == pytest.approx(1.0, abs=1e-12)
    assert abs(far) < 1e-6


def test_euclidean_distances_allow_every_length_scale():
    points = np.random.default_rng(0).normal(size=(30, 3))
    assert definiteness.psd_length_scale(cdist(points, points)) == np.inf


def test_copies_do_not_change_the_answer():
    rows = np.array([0, 1, 1, 2, 3, 0])
    assert definiteness.psd_length_scale(CYCLE[np.ix_(rows, rows)]) == pytest.approx(CYCLE_SCALE, rel=2e-4)


def test_contradictory_copies_allow_none():
    D = np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 2.0], [1.0, 2.0, 0.0]])
    assert definiteness.psd_length_scale(D) == 0.0


@pytest.mark.parametrize("n", [1, 3])
def test_equal_samples_allow_every_length_scale(n):
    assert definiteness.psd_length_scale(np.zeros((n, n))) == np.inf


def test_curve_against_a_loop():
    D, scales = random_metric(), np.geomspace(0.1, 10.0, 7)
    curve = definiteness.psd_curve(D, scales)
    for i, scale in enumerate(scales):
        values = np.linalg.eigvalsh(np.exp(-(D**2) / (2 * scale**2)))
        assert curve.smallest[i] == pytest.approx(values[0], abs=1e-12)
        assert curve.largest[i] == pytest.approx(values[-1])
        assert curve.semidefinite[i] == (values[0] >= -curve.tolerance[i])


def test_returned_curve_starts_semidefinite_and_brackets_the_answer():
    scale, curve = definiteness.psd_length_scale(CYCLE, return_curve=True)
    assert curve.semidefinite[0]
    first = np.flatnonzero(~curve.semidefinite)[0]
    assert curve.length_scales[first - 1] <= scale < curve.length_scales[first]


@pytest.mark.parametrize(
    ("D", "kwargs", "message"),
    [
        (np.ones((2, 3)), {}, "`D` must be a square array"),
        (np.ones((2, 2)), {}, "`D` must be zero on the diagonal"),
        (CYCLE, {"n_grid": 1}, "`n_grid` must be an integer of at least 2"),
        (CYCLE, {"rtol": 0.0}, "`rtol` must be a finite number greater than 0"),
    ],
)
def test_bad_input(D, kwargs, message):
    with pytest.raises(ValueError, match=message):
        definiteness.psd_length_scale(D, **kwargs)


@pytest.mark.parametrize("scales", [[], [0.0], [np.nan], [[1.0]]])
def test_bad_length_scales(scales):
    with pytest.raises(ValueError, match="`length_scales` must be a 1-D array"):
        definiteness.psd_curve(CYCLE, scales)


def test_a_length_scale_is_found_unless_the_squares_are_of_negative_type():
    """Random tables: infinite if and only if the centred squares say so, however far the sign change is."""
    rng = np.random.default_rng(0)
    for n in rng.integers(3, 6, 150):
        D = np.triu(rng.random((n, n)), 1)
        D += D.T
        J = np.eye(n) - 1.0 / n
        smallest = np.linalg.eigvalsh(-J @ D**2 @ J)[0]
        found = definiteness.psd_length_scale(D)
        assert np.isinf(found) == (smallest > -1e-12)
        if np.isfinite(found) and found < 3.0:
            below, above = (np.linalg.eigvalsh(np.exp(-0.5 * (D / (f * found)) ** 2))[0] for f in (0.999, 1.001))
            assert above < 0 <= below


def test_a_tolerance_below_rounding_ends():
    assert definiteness.psd_length_scale(CYCLE, rtol=1e-16) == pytest.approx(CYCLE_SCALE, rel=1e-12)
