"""The smallest cases of the wrong numbers that the truth tests have found."""

import warnings
from fractions import Fraction

import numpy as np
import pytest
from mpmath import mp, mpf
from numpy.testing import assert_allclose
from tests.truth.oracles import entropic, exact, feature_space, transport
from tests.truth.oracles.numbers import long

from kermes import Engine, Measures, divergences, ground, pairwise
from kermes.exceptions import ConvergenceWarning, NumericalError
from kermes.features import RandomFourierFeatures

ENGINE = Engine("serial", memo=False)
LINEAR = ground.Linear()


def distance(x, y, divergence, a=None, b=None, squared=False):
    x, y = np.array(x), np.array(y)
    X = Measures.from_samples([x], None if a is None else [a])
    Y = Measures.from_samples([y], None if b is None else [b])
    return pairwise(X, Y, divergence=divergence, engine=ENGINE, squared=squared)[0, 0]


def test_squares_of_subnormal_differences_are_refused():
    # W_1, by which underflow was told from equality, is half of the smallest number and rounds to 0.
    with pytest.raises(NumericalError):
        distance([1e-323, 1.5e-323], [5e-324, 1.5e-323], divergences.Wasserstein(2))


POINTS = np.array([[2.0, -6.0], [9.0, -1.0], [4.0, -2.0], [9.0, 0.0]])
LIGHT = [1e-100, 1e-97, 1e-100, 1.0], [1e-100, 1e-100, 1e-100, 1.0]


@pytest.mark.parametrize("p", [1, 2, 3])
def test_masses_that_the_heaviest_rounds_away_are_moved(p):
    value = distance(POINTS, POINTS, divergences.Wasserstein(p), *LIGHT)  # was 0
    assert_allclose(value**p, 9.99e-98, rtol=1e-12)


@pytest.mark.parametrize("p", [1, 2, 3])
def test_total_variation_of_masses_that_the_heaviest_rounds_away(p):
    value = distance(POINTS, POINTS, divergences.Wasserstein(p, ground.Binary(1.0)), *LIGHT)  # was half of it
    assert_allclose(value**p, 9.99e-98, rtol=1e-12)


FAR = [[-1.0, 0.0], [0.0, 1e7], [0.0, 0.0], [0.0, 0.0]]
HEAVY, LIGHTEST = 1.00000000000005, 1.00000000000005e-26


@pytest.mark.parametrize(
    ("points", "a", "b", "p", "expected", "rtol"),
    [
        # Beside the heaviest atom, 2.6e-34 at the far one became 1.8e-33.
        (FAR, [1.0, 1e-26, 1.0, 1.0], [1.0, 1.0000000785016967e-26, 1.0, 1.0], 3, 2.616723224e-13, 1e-8),
        # Rounding of flows left an arc that led the wrong way: the far atom was not served, 1.4904357e-08.
        (FAR, [HEAVY, LIGHTEST, HEAVY, HEAVY], [HEAVY, LIGHTEST, HEAVY, 1.0000001341392688], 3, 1.490450603e-08, 1e-8),
        # The same with ordinary weights: 0.
        ([[0.0, 0.0], [0.0, 0.25]], [3.0, 1e-4], [3.0000000000000018, 9.999999999998998e-05], 2, 2.101543643e-19, 1e-2),
    ],
)
def test_atoms_that_differ_by_less_than_the_rounding_of_the_heaviest(points, a, b, p, expected, rtol):
    value = distance(points, points, divergences.Wasserstein(p), a, b)  # expected: fractions
    assert_allclose(value**p, expected, rtol=rtol)


def test_covariance_term_of_small_gaussians():
    x, y = [[1.0, 88.0], [-93.0, 99.0]], [[1.0, 1.0], [-93.0, 99.0]]
    expected = distance(x, y, divergences.GaussianWasserstein())
    for scale in (1e-126, 1e-100, 1e130):  # squares of covariances underflowed: 131 % off
        value = distance(scale * np.array(x), scale * np.array(y), divergences.GaussianWasserstein())
        assert_allclose(value, scale * expected, rtol=1e-12)


@pytest.mark.parametrize(
    "divergence",
    [divergences.GaussianKL(LINEAR, 0.125), divergences.Bhattacharyya(LINEAR, 0.125),
     divergences.GeneralizedVariance(0.125, LINEAR)],
)  # fmt: skip
def test_equal_gaussians_of_full_rank_far_above_the_ridge(divergence):
    # Rounding of directions that span the space was taken for variance outside of it: 1.7e229.
    x = np.array([[-3.9e130, -9.3e125], [0.0, 0.0], [-9.3e125, 0.0]])
    assert distance(x, np.repeat(x, 2, axis=0), divergence, squared=True) < 1e-8


def test_polynomial_mean_embeddings_of_single_points_far_away():
    x, y = [[1e8 + 2.25, 1e8 - 0.75]], [[1e8 - 0.25, 1e8 - 0.25]]
    value = distance(x, y, divergences.MMD(ground.Polynomial(2, 0.5, 0.25)), squared=True)

    def kernel(p, q):
        inner = sum(Fraction(s) * Fraction(t) for s, t in zip(p[0], q[0], strict=True))
        return (inner / 4 + Fraction(1, 2)) ** 2

    assert_allclose(value, float(kernel(x, x) + kernel(y, y) - 2 * kernel(x, y)), rtol=1e-6)


def test_overflowing_covariances_are_refused_without_a_warning():
    x = [[-3.9e130, 0.0], [0.0, 1.0]]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(NumericalError):
            distance(x, [[0.0, 0.0]], divergences.GaussianWasserstein(ground.Polynomial(2)))


@pytest.mark.parametrize("family", ["gaussian", "gaussian-diagonal"])
def test_maximum_likelihood_on_the_line_far_from_the_origin(family):
    x, y, a = np.array([2.0, -8.0]), np.array([1.0, 0.5]), [0.01, 0.1]
    divergence = divergences.ExponentialFamily(family)
    near, far = (distance(at + x, at + y, divergence, a=a, squared=True) for at in (0.0, 1e8))
    assert_allclose(far, near, rtol=1e-12)


@pytest.mark.parametrize("divergence", [divergences.Wasserstein(2), divergences.Wasserstein(1, ground.Binary(1.0))])
def test_plans_move_masses_that_the_heaviest_rounds_away(divergence):
    X = Measures.from_samples([[0.0], [0.0, 1e6]], [[1.0], [1.0, 1e-20]])
    for mu, nu in ((X[0], X[1]), (X[1], X[0])):
        assert_allclose(divergence.plan(mu, nu).min(), 1e-20, rtol=1e-15)  # was 0
    assert_allclose(divergence.plan(X[1], X[1]), np.diag([1.0, 1e-20]))


def test_means_of_measures_whose_first_atom_is_light_and_far():
    # Differences to the first atom lost those to the heaviest one: 8.4e94 for 0, and 3.38e-54 for 3.56e-54.
    x, a = [[-7e91, -1e98], [-5e-35, -1e-67], [-2e-42, 3e47]], [1e-86, 1e-239, 1e-239]
    assert distance(x, x[::-1], divergences.GaussianWasserstein(), a, a[::-1], squared=True) <= 1e-13 * 1e-153 * 1e196
    x, y = [[-5e-27, -2.7e14], [5.6e-110, -6.9e-29]], [[1.3e-27, 1.3e-27]]
    value = distance(x, y, divergences.GaussianWasserstein(), [1e-113, 1.0], squared=True)
    expected = Fraction(1.3e-27) ** 2 + (Fraction(1.3e-27) + Fraction(6.9e-29)) ** 2
    assert_allclose(value, float(expected), rtol=1e-12)


def test_small_kernel_wasserstein_distances_keep_their_digits():
    # Rows were called orthogonal at a squared cosine of 1e-12, a quarter of which is missing from their norms.
    x = np.array([[1e12, -1.25], [2.0, 1e6], [1e12, 1e12]])
    value = distance(x, x + 1e-6, divergences.GaussianWasserstein(ground.Laplacian(0.75)), squared=True)
    assert abs(value - 1.5000028697701516e-6) <= 1e-14  # mpmath; was 1.25e-13


def test_atoms_that_were_split_far_above_the_ridge():
    """Axes of Gaussians are known to 1e-15: directions without variance get that of the largest one."""
    x = np.array([[1e12, -1e8], [1e12, -1e8], [0.25, 1e12]])
    for divergence in (divergences.GeneralizedVariance(0.125, LINEAR), divergences.Bhattacharyya(LINEAR, 0.125)):
        value = distance(x, np.repeat(x, 2, axis=0), divergence, squared=True)
        assert value <= (1e-15 * 1e12) ** 2 / 0.125


@pytest.mark.parametrize("shift", [1.0, 1e3, 1e6])
def test_gaussian_families_far_apart(shift):
    """Of translates, J = ln(1 + t' S^-1 t / 4): with t t' / 4 added to S it lost as many digits as t is long."""
    x = np.array([[1.0, -1.5], [2.25, 1.0], [-0.25, -0.75], [1.25, -1.75], [2.0, -2.0], [0.75, -1.0]])
    value = distance(x, x + shift, divergences.ExponentialFamily("gaussian"), squared=True)
    S = np.cov(x.T, bias=True)
    assert_allclose(value, np.log1p(0.25 * shift**2 * np.linalg.inv(S).sum()), rtol=1e-13)


FAR_AND_LIGHT = [
    # 0.947 for 2e-12, p = 2
    ([[9.7e17, -2.3e17], [-0.2615, -1.3107], [-0.2455, -0.1191]], [3e-40, 1.0, 2.0], [3e-40, 1.0, 2.0], 1e-6),
    # 6.83 for 1.71, p = 2
    (
        [[-1.5e18, 1e18], [0.25, 0.25], [0.5, 1.5], [-0.25, -2.0]],
        [2e-40, 1e-80, 1.0, 2.0],
        [4e-40, 1e-80, 1.0, 4.0],
        0.0,
    ),
]


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize(("points", "a", "b", "shift"), FAR_AND_LIGHT)
@pytest.mark.parametrize("cost", ["euclidean", lambda x, y: np.hypot(*(x[:, None] - y).transpose(2, 0, 1))])
def test_costs_of_more_digits_than_potentials_are_right_or_reported(points, a, b, shift, p, cost):
    x = np.array(points)
    y = x + shift * (np.arange(len(x)) > 0)[:, None]
    X, Y = Measures.from_samples([x], [a]), Measures.from_samples([y], [b])
    divergence = divergences.Wasserstein(p, cost)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        D, info = pairwise(X, Y, divergence=divergence, engine=ENGINE, return_info=True)
    if info.n_unconverged:
        with pytest.raises(NumericalError, match="proved optimal"):
            divergence.plan(X[0], Y[0])
    else:
        with mp.workdps(60):
            mu, nu = exact(x, np.array(a)), exact(y, np.array(b))
            true, spread = (long(f(mu, nu, transport.euclidean, p)) for f in (transport.program, transport.independent))
        assert abs(D[0, 0] ** p - true) <= 2e-14 * (true + spread)


LIGHT_AND_DEAR = [
    # a light atom costs 1e-12 of the value: it was left where it was
    ([[0.0, 0.0], [100.0, 100.0]], [[1.0, 1.0], [100.0, 100.0]], [1.0, 9e-17], [1.0, 9e-20], 2),
    ([[2e10, 2e10], [2e15, 2e15]], [[4e10, 4e10], [2e15, 2e15]], [1.0, 1e-22], [1.0, 1e-25], 2),
    (
        [[2e14, 0.0], [2e22, 0.0], [2e19, 0.0]],
        [[-2e14, 0.0], [4e22, 0.0], [2e19, 0.0]],
        [1.0, 1e-35, 1e-20],
        [1.0, 1e-32, 1e-22],
        1,
    ),
]


@pytest.mark.parametrize(("x", "y", "a", "b", "p"), LIGHT_AND_DEAR)
def test_light_atoms_whose_way_is_dear(x, y, a, b, p):
    X, Y = Measures.from_samples([np.array(x)], [a]), Measures.from_samples([np.array(y)], [b])
    D, info = pairwise(X, Y, divergence=divergences.Wasserstein(p), engine=ENGINE, return_info=True)
    assert info.n_unconverged == 0
    with mp.workdps(60):
        mu, nu = (exact(np.array(points), np.array(weights)) for points, weights in ((x, a), (y, b)))
        true = long(transport.program(mu, nu, transport.euclidean, p))
    assert_allclose(D[0, 0] ** p, float(true), rtol=2e-14 * p)


def test_spread_of_atoms_beside_a_light_one_far_away():
    x = np.array([[1e100, 0.0], [3e33, 0.0], [-1e33, 0.0]])
    X = Measures.from_samples([x], [[1e-200, 1.0, 1.0]])
    assert_allclose(RandomFourierFeatures().fit(X).ground_.sigma, 2e33, rtol=1e-12)  # was rounding of 1e100


AROUND = [[0.0, 0.0], [0.9, 0.0], [3.3, -0.3]]
LIGHT_ATOMS = [
    # the light atoms got nothing, which the marginal error did not show: 0.0026793, 0
    (
        ([[-1.33, 3.605], [0.0, 0.0]], [1e-7, 1.0]),
        ([[-0.1165, -0.1165], [-0.0366, -0.0366]], [1e-61, 1.0]),
        0.05,
        "sqeuclidean",
        1e-6,
    ),
    (([[-2.0, -2.0], [2.0, 2.0]], [1.0, 1e-10]), ([[-2.0, -2.0]], [1.0]), 0.05, "euclidean", 1e-6),
    # and at costs of 1e9 epsilon: 1e6 for 1014142
    (([[-1e6, -1e6]], [1.0]), ([[1e10, 1e10], [-1.5, -1e6]], [1e-7, 1.0]), 10.0, "euclidean", 1e-6),
    # groups that exchange less than the tolerance, just not next to nothing: 1.41124e-6 for 1.41192e-6
    (
        ([[99999999.000001] * 2, [99999998.375001] * 2], [3.0, 0.1]),
        ([[99999999.0] * 2, [99999998.375] * 2], [3.0, 0.1]),
        0.05,
        "euclidean",
        1e-6,
    ),
    # a light atom far away beside a group that exchanges little: 0.0885 for 0.0999
    (
        ([[100000000.25, 99999999.25], [99999998.0, 100010000.625]], [1.0, 1e-5]),
        ([[100000000.25, 99999999.25], [99999998.0, 100000000.0625]], [1.0, 1e-5]),
        0.5,
        "euclidean",
        1e-3,
    ),
    # nearly equal measures: 1.1e-9 for 0, of the pair and of the self terms
    ((AROUND[1:], [1.0, 1e-9]), (AROUND, [1e-201, 1.0, 1e-9]), 0.5, "sqeuclidean", 1e-9),
    ((AROUND[1:], [1.0, 1e-9]), (AROUND, [1e-30, 1.0, 1e-9]), 0.5, "euclidean", 1e-6),
]


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize(("mu", "nu", "epsilon", "cost", "tol"), LIGHT_ATOMS)
def test_debiased_values_of_light_atoms(mu, nu, epsilon, cost, tol, swapped):
    mu, nu = (nu, mu) if swapped else (mu, nu)
    squared, divergence = cost == "sqeuclidean", divergences.Sinkhorn(epsilon, cost, value="debiased", tol=tol)
    X, Y = (Measures.from_samples([np.array(points)], [weights]) for points, weights in (mu, nu))
    D, info = pairwise(X, Y, divergence=divergence, engine=ENGINE, squared=squared, return_info=True)
    both = (exact(np.array(points), np.array(weights)) for points, weights in (mu, nu))
    _, ends = entropic.values(*both, transport.squared if squared else transport.euclidean, epsilon)
    assert info.n_unconverged == 0
    assert_allclose(D[0, 0], float(ends["debiased"][0]), rtol=10 * tol, atol=1e-3 * tol * epsilon)


@pytest.mark.parametrize(
    ("divergence", "share"),
    [
        (divergences.GaussianKL(ground.Polynomial(3), 10.0), 20),
        (divergences.Bhattacharyya(ground.Polynomial(3), 10.0), 80),
    ],
)
def test_polynomial_ground_near_each_other_far_from_the_origin(divergence, share):
    """Differences of kernel values of 1e12: 0.5 and 1.4 % off."""
    X = Measures.from_samples([[[30.0, -110.0, 8.0]], [[30.00001, -110.0, 8.0]]])
    k = feature_space.polynomial(3, 1.0, 1.0)
    x, y = (exact(m.points, m.weights).points[0] for m in X)
    d2 = pairwise(X, divergence=divergence, engine=ENGINE, squared=True)[0, 1]
    with mp.workdps(40):
        gap = k(x, x) + k(y, y) - 2 * k(x, y)
    assert_allclose(d2, float(gap) / share, rtol=1e-9)


def test_polynomial_ground_of_few_atoms_beside_many():
    """Few atoms were compared by kernel values, which lose half the digits of near measures."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3, 4))
    near = x + 1e-9 * rng.normal(size=(3, 4))
    others = [rng.normal(size=(60, 4)) for _ in range(20)]
    mmd = divergences.MMD(ground.Polynomial(4))
    alone = pairwise(Measures.from_samples([x, near]), divergence=mmd, engine=Engine(memo=False))[0, 1]
    beside = pairwise(Measures.from_samples([x, near, *others]), divergence=mmd, engine=Engine(memo=False))[0, 1]
    with mp.workdps(40):
        sums = [
            sum((1 + mp.fdot(map(mpf, p), map(mpf, q))) ** 4 for p in a for q in b) / 9
            for a, b in ((x, x), (near, near), (x, near))
        ]
        expected = mp.sqrt(sums[0] + sums[1] - 2 * sums[2])
    assert alone == beside == pytest.approx(float(expected), rel=1e-5)
