"""Principal axes and covariance spectra: against explicit covariances, and their laws."""

import operator
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from tests.oracles import gaussians

from kermes import Measures, divergences, ground
from kermes.exceptions import InvalidParameterError, UnsuitableDataError
from kermes.inspection import covariance_spectrum, weighted_pca
from kermes.measures import mean_measure

GROUNDS = [ground.Linear(), ground.Gaussian(sigma=0.8), ground.Polynomial(2), ground.Laplacian(0.5)]
grounds = pytest.mark.parametrize("kernel", GROUNDS, ids=lambda kernel: type(kernel).__name__)


@pytest.fixture(scope="module")
def measure():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(12, 2)).round(1)
    points[3] = points[4]  # a repeated atom
    return Measures.from_samples([points], [rng.uniform(0.1, 3.0, 12)])[0]


@grounds
def test_eigenvalues_are_those_of_the_explicit_covariance(kernel, measure):
    (features,) = gaussians.features(lambda x, y: kernel([x], [y])[0, 0], measure.points)
    expected = np.linalg.eigvalsh(gaussians.moments(features, measure.weights)[1])[::-1]
    spectrum = covariance_spectrum(measure, kernel)
    assert_allclose(spectrum.eigenvalues, expected[: len(spectrum)], rtol=1e-9, atol=1e-13)
    assert_allclose(spectrum.total, expected.sum())
    assert expected[len(spectrum) :].max(initial=0.0) < 1e-12


@grounds
def test_concentration_is_a_sum_over_eigenvalues(kernel, measure):
    X = Measures.from_samples([measure.points], [measure.weights])
    h = divergences.GeneralizedVariance(0.05, kernel).concentration(X)
    assert_allclose(np.log1p(covariance_spectrum(measure, kernel).eigenvalues / 0.05).sum() / 2, h[0], rtol=1e-10)


@grounds
def test_eigenfunctions_are_orthonormal_and_uncorrelated(kernel, measure):
    spectrum = covariance_spectrum(measure, kernel, n_components=5)
    r = len(spectrum)
    assert_allclose(spectrum.alpha @ kernel(measure.points) @ spectrum.alpha.T, np.eye(r), atol=1e-7)
    values = spectrum.evaluate(measure.points)  # <v_j, phi(x_i)>
    assert values.shape == (r, 12)
    covariance = np.cov(values, aweights=measure.weights, ddof=0)
    assert_allclose(covariance, np.diag(spectrum.eigenvalues), atol=1e-9)


@pytest.mark.parametrize("sigma", [0.8, 3.0, 20.0])
def test_no_eigenvalue_is_rounding(sigma):
    """Four corners of a square and sigma = 20 have rank 3 but for 5e-55, of which rounding makes 3e-17."""
    rng, kernel = np.random.default_rng(0), ground.Gaussian(sigma=sigma)
    clouds = [rng.normal(size=(rng.integers(2, 7), rng.integers(1, 3))) for _ in range(200)]
    for points in [np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), *clouds]:
        measure = Measures.from_samples([points], [10.0 ** rng.uniform(-6, 0, len(points))])[0]
        spectrum = covariance_spectrum(measure, kernel)
        norms = spectrum.alpha @ kernel(measure.points) @ spectrum.alpha.T
        assert_allclose(norms, np.eye(len(spectrum)), atol=1e-3)
        with mpmath.workdps(50):
            a = mpmath.matrix((measure.weights / measure.mass).tolist())
            n = len(a)
            K = mpmath.matrix(n, n)
            for i, j in np.ndindex(n, n):
                square = sum((mpmath.mpf(x) - mpmath.mpf(y)) ** 2 for x, y in zip(*measure.points[[i, j]], strict=True))
                K[i, j] = mpmath.exp(-square / (2 * mpmath.mpf(sigma) ** 2))
            mean = K * a
            inner = (a.T * mean)[0]
            S = mpmath.matrix(n, n)
            for i, j in np.ndindex(n, n):
                S[i, j] = mpmath.sqrt(a[i] * a[j]) * (K[i, j] - mean[i] - mean[j] + inner)
            exact = np.array([float(value) for value in mpmath.eigsy(S, eigvals_only=True)])[::-1]
        assert_allclose(spectrum.eigenvalues, exact[: len(spectrum)], rtol=1e-3)
        assert exact[len(spectrum) :].max(initial=0.0) < 1.1e-12


def test_linear_spectrum_is_the_pca(measure):
    spectrum, pca = covariance_spectrum(measure, ground.Linear()), weighted_pca(measure)
    assert_allclose(spectrum.eigenvalues, pca.variances)
    directions = spectrum.evaluate(np.eye(2))
    assert_allclose(np.abs(directions @ pca.axes.T), np.eye(2), atol=1e-12)
    assert_allclose(pca.generalized_variance, np.linalg.det(np.cov(measure.points.T, aweights=measure.weights, ddof=0)))


def test_far_from_the_origin(measure):
    far = Measures.from_samples([measure.points + 1e7], [measure.weights])[0]
    assert_allclose(covariance_spectrum(far, ground.Linear()).eigenvalues, weighted_pca(measure).variances, rtol=1e-6)
    assert_allclose(weighted_pca(far).variances, weighted_pca(measure).variances, rtol=1e-6)


def test_masses_order_and_signs_do_not_matter(measure):
    order = np.random.default_rng(1).permutation(12)
    other = Measures.from_samples([measure.points[order]], [7.0 * measure.weights[order]])
    grid = np.random.default_rng(2).normal(size=(30, 2))
    mine, yours = (covariance_spectrum(m, ground.Gaussian(sigma=0.8), 4) for m in (measure, other))
    assert_allclose(mine.evaluate(grid), yours.evaluate(grid), atol=1e-9)


def test_one_atom_has_no_spread():
    dirac = Measures.from_samples([[[1.0, 2.0]]])[0]
    spectrum = covariance_spectrum(dirac, ground.Gaussian(sigma=1.0), 3)
    assert len(spectrum) == 0
    assert spectrum.evaluate(np.zeros((4, 2))).shape == (0, 4)
    assert "100.0% of the variance" in repr(spectrum)
    assert_array_equal(weighted_pca(dirac).variances, 0.0)


def test_figure_2_of_skm():
    """The linear IGV of two measures from their variances and those of the mean."""
    rng = np.random.default_rng(0)
    X = Measures.from_samples([rng.normal(size=(30, 2)) * [3, 0.5], rng.normal(size=(30, 2))])
    mean = weighted_pca(mean_measure(X[0], X[1])).generalized_variance
    own = [weighted_pca(m).generalized_variance for m in X]
    J = divergences.GeneralizedVariance(1e-9)
    h = J.concentration(Measures.from_samples([m.points for m in (X[0], X[1], mean_measure(X[0], X[1]))]))
    assert_allclose(np.sqrt(own[0] * own[1]) / mean, np.exp(h[0] + h[1] - 2 * h[2]), rtol=1e-6)


def test_what_is_refused():
    X = Measures.from_samples([[0.0], [1.0]])
    with pytest.raises(InvalidParameterError, match=r"one measure, such as X\[0\]"):
        weighted_pca(X)
    with pytest.raises(InvalidParameterError, match="`ground` must be a point kernel"):
        covariance_spectrum(X[0], "gaussian")
    with pytest.raises(InvalidParameterError, match="`n_components` must be"):
        covariance_spectrum(X[0], ground.Linear(), 0)


@pytest.mark.parametrize("offset", [1e5, 1e7, 1e8])
def test_polynomials_keep_their_variance_far_from_the_origin(offset):
    """In fractions; from kernel values it was 25 % off at 1e8."""
    points = [[Fraction(int(offset) + x) for x in row] for row in ([0, 0], [4, 0], [2, 1])]
    a = [Fraction(1, 4), Fraction(1, 4), Fraction(1, 2)]
    K = [[(sum(map(operator.mul, x, y)) + 1) ** 2 for y in points] for x in points]
    expected = sum(w * K[i][i] for i, w in enumerate(a))
    expected -= sum(a[i] * a[j] * K[i][j] for i in range(3) for j in range(3))
    X = Measures.from_samples([np.array(points, dtype=float)], [list(map(float, a))])
    assert covariance_spectrum(X[0], ground.Polynomial(2)).total == pytest.approx(float(expected), rel=1e-7)


def test_linear_eigenfunctions_far_from_the_origin():
    points = np.array([[0.0, 0.0], [4.0, 0.0], [2.0, 1.0]])
    far = points + 2.0**30
    spectrum = covariance_spectrum(Measures.from_samples([far], [[1, 1, 2]])[0], ground.Linear())
    near = covariance_spectrum(Measures.from_samples([points], [[1, 1, 2]])[0], ground.Linear()).evaluate(points)
    assert_allclose(np.diff(spectrum.evaluate(far)), np.diff(near), atol=1e-6)


@pytest.mark.parametrize("scale", [1e160, 1e-170])
def test_scales_whose_squares_are_no_numbers_are_refused(measure, scale):
    odd = Measures.from_samples([measure.points * scale], [measure.weights])[0]
    with pytest.raises(UnsuitableDataError, match="whose square is no normal number"):
        weighted_pca(odd)
    for kernel in (ground.Linear(), ground.Polynomial(2))[: 2 if scale > 1 else 1]:
        with pytest.raises(UnsuitableDataError, match="too large or too small for a number"):
            covariance_spectrum(odd, kernel)


@pytest.mark.parametrize("kernel", [ground.Linear(), ground.Polynomial(1, coef0=0.0), ground.Polynomial(2)], ids=repr)
@pytest.mark.parametrize("offset", [1e4, 1e7])
def test_eigenvalues_far_from_the_origin_are_kept(kernel, offset):
    """One axis: the eigenvalues are those of the covariance of x, and of (x, x^2), in fractions."""
    x = [Fraction(int(offset) + k) for k in (0, 1, 3, 4)]
    mean, square = sum(x) / 4, sum(t * t for t in x) / 4
    variances = [sum(t * t for t in x) / 4 - mean**2, sum(t**4 for t in x) / 4 - square**2]
    X = Measures.from_samples([[float(t) for t in x]])
    spectrum = covariance_spectrum(X[0], kernel)
    trace = 2 * variances[0] + variances[1] if getattr(kernel, "degree", 1) == 2 else variances[0]
    assert spectrum.eigenvalues[0] == pytest.approx(float(trace), rel=1e-6)
    assert spectrum.total == pytest.approx(float(trace), rel=1e-6)
