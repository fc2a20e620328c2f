"""Transport at the ends of the number range; on the line against rational arithmetic."""

from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from kermes import Engine, Measures, ground, pairwise
from kermes.divergences import SlicedWasserstein, Wasserstein
from kermes.exceptions import NumericalError


def distance(x, y, divergence, a=None, b=None):
    X = Measures.from_samples([x], None if a is None else [a])
    Y = Measures.from_samples([y], None if b is None else [b])
    return pairwise(X, Y, divergence=divergence, engine=Engine(memo=False))[0, 0]


def in_rationals(x, a, y, b, p):
    """Return W_p^p of the increasing plan."""
    left, right = ([[Fraction(z), Fraction(w)] for z, w in sorted(zip(*s, strict=True))] for s in ((x, a), (y, b)))
    for side in (left, right):
        mass = sum(w for _, w in side)
        for atom in side:
            atom[1] /= mass
    i = j = 0
    total = Fraction(0)
    while i < len(left) and j < len(right):
        moved = min(left[i][1], right[j][1])
        total += moved * abs(left[i][0] - right[j][0]) ** p
        left[i][1] -= moved
        right[j][1] -= moved
        i, j = i + (left[i][1] == 0), j + (right[j][1] == 0)
    return total


def test_rational_arithmetic():
    rng = np.random.default_rng(0)
    for _ in range(60):
        n, m = rng.integers(1, 9, 2)
        x, y = (rng.normal(size=k) * 10.0 ** rng.integers(-6, 7, k) for k in (n, m))
        a, b = 10.0 ** rng.uniform(-rng.choice([2, 20, 200]), 0, n), 10.0 ** rng.uniform(-rng.choice([2, 20]), 0, m)
        for p in (1, 2, 5):
            expected = float(in_rationals(x, a, y, b, p)) ** (1 / p)
            for divergence in (Wasserstein(p), SlicedWasserstein(p)):
                assert_allclose(distance(x, y, divergence, a, b), expected, rtol=1e-14)


@pytest.mark.parametrize("mass", [1e-14, 1e-17, 1e-200])
@pytest.mark.parametrize("side", [1.0, -1.0])
def test_a_small_mass_counts_at_both_ends(mass, side):
    assert_allclose(distance([0.0], [0.0, 1e6 * side], Wasserstein(1), b=[1.0, mass]), 1e6 * mass, rtol=1e-13)
    assert_allclose(distance([0.0], [0.0, 1e6 * side], Wasserstein(2), b=[1.0, mass]), 1e6 * mass**0.5, rtol=1e-13)


@pytest.mark.parametrize("p", [1, 2, 10])
def test_measures_equal_to_rounding_are_at_0(p):
    rng = np.random.default_rng(0)
    x, a = rng.normal(size=300), rng.random(300)
    order = rng.permutation(300)
    split = np.repeat(x[order], 2), np.repeat(0.37 * a[order] / 2, 2)
    for divergence in (Wasserstein(p), SlicedWasserstein(p)):
        assert distance(x, split[0], divergence, a, split[1]) == 0
        assert distance([0.0, 1.0, 2.0], [0.0, 1.0, 2.0], divergence, [1, 2, 3], [0.1, 0.2, 0.3]) == 0


@pytest.mark.parametrize("gap", [1e-170, 1e-4, 1e100])
@pytest.mark.parametrize("make", [Wasserstein, SlicedWasserstein])
def test_powers_neither_underflow_nor_overflow(gap, make):
    for p in (1, 1.5, 3, 100):
        assert_allclose(distance([0.0], [gap], make(p)), gap, rtol=1e-14)
        assert_allclose(distance([0.0, 0.0], [gap], make(p)), gap, rtol=1e-14)  # equally heavy, other sizes
        assert_allclose(distance([0.0, gap], [0.0], make(p), a=[3.0, 1.0]), gap * 0.25 ** (1 / p), rtol=1e-14)


@pytest.mark.parametrize("divergence", [Wasserstein(2), SlicedWasserstein(2), Wasserstein(2, ground.Binary(1e-170))])
def test_squares_that_underflow_are_an_error(divergence):
    for y, b in (([1e-170], None), ([0.0, 1e-170], [1.0, 2.0])):
        with pytest.raises(NumericalError, match=r"Wasserstein\(p=2.* found no finite value for measures 0 and 0"):
            distance([0.0], y, divergence, b=b)
    same = Measures.from_samples([[1e-170], [1e-170]])
    assert_array_equal(pairwise(same, divergence=divergence, engine=Engine(memo=False)), 0.0)


def test_a_price_whose_power_is_no_number():
    assert distance([0.0], [1.0], Wasserstein(3, ground.Binary(1e200))) == 1e200
    with pytest.raises(NumericalError, match="Binary"):
        distance([0.0], [1.0], Wasserstein(2, ground.Binary(1e200)))


@pytest.mark.parametrize("gap", [1e-170, 1e-4, 1e160])
@pytest.mark.parametrize("p", [1, 3, 100])
def test_powers_in_the_plane(gap, p):
    both = np.array([[0.0, 0.0], [gap, gap]])
    assert_allclose(distance(both[:1], both[1:], Wasserstein(p)), 2**0.5 * gap, rtol=1e-14)
    assert_allclose(distance(both[:1], both, Wasserstein(p)), 2**0.5 * gap * 0.5 ** (1 / p), rtol=1e-14)


def test_powers_in_the_plane_that_underflow_are_an_error():
    X = Measures.from_samples([[[0.0, 0.0]], [[1e-4, 0.0]], [[1e8, 0.0]]])
    with pytest.raises(NumericalError, match=r"Wasserstein\(p=100.* for measures 0 and 1"):
        pairwise(X, divergence=Wasserstein(100), engine=Engine(memo=False))
    with pytest.raises(NumericalError, match=r"Wasserstein\(p=2"):
        distance([[0.0, 0.0]], [[1e-170, 0.0]], Wasserstein(2))


@pytest.mark.parametrize("p", [1, 2, 10, 40])
def test_measures_equal_to_rounding_are_at_0_in_the_plane(p):
    rng = np.random.default_rng(0)
    x, a = rng.normal(size=(30, 2)), rng.random(30)
    split = np.repeat(x[::-1], 2, axis=0), np.repeat(0.37 * a[::-1] / 2, 2)
    assert distance(x, split[0], Wasserstein(p), a, split[1]) == 0


@pytest.mark.parametrize("cost", ["euclidean", "cityblock", lambda x, y: np.abs(x[:, None] - y).sum(axis=-1)])
def test_powers_in_the_plane_that_overflow_are_an_error(cost):
    X = Measures.from_samples(1e160 * np.random.default_rng(0).normal(size=(2, 4, 2)))
    W = Wasserstein(2, cost)
    with pytest.raises(NumericalError, match="no finite value for measures 0 and 1"):
        pairwise(X, divergence=W, engine=Engine(memo=False))  # was 0 for costs other than the Euclidean one
    with pytest.raises(NumericalError, match="overflow"):
        W.potentials(X[0], X[1])
    Y = Measures.from_samples([1e-160 * measure.points for measure in X])
    np.testing.assert_allclose(W.plan(X[0], X[1]), W.plan(Y[0], Y[1]), atol=1e-15)


def test_a_cost_of_ones_own_fills_every_pair():
    rng = np.random.default_rng(0)
    X, Y = (Measures.from_samples(rng.normal(size=(3, 4, 2))) for _ in range(2))
    own = Wasserstein(2, lambda x, y: np.abs(x[:, None] - y).sum(axis=-1))
    for left, right in ((X, Y), (X, X)):
        found, wanted = (
            pairwise(left, right, divergence=W, engine=Engine(memo=False)) for W in (own, Wasserstein(2, "cityblock"))
        )
        np.testing.assert_allclose(found, wanted, rtol=1e-12)


@pytest.mark.parametrize("cost", ["euclidean", "cityblock", ground.Torus(1.0)])
@pytest.mark.parametrize(("scale", "light"), [(1e-60, 1e-200), (1e-100, 1e-120), (1e-100, 1e-200)])
def test_light_masses_whose_cost_is_no_normal_number_are_an_error(scale, light, cost):
    points = np.array([[0.0, 0.0], [scale, 0.0]])
    X = Measures.from_samples([points[:1], points], [[1.0], [1.0, light]])
    with pytest.raises(NumericalError, match="found no finite value for measures 0 and 1"):
        pairwise(X, divergence=Wasserstein(2, cost))
    W1 = pairwise(X, divergence=Wasserstein(1, cost))
    assert_allclose(W1[0, 1], scale * light, rtol=1e-13)


def test_points_that_are_the_same_on_a_torus_are_at_0():
    X = Measures.from_samples([np.array([[0.0, 0.0]]), np.array([[0.0, 0.0], [1.0, 2.0]])], [[1.0], [1.0, 1e-30]])
    assert pairwise(X, divergence=Wasserstein(2, ground.Torus(1.0)))[0, 1] == 0.0
