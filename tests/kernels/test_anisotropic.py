"""The anisotropic Wasserstein kernel: laws of kernels on histograms, directional values, and what is refused."""

import numpy as np
import pytest
import tests.kernels.test_laws as laws
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, WhiteKernel
from tests.cases import KernelCase

from kermes import Measures, divergences, ground, kernels, pairwise
from kermes.exceptions import InvalidParameterError, UnsuitableDataError
from kermes.papers.gpm import equivalence

RHO = np.array([0.3, 1.0, 0.7, 2.0])
SUPPORT = np.array([0.0, 1.0, 2.5, 3.0])
CASES = [
    KernelCase("binary", kernels.AnisotropicWasserstein(RHO), (1,)),
    KernelCase("uniform", kernels.AnisotropicWasserstein(RHO, ground.Binary.from_cost(4.0)), (1,)),
    KernelCase("matrix", kernels.AnisotropicWasserstein(RHO, ground.Matrix(1.5 * (1 - np.eye(4)))), (1,)),
    KernelCase("fixed", kernels.AnisotropicWasserstein(RHO, rho_bounds="fixed"), (1,)),
]
LAWS = [
    laws.test_auto_equals_cross_and_diag,
    laws.test_object_arrays_and_views_give_the_same,
    laws.test_gradient_matches_finite_differences,
    laws.test_positive_semidefinite_if_proved,
    laws.test_gram_matrices_are_fresh,
    laws.test_clone_equality_pickle_and_algebra,
]


def weights(n, m=4, seed=0):
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.ones(m), size=n) * (rng.random((n, m)) < 0.7) + 0.1 * np.eye(m)[np.arange(n) % m]


def histograms(n, dim=1, seed=0):
    return Measures.from_histograms(weights(n, seed=seed), SUPPORT)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__.removeprefix("test_"))
def test_laws_of_kernels(law, case):
    law(case, 1, histograms)


def costs(cost):
    values = cost.values if isinstance(cost, ground.Matrix) else cost(SUPPORT)
    return np.asarray(values) ** 2


LINE = ground.Matrix(np.abs(SUPPORT[:, None] - SUPPORT))


@pytest.mark.parametrize("cost", [ground.Binary(2.0), ground.Euclidean(), LINE])
def test_directional_is_equation_16(cost):
    X = histograms(6)
    A = weights(6) / weights(6).sum(axis=1, keepdims=True)
    values = kernels.AnisotropicWasserstein(RHO, cost).directional(X)
    for i, a in enumerate(A):
        for j, b in enumerate(A):
            S = equivalence.row_costs(costs(cost), equivalence.optimal_plan(a, b, costs(cost)))
            assert_allclose(values[i, j], equivalence.directional(S, 1 / RHO**2), atol=1e-12)
    assert np.abs(values - values.T).max() > 0.1


def test_symmetrised_is_the_geometric_mean_of_both_directions():
    X, Y = histograms(5), histograms(7, seed=1)
    k = kernels.AnisotropicWasserstein(RHO, ground.Binary(2.0))
    assert_allclose(k(X, Y), np.sqrt(k.directional(X, Y) * k.directional(Y, X).T), rtol=1e-12)
    # The directional matrix is G K G^-1, so its eigenvalues are those of the kernel.
    assert_allclose(np.sort(np.linalg.eigvals(k.directional(X)).real), np.linalg.eigvalsh(k(X)), rtol=1e-9)


def test_equal_length_scales_are_the_isotropic_kernel():
    X = histograms(6)
    W = divergences.Wasserstein(p=2, cost=ground.Binary(2.0))
    k = kernels.AnisotropicWasserstein(np.full(4, 0.8), ground.Binary(2.0))
    assert_allclose(k(X), kernels.Exponential(W, 0.8)(X), rtol=1e-12)
    assert_allclose(pairwise(X, divergence=W, squared=True), -2 * 0.64 * np.log(k(X)), atol=1e-12)


def test_a_mirrored_triangle_is_indefinite_where_the_kernel_is_not():
    """The example of the docstring, and that it depends on the order of the samples."""
    k = kernels.AnisotropicWasserstein([1.0, 0.1], ground.Binary.from_cost(4.0))
    a = np.array([0.5, 0.6, 0.4])
    X = Measures.from_histograms(np.column_stack([a, 1 - a]), [0.0, 1.0])

    def smallest(X):
        upper = np.triu(k.directional(X), 1)
        return np.linalg.eigvalsh(upper + upper.T + np.eye(3))[0]

    assert smallest(X) == pytest.approx(-0.058, abs=1e-3)
    assert smallest(X[[2, 0, 1]]) > 0
    assert np.linalg.eigvalsh(k(X))[0] > 0


def test_on_two_points_one_length_scale_says_as_much():
    a = np.linspace(0, 1, 7)
    X = Measures.from_histograms(np.column_stack([a, 1 - a]), [0.0, 1.0])
    both = kernels.AnisotropicWasserstein([0.5, 2.0])(X)
    single = np.sqrt(2 / (1 / 0.25 + 1 / 4.0))
    assert_allclose(both, kernels.AnisotropicWasserstein([single, single])(X), rtol=1e-12)


@pytest.mark.filterwarnings("ignore:The optimal value found")  # weights that do not matter have no scale
def test_gaussian_process_tunes_the_length_scales():
    X = histograms(30)
    A = weights(30) / weights(30).sum(axis=1, keepdims=True)
    y = np.sin(6 * A[:, 0])  # the other weights do not matter
    kernel = ConstantKernel() * kernels.AnisotropicWasserstein(np.ones(4), rho_bounds=(0.05, 50)) + WhiteKernel(1e-3)
    model = GaussianProcessRegressor(kernel, normalize_y=True).fit(X[:20], y[:20])
    rho = model.kernel_.k1.k2.rho
    assert rho[0] < rho[1:].min()
    assert model.score(X[20:], y[20:]) > 0.8


@pytest.mark.parametrize("cost", ["euclidean", ground.Torus(3.7), np.array(LINE.values)])
def test_other_costs_are_refused_with_the_reason(cost):
    k = kernels.AnisotropicWasserstein(RHO, cost)
    with pytest.raises(InvalidParameterError, match=r"must be uniform.*indefinite.*mirrored.*Use Exponential"):
        k(histograms(3))
    assert k.is_positive_definite(1) is None
    assert k.directional(histograms(3)).shape == (3, 3)


def test_tied_plans_are_refused():
    square = np.array([[0.0, 1, 1, 2], [1, 0, 2, 1], [1, 2, 0, 1], [2, 1, 1, 0]])
    X = Measures.from_histograms([[0.5, 0, 0, 0.5], [0, 0.5, 0.5, 0]], SUPPORT)
    k = kernels.AnisotropicWasserstein(RHO, square)
    assert_array_equal(k.directional(X) > 0, True)  # tied plans, but one value: every plan costs each row the same
    Y = Measures.from_histograms([[0.5, 0.5, 0, 0], [0, 0.5, 0, 0.5]], SUPPORT)
    with pytest.raises(UnsuitableDataError, match=r"no single value for `X\[0\]` and `Y\[1\]`: .* exponents from"):
        kernels.AnisotropicWasserstein(RHO, np.sqrt(np.abs(SUPPORT.round()[:, None] - SUPPORT.round()))).directional(Y)


@pytest.mark.parametrize(
    ("rho", "message"),
    [
        (1.0, "`rho` must be a vector.*For a single length scale use Exponential"),
        ([1.0, 0.0, 1.0, 1.0], "`rho` must be a vector of finite numbers greater than 0"),
        ([1.0, 1e-155, 1.0, 1.0], r"greater than 0 \(1e-150 to 1e150\)"),
        ([1.0, 1.0, 1.0], "`rho` has 3 entries, but the measures share a support of 4 points"),
    ],
)
def test_bad_length_scales(rho, message):
    with pytest.raises(ValueError, match=message):
        kernels.AnisotropicWasserstein(rho)(histograms(3))


def test_bad_measures(clouds):
    k = kernels.AnisotropicWasserstein(RHO)
    with pytest.raises(UnsuitableDataError, match="needs measures on one shared support"):
        k(clouds(3, 1))
    with pytest.raises(UnsuitableDataError, match="needs measures on one shared support"):
        k(histograms(3), Measures.from_histograms(np.ones((1, 4)), SUPPORT + 1))
    with pytest.raises(UnsuitableDataError, match="the cost matrix is 2 x 2, but the measures share a support of 4"):
        kernels.AnisotropicWasserstein(RHO, 1 - np.eye(2))(histograms(3))
    with pytest.raises(InvalidParameterError, match="must be a distance"):
        kernels.AnisotropicWasserstein(RHO, "sqeuclidean").directional(histograms(3))


def test_averaged_exponents_are_indefinite_on_the_line():
    """Why costs other than the uniform one are refused: a counterexample, found among a few draws."""
    rng = np.random.default_rng(0)
    X = Measures.from_histograms(rng.dirichlet(np.ones(5), size=30), np.linspace(0, 1, 5))
    least = []
    for _ in range(3):
        values = kernels.AnisotropicWasserstein(rng.uniform(0.1, 1.0, 5), "euclidean").directional(X)
        least.append(np.linalg.eigvalsh(np.sqrt(values * values.T))[0])
    assert min(least) < -0.02
