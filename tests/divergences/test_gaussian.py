"""Gaussians in feature space: routes agree, closed forms hold, singular covariances are the normal case."""

import dataclasses
import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from tests.cases import POINT_KERNELS
from tests.routes import squares_along

from kermes import Engine, Measures, divergences, ground, pairwise
from kermes.core.lanes import LANES
from kermes.core.nuclear_norms import nuclear_norms
from kermes.divergences import _gaussian_kl, _gaussian_wasserstein
from kermes.divergences._features import KernelSource, explicit_features, feature_map
from kermes.exceptions import InvalidParameterError

ENGINE = Engine("serial", memo=False)
FAMILIES = [lambda kernel: divergences.GaussianWasserstein(kernel), lambda kernel: divergences.GaussianKL(kernel, 0.3)]
FEATURES = (_gaussian_kl.FeaturesRoute, _gaussian_wasserstein.FeaturesRoute)


def squares(X, divergence, Y=None):
    return pairwise(X, Y, divergence=divergence, engine=ENGINE, squared=True)


def samples(n=12, sizes=(2, 9), dim=1, seed=0):
    rng = np.random.default_rng(seed)
    points = [rng.random((rng.integers(*sizes), dim)) for _ in range(n)]
    return Measures.from_samples(points, [rng.uniform(0.1, 1.0, len(p)) for p in points])


def atoms_route(divergence):
    source = KernelSource(divergence.ground)
    if isinstance(divergence, divergences.GaussianKL):
        return _gaussian_kl.AtomsRoute(source, divergence.reg)
    return _gaussian_wasserstein.AtomsRoute(source)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(("name", "kernel", "k"), POINT_KERNELS, ids=[name for name, *_ in POINT_KERNELS])
def test_atoms_and_features_agree(family, name, kernel, k):
    X, D = samples(dim=2), family(kernel)
    assert isinstance(D.route(X, X), FEATURES) or name in ("laplacian", "gaussian")  # of high rank
    route = atoms_route(D)
    assert_allclose(squares_along(route, X), squares(X, D), atol=1e-8)
    Y = samples(5, (30, 40), dim=2, seed=1)  # more atoms than the first: the other side is rotated
    assert_allclose(squares_along(route, X, Y), squares_along(route, Y, X).T, atol=1e-9)


def test_jacobi_and_lapack_agree():
    X, kernel = samples(8, (2, 30), dim=3), ground.Gaussian(gamma=2.0)
    features = feature_map(kernel, X.points, 1e-13, len(X.points))
    for route in (
        _gaussian_wasserstein.FeaturesRoute(features),
        _gaussian_wasserstein.AtomsRoute(KernelSource(kernel)),
    ):
        lapack = dataclasses.replace(route, lapack_side=0)
        assert_allclose(squares_along(lapack, X), squares_along(route, X), atol=1e-12)


def test_commuting_covariances_have_a_closed_form():
    rng = np.random.default_rng(0)
    rotation = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    stds, centres = rng.uniform(0.0, 2.0, (6, 3)), rng.normal(size=(6, 3))
    stds[0], stds[1, 0] = 0.0, 0.0  # singular
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    X = Measures.from_samples([(corners * s) @ rotation.T + c for s, c in zip(stds, centres, strict=True)])
    gaps = ((centres[:, None] - centres[None]) ** 2).sum(axis=-1)
    expected = gaps + ((stds[:, None] - stds[None]) ** 2).sum(axis=-1)
    assert_allclose(squares(X, divergences.GaussianWasserstein()), expected, atol=1e-12)


def test_equal_covariances_leave_the_means():
    points = np.random.default_rng(0).normal(size=(9, 2))
    X = Measures.from_samples([points, points + [3.0, 4.0]])
    assert_allclose(squares(X, divergences.GaussianWasserstein())[0, 1], 25.0, rtol=1e-12)


def test_linear_kernel_written_as_a_polynomial_is_the_linear_ground(clouds):
    X = clouds(9, 3)
    for family in FAMILIES:
        assert_allclose(
            squares(X, family(ground.Polynomial(1, 0.0, 1.0))), squares(X, family(ground.Linear())), atol=1e-9
        )


def test_regularisation_only_shrinks_the_kl_divergence():
    X = samples(8, dim=2)
    for kernel in (ground.Linear(), ground.Gaussian(gamma=1.0)):
        values = [squares(X, divergences.GaussianKL(kernel, reg)) for reg in (1e-4, 1e-2, 1.0, 100.0)]
        assert all((a >= b).all() for a, b in itertools.pairwise(values))
        assert_allclose(values[-1], 0.0, atol=0.05)


def test_kl_of_nearly_equal_measures_does_not_cancel():
    points = np.random.default_rng(0).normal(size=(20, 2))
    for shift in (1e-4, 1e-6):
        X = Measures.from_samples([points, points + [shift, 0.0]])
        H = np.cov(points.T, bias=True) + 0.1 * np.eye(2)
        expected = shift**2 * np.linalg.inv(H)[0, 0] / 2
        assert_allclose(squares(X, divergences.GaussianKL(reg=0.1))[0, 1], expected, rtol=1e-6)


def test_high_rank_kernels_take_the_atoms():
    rng = np.random.default_rng(0)
    X = Measures.from_samples(rng.normal(size=(40, 6, 5)))
    kernel = ground.Gaussian(gamma=5.0)
    for family in FAMILIES:
        assert not isinstance(family(kernel).route(X, X), FEATURES)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("kernel", [ground.Linear(), ground.Polynomial(2, 0.0)])
def test_measures_at_the_origin_where_kernels_are_0(family, kernel):
    assert not squares(Measures.from_samples([[0.0], [0.0, 0.0]]), family(kernel)).any()


def test_features_that_would_fill_the_memory_are_not_taken():
    X = samples()
    assert explicit_features(ground.Linear(), X, X, 1e-10, 16.0, lambda rank: 2.0**27) is None
    assert explicit_features(ground.Polynomial(2), X, X, 1e-10, 16.0, lambda rank: 2.0**25 * rank) is None
    assert explicit_features(ground.Polynomial(2), X, X, 1e-10, 16.0, lambda rank: 2.0**24 * rank).rank == 3


def test_the_linear_ground_far_from_the_origin(clouds):
    X = clouds(8, 2)
    moved = Measures.from_samples([m.points + 1e6 for m in X], [m.weights for m in X])
    for family in FAMILIES:
        assert_allclose(squares(moved, family(ground.Linear())), squares(X, family(ground.Linear())), atol=1e-7)


def test_single_atoms_and_repeated_atoms():
    X = Measures.from_samples([[0.5], [0.5, 0.5], [0.5, 0.7]], [[1.0], [0.3, 0.7], [1.0, 1.0]])
    for family in FAMILIES:
        for kernel in (ground.Linear(), ground.Gaussian(gamma=1.0)):
            D = squares(X, family(kernel))
            assert_allclose(D[0, 1], 0.0, atol=1e-14)
            assert D[0, 2] > 1e-5


def norms_of(matrices):
    """Return the nuclear norms of up to LANES matrices of one shape, computed together."""
    p, q = matrices[0].shape
    V, ends = np.full((p, q + 1, LANES), np.nan), np.empty((1, 2, LANES))
    V[:, :q] = 0.0
    for lane, M in enumerate(matrices):
        V[:, :q, lane] = M
    with np.errstate(over="ignore", invalid="ignore"):  # where cores are interpreted
        nuclear_norms(V, p, q, np.empty((2, p, LANES)), ends)
    assert not ends[0, 0].any()
    return ends[0, 1, : len(matrices)]


@pytest.mark.parametrize("shape", [(1, 1), (2, 5), (7, 7), (12, 30)])
def test_nuclear_norms(shape):
    rng = np.random.default_rng(0)
    for scale in (1.0, 1e-8, 1e8, 1e-160, 1e160):
        graded = scale * rng.normal(size=shape) * np.geomspace(1.0, 1e-12, shape[1])
        matrices = (graded, np.zeros(shape), np.ones(shape), scale * np.eye(*shape), rng.normal(size=shape))
        expected = [np.linalg.svd(M, compute_uv=False).sum() for M in matrices]
        assert_allclose(norms_of(matrices), expected, rtol=1e-13)


def test_a_lane_does_not_see_the_others():
    rng = np.random.default_rng(0)
    scales = (1.0, 0.0, 1e-160, 1e160, 1e-12, 1.0, np.nan, 1.0)
    matrices = [scale * rng.normal(size=(6, 9)) * np.geomspace(1.0, 1e-9, 9) for scale in scales]
    assert_array_equal(norms_of(matrices), [norms_of([M])[0] for M in matrices])


@pytest.mark.parametrize("reg", [0.0, -1.0, np.inf])
def test_reg_must_be_positive(reg):
    with pytest.raises(InvalidParameterError, match="`reg` must be a finite number greater than 0"):
        divergences.GaussianKL(reg=reg)


@pytest.mark.parametrize("family", [divergences.GaussianWasserstein, _gaussian_kl.GaussianKL])
def test_ground_must_be_a_point_kernel(family):
    with pytest.raises(InvalidParameterError, match="`ground` must be a point kernel"):
        family("rbf")
    with pytest.raises(InvalidParameterError, match="`gamma` must be"):
        family(ground.Gaussian(gamma=-1.0))
