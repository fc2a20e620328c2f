"""A pair depends on its two measures only, and regularisation survives covariances of any scale."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from tests.oracles import exact_gaussians as exact
from tests.routes import squares_along

from kermes import Engine, Measures, divergences, ground, pairwise
from kermes.divergences import _bhattacharyya, _gaussian_kl, _generalized_variance
from kermes.divergences._features import KernelSource, Monomials
from kermes.divergences._thin import STEEP
from kermes.exceptions import NumericalError

ENGINE = Engine("serial", memo=False)
LINEAR, CUBIC = ground.Linear(), ground.Polynomial(3)
REG = 0.125
REGULARISED = {
    "kl": (lambda kernel: divergences.GaussianKL(kernel, REG), exact.kl),
    "bhattacharyya": (lambda kernel: divergences.Bhattacharyya(kernel, REG), exact.bhattacharyya),
    "generalized variance": (lambda kernel: divergences.GeneralizedVariance(REG, kernel), exact.generalized_variance),
}
WITH_A_GROUND = {
    **{name: make for name, (make, _) in REGULARISED.items()},
    "wasserstein": divergences.GaussianWasserstein,
    "mmd": divergences.MMD,
}
families = pytest.mark.parametrize("family", WITH_A_GROUND.values(), ids=list(WITH_A_GROUND))
regularised = pytest.mark.parametrize(("family", "oracle"), REGULARISED.values(), ids=list(REGULARISED))


def squares(X, divergence, Y=None):
    return pairwise(X, Y, divergence=divergence, engine=ENGINE, squared=True)


def clouds(n, size=10, dim=2, scale=1.0, seed=0):
    points = np.random.default_rng(seed).normal(size=(n, size, dim))
    return list(scale * (points * 2**12).round() / 2**12)  # short fractions for the oracle


def product(x, y):
    return (x @ y.T + 1.0) ** 3


@families
@pytest.mark.parametrize("dim", [2, 70])
@pytest.mark.parametrize(
    "far", [[np.full((1, 1), 1e16)], [1e3 + cloud[:, :1] for cloud in clouds(20, seed=1)]], ids=["1e16", "1e3"]
)
def test_linear_ground_beside_far_measures(family, dim, far):
    near, far = clouds(2, 6, dim), [points * np.ones(dim) for points in far]
    alone = squares(Measures.from_samples(near), family(LINEAR))[0, 1]
    beside = squares(Measures.from_samples([*near, *far]), family(LINEAR))[0, 1]
    assert_allclose(beside, alone, rtol=1e-11)
    other = squares(Measures.from_samples(near[:1]), family(LINEAR), Measures.from_samples([near[1], *far]))[0, 0]
    assert_allclose(other, alone, rtol=1e-11)


@families
@pytest.mark.parametrize("kernel", [CUBIC, ground.KernelFunction(product)], ids=["compiled", "own"])
def test_polynomial_ground_beside_far_measures(family, kernel):
    near, far = clouds(2), [50 + cloud for cloud in clouds(20, seed=1)]
    alone = squares(Measures.from_samples(near), family(kernel))[0, 1]
    assert_allclose(squares(Measures.from_samples([*near, *far]), family(kernel))[0, 1], alone, rtol=1e-9)


def test_polynomial_histograms_on_a_support_that_reaches_far():
    support = np.concatenate([np.random.default_rng(0).normal(size=(6, 2)), [[1e4, 1e4]]])
    masses = [[1, 2, 3, 0, 0, 0, 0], [0, 0, 1, 2, 3, 1, 0]]
    short = [row[:-1] for row in masses]
    for kernel in (CUBIC, ground.KernelFunction(product)):
        alone = squares(Measures.from_histograms(short, support[:-1]), divergences.MMD(kernel))[0, 1]
        beside = squares(Measures.from_histograms(masses, support), divergences.MMD(kernel))[0, 1]
        assert_allclose(beside, alone, rtol=1e-9)


@pytest.mark.parametrize("n_slices", [10, 200])
@pytest.mark.parametrize("p", [1.0, 2.0])
def test_sliced_beside_far_measures(n_slices, p):
    near, far = clouds(2), [np.full((10, 2), 1e16)]
    divergence = divergences.SlicedWasserstein(p, n_slices)
    alone = squares(Measures.from_samples(near), divergence)[0, 1]
    assert_allclose(squares(Measures.from_samples([*near, *far]), divergence)[0, 1], alone, rtol=1e-12)


def test_euclidean_of_wide_histograms_beside_a_large_one():
    X = np.random.default_rng(0).random((3, 100))
    a = np.concatenate([X, [np.full(100, 1e16)]])
    from kermes.core import vectors

    rows = np.arange(4)
    values = vectors.squared_tile(a, rows, a, rows, False)
    assert_allclose(values[:3, :3], ((X[:, None] - X[None]) ** 2).sum(axis=2), rtol=1e-12)


@regularised
@pytest.mark.parametrize("scale", [1.0, 30.0, 1e3, 1e8, 1e10])
@pytest.mark.parametrize("shape", [(3, 5), (9, 3)], ids=["rank-deficient", "full rank"])
def test_the_ridge_survives_large_covariances(family, oracle, scale, shape):
    A, B = clouds(2, *shape, scale=scale)
    C = np.full((2, shape[1]), scale)  # of no spread in any direction
    C[1, 0] += 1.0
    X = Measures.from_samples([A, B + 1e6, C], [np.arange(1, len(A) + 1), np.ones(len(B)), np.ones(2)])
    expected = [oracle(X[i], X[j], exact.monomials(shape[1], 1, 0), REG) for i, j in ((0, 1), (0, 2), (1, 2))]
    values = squares(X, family(LINEAR))
    assert_allclose(values[[0, 0, 1], [1, 2, 2]], expected, rtol=1e-9)
    assert_allclose(squares(X, family(LINEAR), Measures.from_samples([A, C]))[1, 1], values[1, 2], rtol=1e-12)


@regularised
def test_more_dimensions_than_atoms(family, oracle):
    X = Measures.from_samples(clouds(2, 3, 18, scale=1e7))
    assert_allclose(squares(X, family(LINEAR))[0, 1], oracle(X[0], X[1], exact.monomials(18, 1, 0), REG), rtol=1e-9)


@regularised
def test_routes_agree_at_the_limit_between_them(family, oracle):
    size = math.sqrt(STEEP * REG)
    for scale in (0.1 * size, size, 3 * size):
        X = Measures.from_samples([scale * cloud for cloud in clouds(2, 4, 3)])
        assert_allclose(squares(X, family(LINEAR))[0, 1], oracle(X[0], X[1], exact.monomials(3, 1, 0), REG), rtol=1e-9)


@regularised
@pytest.mark.parametrize(("offset", "rtol"), [(0.0, 1e-12), (10.0, 1e-10), (100.0, 1e-8), (1e3, 1e-6)])
def test_polynomial_ground_far_from_the_origin(family, oracle, offset, rtol):
    if oracle is exact.generalized_variance and offset == 10.0:
        rtol = 1e-9  # traces below STEEP are left to Cholesky factors, and the processor decides on the last digits
    X = Measures.from_samples([offset + cloud for cloud in clouds(2)])
    assert_allclose(squares(X, family(CUBIC))[0, 1], oracle(X[0], X[1], exact.monomials(2, 3), REG), rtol=rtol)


@regularised
@pytest.mark.parametrize("offset", [1e5, 1e7, 1e120])
def test_what_rounding_decides_is_refused(family, oracle, offset):
    X = Measures.from_samples([*clouds(2), offset + clouds(1, seed=3)[0]])
    for kernel in (CUBIC, ground.Polynomial(8)):
        with pytest.raises(NumericalError, match="measures 0 and 2"):
            squares(X, family(kernel))
    assert squares(X[:2], family(CUBIC))[0, 1] > 0


@regularised
@pytest.mark.parametrize("offset", [1.0, 30.0, 1e3])
def test_routes_by_atoms_are_right_or_refuse(family, oracle, offset):
    X = Measures.from_samples([offset + cloud for cloud in clouds(2)])
    module = {exact.kl: _gaussian_kl, exact.bhattacharyya: _bhattacharyya}.get(oracle, _generalized_variance)
    route = module.AtomsRoute(KernelSource(CUBIC), REG)
    if offset < 100:
        assert_allclose(squares_along(route, X)[0, 1], oracle(X[0], X[1], exact.monomials(2, 3), REG), rtol=1e-5)
    else:
        with pytest.raises(NumericalError, match="measures 0 and 1"):
            squares_along(route, X)


def test_overflowing_features_are_refused():
    X = Measures.from_samples([1e120 * cloud for cloud in clouds(2)])
    for family in (divergences.GaussianWasserstein, divergences.GaussianKL):
        with pytest.raises(NumericalError, match="measures 0 and 1"):
            squares(X, family(CUBIC))


@pytest.mark.parametrize("kernel", [CUBIC, ground.Polynomial(2, 0.0, 3.0), ground.Polynomial(1, 0.5, 0.1)])
@pytest.mark.parametrize("dim", [1, 2, 4])
def test_monomials_are_features_of_the_polynomial_kernel(kernel, dim):
    points = np.random.default_rng(0).normal(size=(7, dim))
    features = Monomials.of(kernel, dim)(points)
    assert_allclose(features @ features.T, kernel(points), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("divergence", [divergences.GaussianWasserstein(), divergences.MMD(ground.Linear())], ids=repr)
def test_squares_that_vanish_are_refused(divergence):
    """Down to 1e-150 distances scale with the points; below, they were 0. Equal measures stay at 0."""
    rng = np.random.default_rng(0)
    points = [rng.normal(size=(6, 2)) for _ in range(3)]
    D = pairwise(Measures.from_samples(points), divergence=divergence)
    assert_allclose(pairwise(Measures.from_samples([1e-150 * x for x in points]), divergence=divergence), 1e-150 * D)
    for scale in (1e-170, 1e-300):
        X = Measures.from_samples([scale * x for x in points])
        with pytest.raises(NumericalError, match="measures 0 and 1"):
            pairwise(X, divergence=divergence)
        assert pairwise(X[:1], Measures.from_samples([scale * points[0][::-1]]), divergence=divergence)[0, 0] == 0.0
        cross = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
        turned = np.sqrt(0.5) * cross @ [[1.0, 1.0], [1.0, -1.0]]  # of the same mean and covariance
        twins = Measures.from_samples([scale * cross, scale * turned])
        assert pairwise(twins, divergence=divergence)[0, 1] == 0.0
    diracs = Measures.from_samples([[[0.0, 0.0]], [[0.0, 0.0]], [[1e-170, 0.0]]])
    assert pairwise(diracs[:2], divergence=divergence)[0, 1] == 0.0
    with pytest.raises(NumericalError, match="measures 0 and 2"):
        pairwise(diracs, divergence=divergence)
