"""Generalised variance: the routes agree, identities of the papers hold, hostile measures do no harm."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from tests.oracles import concentration
from tests.routes import squares_along

from kermes import Engine, Measures, divergences, ground, pairwise
from kermes.divergences._features import KernelSource, feature_map, kernel_table
from kermes.divergences._generalized_variance import AtomsRoute, MomentsRoute, SupportRoute
from kermes.exceptions import InvalidParameterError, NumericalError

ENGINE = Engine("serial", memo=False)
GAUSSIAN = ground.Gaussian(sigma=0.5)


def jensen(X, divergence, Y=None):
    return pairwise(X, Y, divergence=divergence, engine=ENGINE, squared=True)


def on_a_grid(n=20, seed=0, side=6):
    rng = np.random.default_rng(seed)
    images = rng.random((n, side, side)) * (rng.random((n, side, side)) < 0.4)
    images[:, 0, 0] = 0.5
    return Measures.from_images(images, spacing="unit")


def free(X):
    return Measures.from_samples([m.points for m in X], [m.weights for m in X])


@pytest.mark.parametrize("dim", [1, 2, 3, 7])
def test_both_determinants_of_proposition_5_agree(dim, clouds):
    for measure in clouds(6, dim):
        weights = measure.weights / measure.mass
        dual = concentration.centred_log_det(measure.points, weights, np.dot, 0.3)
        assert_allclose(dual, concentration.covariance_log_det(measure.points, weights, 0.3), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("dim", [1, 2, 7])
def test_concentration_is_half_the_log_determinant(dim, clouds):
    X = clouds(9, dim)
    h = divergences.GeneralizedVariance(0.3).concentration(X)
    expected = [concentration.covariance_log_det(m.points, m.weights / m.mass, 0.3) for m in X]
    assert_allclose(h, expected, rtol=1e-12, atol=1e-14)


def test_routes_agree():
    X = on_a_grid()
    tabulated = KernelSource(GAUSSIAN, kernel_table(GAUSSIAN, X, X))
    support = squares_along(SupportRoute(tabulated, 0.01), X)
    assert_allclose(squares_along(AtomsRoute(tabulated, 0.01), X), support, atol=1e-13)
    computed = KernelSource(GAUSSIAN)
    assert_allclose(squares_along(AtomsRoute(computed, 0.01), free(X)), support, atol=1e-13)
    again = AtomsRoute(computed, 0.01, factor_bytes=0)  # factors are computed again for every row
    assert not again.prepare(X).kept
    assert_allclose(squares_along(again, free(X)), support, atol=1e-13)
    features = feature_map(GAUSSIAN, X.points, 1e-11, 36)
    assert_allclose(squares_along(MomentsRoute(features, 0.01), X), support, atol=1e-8)


def test_the_cheapest_route_is_chosen():
    X, rough = on_a_grid(), divergences.GeneralizedVariance(1e-9, ground.Laplacian(1.0))
    assert isinstance(rough.route(X, X), SupportRoute)
    apart = Measures.from_histograms(np.kron(np.eye(2), np.ones(20)), np.arange(40.0))
    few = rough.route(apart, apart)  # conditioning the table does not pay
    assert type(few) is AtomsRoute
    assert few.source.table is not None
    scattered = rough.route(free(X), free(X))
    assert type(scattered) is AtomsRoute
    assert scattered.source.table is None
    assert isinstance(divergences.GeneralizedVariance(0.1).route(X, X), MomentsRoute)


def test_two_collections_on_one_support():
    X, Y = on_a_grid(7), on_a_grid(5, seed=1)
    D = divergences.GeneralizedVariance(0.01, GAUSSIAN)
    assert_allclose(jensen(X, D, Y), jensen(free(X), D, free(Y)), atol=1e-8)


def test_strips_of_the_support_route_cover_all_pairs():
    X = on_a_grid(40)
    expected = jensen(X, divergences.GeneralizedVariance(0.01, GAUSSIAN))
    route = SupportRoute(KernelSource(GAUSSIAN, kernel_table(GAUSSIAN, X, X)), 0.01)
    assert route.row_work(X, X) > 0
    assert_allclose(squares_along(route, X), expected, atol=1e-8)
    assert_allclose(squares_along(route, X, engine=Engine(workers=2, memo=False)), expected, atol=1e-8)


@pytest.mark.parametrize("eta", [1e-3, 1.0])
def test_low_rank_features_keep_their_promise(eta):
    rng = np.random.default_rng(0)
    X = Measures.from_samples(rng.normal(size=(30, 60, 1)))
    D = divergences.GeneralizedVariance(eta, ground.Gaussian(sigma=1.0))
    route = D.route(X, X)
    assert isinstance(route, MomentsRoute)
    assert route.features.rank < 40

    def h(points, weights):
        return concentration.centred_log_det(points, weights, lambda x, y: np.exp(-((x - y) @ (x - y)) / 2), eta)

    assert_allclose(jensen(X, D)[3, 17], concentration.jensen(X[3], X[17], h), atol=1e-8)


def test_features_are_checked_on_points_that_were_not_in_the_pool():
    points = np.random.default_rng(0).normal(size=(500, 2))
    points[-1] = 30.0  # hardly ever drawn
    features = feature_map(GAUSSIAN, points, 1e-6, 500, pool_size=150)
    assert features.rest(points).max() <= 1e-6
    assert_allclose(features(points) @ features(points).T, GAUSSIAN(points), atol=1e-6)
    assert feature_map(GAUSSIAN, points, 1e-6, 20, pool_size=150) is None
    assert feature_map(GAUSSIAN, points, 1e-17, 500, pool_size=150) is None  # beyond rounding


def test_far_from_the_origin_the_linear_ground_does_not_cancel(clouds):
    X = clouds(8, 2)
    moved = Measures.from_samples([m.points + 1e6 for m in X], [m.weights for m in X])
    D = divergences.GeneralizedVariance(0.1)
    assert_allclose(jensen(moved, D), jensen(X, D), atol=1e-8)


def test_more_dimensions_than_atoms():
    rng = np.random.default_rng(0)
    X = Measures.from_samples(rng.normal(size=(9, 3, 200)) + 5.0)
    D = divergences.GeneralizedVariance(0.5)
    assert type(D.route(X, X)) is AtomsRoute
    expected = concentration.jensen(X[0], X[1], lambda x, w: concentration.covariance_log_det(x, w, 0.5))
    assert_allclose(jensen(X, D)[0, 1], expected, rtol=1e-10)


def test_a_single_atom_has_no_variance():
    X = Measures.from_samples([[[1.0, 2.0]], [[1.0, 2.0]], [[3.0, 2.0]]])
    for D in (divergences.GeneralizedVariance(0.1), divergences.GeneralizedVariance(0.1, GAUSSIAN)):
        assert_allclose(D.concentration(X), 0.0, atol=1e-15)
        assert_allclose(jensen(X, D)[0, 1], 0.0, atol=1e-15)
        assert jensen(X, D)[0, 2] > 0.1


def test_tiny_regularisation_and_tiny_weights_stay_finite():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(5, 30, 2))
    X = Measures.from_samples(points, [np.geomspace(1e-12, 1.0, 30)] * 5)
    for eta in (1e-12, 1e-6, 1e6):
        for kernel in (ground.Linear(), GAUSSIAN, ground.Laplacian(1.0)):
            assert np.isfinite(jensen(X, divergences.GeneralizedVariance(eta, kernel))).all()


@pytest.mark.parametrize("eta", [0.0, -1.0, np.nan, "x"])
def test_eta_must_be_positive(eta):
    with pytest.raises(InvalidParameterError, match="`eta` must be a finite number greater than 0"):
        divergences.GeneralizedVariance(eta)


def test_ground_must_be_a_point_kernel():
    with pytest.raises(InvalidParameterError, match="`ground` must be a point kernel"):
        divergences.GeneralizedVariance(0.1, "gaussian")


def test_concentrations_that_rounding_decides_are_refused():
    X = Measures.from_samples([[[0.0, 1.0], [2.0, 2.0]], [[1e100, 0.0], [0.0, 1.0]]])
    with pytest.raises(NumericalError, match="no finite value of h for measure 1"):
        divergences.GeneralizedVariance(0.3).concentration(X)
