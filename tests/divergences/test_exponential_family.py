"""Gaussian and multinomial families: closed forms, exponents, claims, hostile measures."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import quad
from tests.oracles import exponential_families as oracle

from kermes import Engine, Measures, kernels, pairwise
from kermes.divergences import ExponentialFamily
from kermes.exceptions import InvalidParameterError, UnsuitableDataError

ENGINE = Engine("serial", memo=False)
GAUSSIANS = {"gaussian": oracle.gaussian, "gaussian-diagonal": oracle.diagonal_gaussian}
gaussians = pytest.mark.parametrize("family", GAUSSIANS)


def jensen(X, family, beta=1.0, Y=None, **options):
    return pairwise(X, Y, divergence=ExponentialFamily(family, beta, **options), engine=ENGINE, squared=True)


def spread(n, dim, seed=0):
    """Weighted ragged clouds that span their space, with repeated atoms."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(dim + 2, dim + 8, size=n)
    samples = [rng.normal(size=(size, dim)) * rng.uniform(0.5, 2.0, dim) + rng.normal(size=dim) for size in sizes]
    samples = [np.vstack([x, x[:1]]) for x in samples]
    return Measures.from_samples(samples, [rng.uniform(0.1, 2.0, size=size + 1) for size in sizes])


def positive(n, m, seed=0):
    return Measures.from_histograms(np.random.default_rng(seed).dirichlet(np.ones(m), n) + 0.02, np.arange(float(m)))


def sparse(n, m, seed=0):
    rng = np.random.default_rng(seed)
    H = rng.dirichlet(np.ones(m), n) * (rng.random((n, m)) < 0.6)
    return Measures.from_histograms(H + np.eye(m)[np.arange(n) % m], np.arange(float(m)))


# -- Gaussian ------------------------------------------------------------------------------------


@gaussians
@pytest.mark.parametrize("dim", [1, 2, 5])
def test_gaussians_agree_with_the_oracle(family, dim):
    X = spread(5, dim)
    expected = [[1.5 * oracle.jensen(mu, nu, GAUSSIANS[family]) for nu in X] for mu in X]
    assert_allclose(jensen(X, family, 1.5), expected, atol=1e-12)
    assert_allclose(jensen(X, family, 1.5, Y=spread(5, dim)[::2]), np.array(expected)[:, ::2], atol=1e-12)
    entropies = [3.0 * GAUSSIANS[family](mu.points, mu.weights) for mu in X]
    assert_allclose(ExponentialFamily(family, 1.5).concentration(X), entropies, rtol=1e-12)


@gaussians
def test_mean_values_are_those_of_the_pooled_atoms(family):
    X = spread(4, 2)
    pooled = np.empty((4, 4))
    for i, mu in enumerate(X):
        for j, nu in enumerate(X):
            weights = np.append(mu.weights / mu.mass, nu.weights / nu.mass)
            pooled[i, j] = GAUSSIANS[family](np.vstack([mu.points, nu.points]), weights)
    raw = kernels.Semigroup(ExponentialFamily(family, 0.5), normalized=False)
    assert_allclose(-np.log(raw(X)), pooled, rtol=1e-12)


@pytest.mark.parametrize("beta", [0.5, 1.0, 2.0])
def test_the_kernel_is_a_power_of_determinants(beta):
    """(sqrt(|S| |S'|) / |S''|)^beta, and not normalised (2 pi e)^(-d beta) |S''|^(-beta)."""
    X = spread(4, 3)
    S = np.empty((4, 4))
    for i, mu in enumerate(X):
        for j, nu in enumerate(X):
            weights = np.append(mu.weights / mu.mass, nu.weights / nu.mass)
            S[i, j] = np.linalg.det(np.cov(np.vstack([mu.points, nu.points]).T, aweights=weights, bias=True))
    own = np.sqrt(np.diagonal(S))
    divergence = ExponentialFamily("gaussian", beta)
    assert_allclose(kernels.Semigroup(divergence)(X), (np.outer(own, own) / S) ** beta, rtol=1e-10)
    raw = kernels.Semigroup(divergence, normalized=False)
    assert_allclose(raw(X), (2 * np.pi * np.e) ** (-3 * beta) * S**-beta, rtol=1e-10)
    assert_allclose(raw.diag(X), np.diagonal(raw(X)), rtol=1e-12)


def test_the_kernel_is_the_igv_without_regularisation():
    X = spread(5, 2)
    igv = kernels.IGV(eta=1e-7, power=0.5)(X)
    assert_allclose(kernels.Semigroup(ExponentialFamily("gaussian", beta=0.5))(X), igv, rtol=1e-5)


def test_worked_example_of_the_papers():
    """Two clouds with the printed variances; 0.382 is printed, from inputs with two to four digits."""

    def cross(variances, centre):
        arms = np.sqrt(2 * np.array(variances))
        return np.vstack([np.diag(arms), -np.diag(arms)]) + centre

    X = Measures.from_samples([cross((0.0552, 0.0013), (0, 0)), cross((0.0441, 0.0237), (0, math.sqrt(4 * 0.0014)))])
    assert_allclose(np.var(np.vstack([X[0].points, X[1].points]), axis=0), (0.0497, 0.0139), atol=6e-5)
    for family in GAUSSIANS:
        assert 0.38 < kernels.Semigroup(ExponentialFamily(family))(X)[0, 1] < 0.40


@gaussians
@pytest.mark.parametrize("scale", [1e-120, 1e-3, 1e120])
def test_units_do_not_matter(family, scale):
    X = spread(5, 2)
    scaled = Measures.from_samples([scale * m.points * [1.0, 7.0] for m in X], [m.weights for m in X])
    # Determinants of products of two variances leave the range of floats; their logarithms do not.
    assert_allclose(jensen(scaled, family), jensen(X, family), atol=1e-10)


def test_linear_maps_do_not_matter_with_full_covariances():
    X = spread(5, 3)
    M = np.array([[1.0, 2.0, 0.0], [0.0, 1.0, -3.0], [0.5, 0.0, 1.0]])
    mapped = Measures.from_samples([m.points @ M + 4.0 for m in X], [m.weights for m in X])
    assert_allclose(jensen(mapped, "gaussian"), jensen(X, "gaussian"), atol=1e-10)
    assert np.abs(jensen(mapped, "gaussian-diagonal") - jensen(X, "gaussian-diagonal")).max() > 0.1


@gaussians
def test_far_from_the_origin_and_far_apart(family):
    X = spread(5, 2)
    moved = Measures.from_samples([m.points + 1e7 for m in X], [m.weights for m in X])
    assert_allclose(jensen(moved, family), jensen(X, family), atol=1e-6)
    apart = Measures.from_samples([[[0, 0], [0, 1], [1, 0.0]], [[1e9, 0], [1e9, 1], [1e9 + 1, 0]]])
    # Along the axis that separates them, v'' = (1e9)^2 / 4 against v = 2 / 9.
    ratio = math.log(1 + 1e18 / 4 / (2 / 9))
    assert_allclose(jensen(apart, "gaussian-diagonal")[0, 1], ratio, rtol=1e-9)
    assert_allclose(jensen(apart, family)[0, 1], ratio, rtol=1e-2)


@gaussians
def test_close_measures(family):
    x = spread(1, 2)[0].points
    for gap in (1e-3, 1e-6, 0.0):
        near = jensen(Measures.from_samples([x, x + [gap, 0.0]]), family)[0, 1]
        variance = np.var(x[:, 0]) if family == "gaussian-diagonal" else 1 / np.linalg.inv(np.cov(x.T, bias=True))[0, 0]
        assert_allclose(near, math.log1p(gap**2 / 4 / variance), atol=1e-14, rtol=1e-6)


@gaussians
def test_order_splitting_mass_and_tiles_do_not_matter(family):
    X = spread(9, 2)
    points, weights = [m.points for m in X], [m.weights for m in X]
    flipped = Measures.from_samples([p[::-1] for p in points], [w[::-1] for w in weights])
    split = Measures.from_samples([np.repeat(p, 2, axis=0) for p in points], [5 * np.repeat(w, 2) for w in weights])
    expected = jensen(X, family)
    assert_array_equal(expected, expected.T)
    for other in (flipped, split):
        assert_allclose(jensen(other, family), expected, atol=1e-12)
        assert_allclose(np.diagonal(jensen(X, family, Y=other)), 0.0, atol=1e-12)
    for engine in (Engine("serial", tile=2, memo=False), Engine(workers=3, tile=4, memo=False)):
        tiled = pairwise(X, divergence=ExponentialFamily(family), engine=engine, squared=True)
        assert_array_equal(tiled, expected)


@pytest.mark.parametrize(
    ("samples", "reason"),
    [
        ([[[0.3, 0.1]]], "coordinate 0 does not vary"),
        ([[[0.1, 0.7]] * 3], "coordinate 0 does not vary"),
        ([[[0.0, 0.1], [1.0, 0.1], [2.0, 0.1]]], "coordinate 1 does not vary"),
        ([[[1e8, 0.0], [1e8, 1.0]]], "coordinate 0 does not vary"),
        ([[[0.7, 0.0], [0.7 + 1e-15, 1.0], [0.7 - 1e-15, 2.0]]], "coordinate 0 does not vary"),
        ([[[0.0, 1.0], [3.0, 7.0]]], "its 2 atoms span less than all 2 dimensions"),
        ([[[x, 0.1 * x + 1e6] for x in (0.1, 0.2, 0.7, 0.9)]], "its 4 atoms span less than all 2 dimensions"),
    ],
)
def test_singular_covariances_are_refused(samples, reason):
    good = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    X = Measures.from_samples([good, good + 1, *samples], [[1.0] * len(x) for x in (good, good, *samples)])
    families = list(GAUSSIANS) if "vary" in reason else ["gaussian"]
    for family in families:
        # The number is the row of the collection, also for a view.
        for view in (X, X[[2, 0]], X[1:]):
            with pytest.raises(UnsuitableDataError, match=f"measure 2 has a singular covariance .*{reason}.*General"):
                jensen(view, family)
        assert jensen(X[:2], family)[0, 1] > 0


def test_overflow_is_refused():
    X = Measures.from_samples([[0.0, 1e200], [0.0, 1.0]])
    with pytest.raises(UnsuitableDataError, match="second moments of the points overflow"):
        jensen(X, "gaussian")


@pytest.mark.parametrize(
    ("family", "beta", "t", "dim", "known"),
    [
        ("gaussian", 1.0, 1.0, 7, True),
        ("gaussian", 0.5, 1.0, 7, True),
        ("gaussian", 0.25, 2.0, 7, True),
        ("gaussian", 0.3, 1.0, 1, True),
        ("gaussian", 1.3, 1.0, 3, True),
        ("gaussian", 0.8, 1.0, 3, None),
        ("gaussian", 0.3, 1.0, 2, None),
        ("gaussian-diagonal", 0.3, 1.0, 7, True),
        ("multinomial", 0.3, 1.7, 7, True),
        ("multinomial-exact", 0.3, 1.7, 7, True),
    ],
)
def test_claims_of_positive_definiteness(family, beta, t, dim, known):
    kernel = kernels.Semigroup(ExponentialFamily(family, beta), t=t)
    assert kernel.is_positive_definite(dim) is known
    assert kernel.divergence.claims(dim).reason
    if known:
        X = sparse(30, 6) if family.startswith("multinomial") else spread(30, dim)
        assert np.linalg.eigvalsh(kernel(X)).min() > -1e-10


@pytest.mark.parametrize("family", ["gaussian-diagonal", "multinomial", "multinomial-exact"])
def test_negative_definite_if_claimed(family):
    X = sparse(20, 6) if family.startswith("multinomial") else spread(20, 3)
    assert ExponentialFamily(family).claims(3).negative_type == 2.0
    centre = np.eye(20) - 1 / 20
    assert np.linalg.eigvalsh(-centre @ jensen(X, family) @ centre).min() > -1e-10
    assert ExponentialFamily("gaussian").claims(1).negative_type == 2.0
    assert ExponentialFamily("gaussian").claims(2).negative_type is None


@pytest.mark.parametrize("family", ["gaussian", "gaussian-diagonal", "multinomial", "multinomial-exact"])
def test_triangle_inequality(family):
    d = np.sqrt(jensen(sparse(12, 5) if family.startswith("multinomial") else spread(12, 3), family))
    assert (d[:, None] <= d[:, :, None] + d[None] + 1e-9).all()


# -- multinomial ---------------------------------------------------------------------------------


def test_multinomial_is_the_jensen_shannon_divergence():
    X = sparse(6, 7)
    expected = [[2.5 * oracle.jensen(mu, nu, oracle.shannon) for nu in X] for mu in X]
    assert_allclose(jensen(X, "multinomial", 2.5), expected, atol=1e-14)
    assert_allclose(jensen(X, "multinomial", 2.5, Y=sparse(6, 7)[::2]), np.array(expected)[:, ::2], atol=1e-14)
    entropies = [5.0 * oracle.shannon(mu.points, mu.weights / mu.mass) for mu in X]
    assert_allclose(ExponentialFamily("multinomial", 2.5).concentration(X), entropies, rtol=1e-12)


def test_multinomial_on_disjoint_equal_and_nearly_equal_measures():
    X = Measures.from_samples([[0.0, 1.0, 1.0], [5.0, 6.0], [1.0, 0.0]], [[2, 1, 3], [1, 1], [4, 2]])
    assert_allclose(jensen(X, "multinomial", 3.0), 6 * math.log(2) * np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]]))
    assert jensen(X, "multinomial")[0, 2] == 0.0
    e = 1e-9  # J = e^2 / (p (1 - p)) / 4 to second order
    near = Measures.from_histograms([[0.5, 0.5], [0.5 + e, 0.5 - e]], [0.0, 1.0])
    assert_allclose(jensen(near, "multinomial"), [[0, e**2], [e**2, 0]], rtol=1e-6)
    tiny = Measures.from_histograms([[1.0, 1e-300], [1e-300, 1.0]], [0.0, 1.0])
    assert_allclose(jensen(tiny, "multinomial")[0, 1], 2 * math.log(2))


@pytest.mark.parametrize("prior", [None, 0.5, 2.0])
def test_exact_multinomial_agrees_with_the_oracle(prior):
    X, beta, alpha = sparse(6, 5), 3.0, prior or 0.5
    H = [[oracle.histogram(mu.points, mu.weights / mu.mass).get((float(z),), 0.0) for z in range(5)] for mu in X]
    phi = [[oracle.log_dirichlet(beta * (np.array(p) + q), alpha) for q in H] for p in H]
    own = np.diagonal(phi)
    divergence = ExponentialFamily("multinomial-exact", beta, prior)
    assert_allclose(jensen(X, "multinomial-exact", beta, prior=prior), (own[:, None] + own) / 2 - phi, atol=1e-13)
    assert_allclose(np.log(kernels.Semigroup(divergence, normalized=False)(X)), phi, rtol=1e-12)


def test_exact_multinomial_is_the_integral():
    """On two points by quadrature over the beta distribution, on three by drawing from the prior."""
    X = Measures.from_histograms([[1, 3], [5, 2], [0, 1]], [0.0, 1.0])
    masses = 2.0 * np.array([[1 / 4, 3 / 4], [5 / 7, 2 / 7], [0, 1]])
    K = kernels.Semigroup(ExponentialFamily("multinomial-exact", 2.0), normalized=False)(X)
    for i in range(3):
        for j in range(3):
            a, b = masses[i] + masses[j]
            # theta = sin^2 makes the density of Beta(1/2, 1/2) the constant 2 / pi.
            value, _ = quad(lambda s, a=a, b=b: math.sin(s) ** (2 * a) * math.cos(s) ** (2 * b), 0, math.pi / 2)
            assert_allclose(K[i, j], value * 2 / math.pi, rtol=1e-8)
    Y = Measures.from_histograms([[1, 3, 2], [5, 2, 0]], np.arange(3.0))
    theta = np.random.default_rng(0).dirichlet([0.5] * 3, 200_000)
    drawn = np.prod(theta ** (np.array([1, 3, 2]) / 6 + np.array([5, 2, 0]) / 7), axis=1).mean()
    assert_allclose(
        kernels.Semigroup(ExponentialFamily("multinomial-exact"), normalized=False)(Y)[0, 1], drawn, rtol=0.01
    )


def test_exact_multinomial_tends_to_laplaces_approximation():
    X = positive(5, 4)
    gaps = [np.abs(jensen(X, "multinomial-exact", b) - jensen(X, "multinomial", b)).max() for b in (10, 100, 1000)]
    assert gaps[0] > 5 * gaps[1] > 25 * gaps[2]
    assert gaps[2] < 0.02
    # Jeffreys' prior makes it so: the leading error of another one does not vanish.
    assert np.abs(jensen(X, "multinomial-exact", 1000.0, prior=2.0) - jensen(X, "multinomial", 1000.0)).max() > 0.1


def test_exact_multinomial_needs_one_support():
    with pytest.raises(UnsuitableDataError, match=r"needs measures on a shared finite support.*from_histograms"):
        jensen(Measures.from_samples([[0.0], [1.0]]), "multinomial-exact")
    with pytest.raises(UnsuitableDataError, match="`X` and `Y` must share one finite support"):
        jensen(positive(2, 3), "multinomial-exact", Y=positive(2, 4))


@pytest.mark.parametrize("family", ["multinomial", "multinomial-exact"])
def test_equal_histograms_are_at_distance_zero(family):
    X = sparse(30, 60)
    twin = Measures.from_histograms(np.vstack([dense(X), np.ones(60)]), np.arange(60.0))
    assert_array_equal(np.diagonal(jensen(X, family, Y=twin)), 0.0)


def dense(X):
    H = np.zeros((len(X), len(X.support.points)))
    for row, mu in zip(H, X, strict=True):
        row[mu.points[:, 0].astype(int)] = mu.weights
    return H


def test_multinomials_in_tiles():
    X = sparse(11, 8)
    for family in ("multinomial", "multinomial-exact"):
        tiled = pairwise(X, divergence=ExponentialFamily(family), engine=Engine(workers=2, tile=3, memo=False))
        assert_array_equal(tiled**2 > 0, jensen(X, family) > 0)
        assert_allclose(tiled**2, jensen(X, family), atol=1e-14)


# -- parameters ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"family": "gausian"}, "Did you mean 'gaussian'"),
        ({"family": 2}, "`family` must be a name such as 'gaussian' or a divergences.Family"),
        ({"beta": 0.0}, "`beta` must be a finite number greater than 0"),
        ({"family": "multinomial-exact", "prior": -1.0}, "`prior` must be a finite number greater than 0"),
        ({"family": "multinomial", "prior": 0.5}, "`prior` must be None unless family='multinomial-exact'"),
    ],
)
def test_parameters_are_checked(options, message):
    with pytest.raises(InvalidParameterError, match=message):
        ExponentialFamily(**options)
