"""Families given by their statistics: closed forms, quadrature, existence, what the grid resolves."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from tests.oracles import exponential_families as oracle

from kermes import Engine, Measures, kernels, pairwise
from kermes.core import exponential_family, status
from kermes.divergences import ExponentialFamily, Family
from kermes.exceptions import ConvergenceWarning, InvalidParameterError, UnsuitableDataError

ENGINE = Engine("serial", memo=False)


def jensen(X, family, beta=1.0, Y=None, **options):
    return pairwise(X, Y, divergence=ExponentialFamily(family, beta), engine=ENGINE, squared=True, **options)


def bells(n, dim, seed=0):
    """Clouds of 30 points, with standard deviations 0.5 to 0.8, near the origin."""
    rng = np.random.default_rng(seed)
    return Measures.from_samples(
        [rng.uniform(0.5, 0.8) * rng.normal(size=(30, dim)) + rng.uniform(-0.5, 0.5, dim) for _ in range(n)]
    )


def line(points):
    return points


def square(points):
    return points[:, 0] ** 2


def cosines(points):
    return np.hstack([np.cos(points), np.sin(points)])


@pytest.mark.parametrize("dim", [1, 2])
def test_quadratic_statistics_on_a_wide_box_are_gaussians(dim):
    X, Y = bells(5, dim), bells(3, dim, seed=1)
    family = Family(2, low=-6.0, high=6.0)
    assert_allclose(jensen(X, family, 1.5), jensen(X, "gaussian", 1.5), atol=1e-7)
    assert_allclose(jensen(X, family, Y=Y), jensen(X, "gaussian", Y=Y), atol=1e-7)
    h = ExponentialFamily(family).concentration(X)
    assert_allclose(h, ExponentialFamily("gaussian").concentration(X), atol=1e-7)


def test_three_dimensions():
    X = bells(3, 3)
    family = Family(1, low=-3.0, high=(3.0, 3.5, 4.0))
    expected = [
        [sum(oracle.jensen(*line_of(mu, nu, k), oracle.truncated_exponentials(-3.0, high))
             for k, high in enumerate((3.0, 3.5, 4.0))) for nu in X] for mu in X
    ]  # fmt: skip
    assert_allclose(jensen(X, family), expected, atol=1e-9)


def line_of(mu, nu, k):
    X = Measures.from_samples([mu.points[:, k], nu.points[:, k]])
    return X[0], X[1]


@pytest.mark.parametrize(
    ("statistics", "functions"),
    [
        (1, [lambda x: x]),
        (3, [lambda x: x, lambda x: x**2 - 2, lambda x: x**3 / 4]),
        ((line, square), [lambda x: x, lambda x: x**2]),
        (cosines, [np.cos, np.sin]),
    ],
)
def test_agrees_with_direct_optimisation(statistics, functions):
    rng = np.random.default_rng(2)
    X = Measures.from_samples(rng.uniform(-1.8, 1.8, size=(2, 8)), rng.uniform(0.2, 1.0, size=(2, 8)))
    entropy = oracle.on_interval(functions, -2.0, 2.5)
    family = Family(statistics, -2.0, 2.5)
    assert_allclose(jensen(X, family)[0, 1], oracle.jensen(X[0], X[1], entropy), atol=1e-8)


def test_only_the_span_of_the_statistics_counts():
    X = bells(4, 2)
    expected = jensen(X, Family(2, -4.0, 4.0))
    mixed = Family(lambda x: np.column_stack([x @ [1, 2], x @ [0, 3.0] + 5, x**2 * 1e3, x[:, 0] * x[:, 1]]), -4.0, 4.0)
    assert_allclose(jensen(X, mixed), expected, atol=1e-10)


def test_multimodal_densities():
    """Two clusters each: the quartic family sees them, the quadratic one does not."""
    two, one = [-1.2, -1.1, -0.9, -0.8, 0.8, 0.9, 1.1, 1.2], np.linspace(-1.75, 1.75, 15)
    one = one * np.std(two) / np.std(one)
    X = Measures.from_samples([two, one])
    assert jensen(X, Family(2, -3.0, 3.0))[0, 1] < 1e-9
    assert jensen(X, Family(4, -3.0, 3.0))[0, 1] > 0.05


def test_a_single_atom_has_a_density_only_for_few_statistics():
    X = Measures.from_samples([[0.0, 1.0, 0.3, 2.0], [0.7]])
    assert jensen(X, Family(1, -3.0, 3.0))[0, 1] >= 0
    for degree in (2, 3, 5):
        with pytest.raises(UnsuitableDataError, match=r"measure 1 \(1 atom\).*fewer statistics"):
            jensen(X, Family(degree, -3.0, 3.0))
    with pytest.raises(UnsuitableDataError, match=r"measure 1 \(1 atom\)"):
        jensen(X[1:], Family(2, -3.0, 3.0))


@pytest.mark.parametrize("atom", [-3.0, 3.0])
def test_an_atom_in_the_corner_is_refused(atom):
    with pytest.raises(UnsuitableDataError, match=r"measure 0 \(1 atom\)"):
        jensen(Measures.from_samples([[atom], [0.0]]), Family(1, -3.0, 3.0))


@pytest.mark.parametrize("width", [0.0, 1e-9, 1e-5, 1e-3, 0.02, 0.05, 0.1, 0.2])
def test_narrow_densities_are_right_or_refused(width):
    """Whatever the position between grid points; 0 is one of them."""
    divergence = ExponentialFamily(Family(2, -2.0, 2.0, intervals=64))
    for where in (0.0, *np.linspace(-0.9, 0.8, 12)):
        X = Measures.from_samples([[where - width, where + width]])
        if width <= 0.1:
            with pytest.raises(UnsuitableDataError, match="measure 0"):
                divergence.concentration(X)
        else:
            expected = ExponentialFamily("gaussian").concentration(X)
            assert_allclose(divergence.concentration(X), expected, atol=1e-7)


def test_pairs_that_the_grid_does_not_resolve_are_reported():
    X = Measures.from_samples([[-0.4, -2.4, -0.9, 0.7, -2.9, 2.2], [2.1, -2.7, 1.8, -1.9, 1.2, -2.1]])
    rough = Family(6, -4.0, 4.0, intervals=64, tol=5e-5)
    with pytest.warns(ConvergenceWarning, match="did not reach their tolerance"):
        D, info = jensen(X, rough, return_info=True)
    assert_array_equal(info.status, [[0, 1], [1, 0]])
    assert_allclose(D, jensen(X, Family(6, -4.0, 4.0, intervals=256)), atol=1e-6)  # the error estimate is pessimistic


def test_statistics_that_are_not_smooth_need_a_tolerance():
    X = Measures.from_samples([[0.0, 1.0], [-1.0, 0.5, 2.0]])
    with pytest.raises(UnsuitableDataError, match=r"entropy of measure 0 \(2 atoms\) is uncertain by .*not smooth"):
        jensen(X, Family(np.abs, -3.0, 3.0, intervals=64))
    fine = jensen(X, Family(np.abs, -3.0, 3.0, intervals=1024, tol=1e-3))
    assert_allclose(jensen(X, Family(np.abs, -3.0, 3.0, intervals=128, tol=1e-2)), fine, atol=1e-3)


def test_atoms_outside_the_box_are_refused():
    X = Measures.from_samples([[0.0, 1.0], [0.5, 2.5, 0.1]])
    with pytest.raises(UnsuitableDataError, match=r"measure 1 has an atom at \[2.5\], outside the box"):
        jensen(X, Family(1, -2.0, 2.0))
    with pytest.raises(UnsuitableDataError, match="`low` must have one number for each of 1 axes"):
        jensen(X, Family(1, (0.0, 0.0), (4.0, 4.0)))


def test_pairs_find_the_density_from_a_bad_start():
    """The mean of the parameters of two narrow bells is a narrow bell between them, where Newton's method gets lost."""
    rng = np.random.default_rng(0)
    X = Measures.from_samples(0.3 * rng.normal(size=(20, 30)) + rng.uniform(-2, 2, size=(20, 1)))
    basis = Family(4, -6.0, 6.0).basis(1)
    moments = X.expectation((Family(4, -6.0, 6.0).evaluate(X.points) - basis.centre) @ basis.transform)
    own = exponential_family.fit(basis.grid, moments, np.zeros_like(moments)).theta
    i, j = np.triu_indices(20, 1)
    cold, warm = (
        exponential_family.fit(basis.grid, (moments[i] + moments[j]) / 2, start)
        for start in (np.zeros((len(i), 4)), (own[i] + own[j]) / 2)
    )
    assert (warm.status == status.OK).all()
    assert_allclose(warm.entropy, cold.entropy, atol=1e-10)


def test_tiles_order_and_twins_do_not_matter():
    X = bells(7, 1)
    expected = jensen(X, Family(3, -4.0, 4.0))
    flipped = Measures.from_samples([m.points[::-1] for m in X])
    assert_allclose(jensen(flipped, Family(3, -4.0, 4.0)), expected, atol=1e-12)
    assert_allclose(np.diagonal(jensen(X, Family(3, -4.0, 4.0), Y=flipped)), 0.0, atol=1e-11)
    for tile in (2, 3):
        engine = Engine(workers=2, tile=tile, memo=False)
        tiled = pairwise(X, divergence=ExponentialFamily(Family(3, -4.0, 4.0)), engine=engine, squared=True)
        assert_allclose(tiled, expected, atol=1e-12)


def test_as_a_kernel():
    X = bells(6, 1)
    kernel = kernels.Semigroup(ExponentialFamily(Family((line, square), -5.0, 5.0), beta=0.5))
    assert kernel.is_positive_definite(1) is None
    assert_allclose(kernel(X), kernels.Semigroup(ExponentialFamily("gaussian", beta=0.5))(X), atol=1e-8)
    assert pickle.loads(pickle.dumps(kernel)) == kernel


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 0.0, 1.0), "`statistics` must be an integer of at least 1; got 0. Or a function"),
        (("x", 0.0, 1.0), "`statistics` must be an integer"),
        (((), 0.0, 1.0), "`statistics` must be an integer"),
        (((line, 3), 0.0, 1.0), "`statistics` must be an integer"),
        ((1, 1.0, 1.0), "`low` must be below `high` on every axis"),
        ((1, (0.0, 2.0), (1.0, 2.0)), "`low` must be below `high` on every axis"),
        ((1, (0.0, 0.0), (1.0, 2.0, 3.0)), "`low` and `high` must have one number per axis"),
        ((1, np.nan, 1.0), "`low` must be a finite number"),
        ((1, 0.0, 1.0, 10), "`intervals` must be divisible by 4; got 10"),
        ((1, 0.0, 1.0, 4), "`intervals` must be an integer of at least 8"),
        ((1, 0.0, 1.0, 8, 0.0), "`tol` must be a finite number greater than 0"),
    ],
)
def test_parameters_are_checked(arguments, message):
    with pytest.raises(InvalidParameterError, match=message):
        Family(*arguments)


@pytest.mark.parametrize(
    ("statistics", "message"),
    [
        ((line, line), "`statistics` must be linearly independent of each other and of constants"),
        (lambda x: np.hstack([x, 2 * x - 1]), "`statistics` must be linearly independent"),
        (lambda x: np.ones(len(x)), "`statistics` must be linearly independent"),
        (lambda x: np.zeros(len(x)), "`statistics` must be linearly independent"),
        (lambda x: x.sum(), "`statistics` must map points of shape"),
        (lambda x: np.where(x == 1.0, np.inf, x), "`statistics` must be finite on the whole box"),
    ],
)
def test_statistics_are_checked(statistics, message):
    with pytest.raises(InvalidParameterError, match=message):
        jensen(Measures.from_samples([[0.2, 0.3], [0.4]]), Family(statistics, 0.0, 1.0))


def test_grids_are_limited():
    X = Measures.from_samples(np.random.default_rng(0).random((2, 9, 4)))
    with pytest.raises(InvalidParameterError, match=r"`intervals` must be given for measures on R\^4"):
        jensen(X, Family(1, -1.0, 2.0))
    with pytest.raises(InvalidParameterError, match=r"`intervals` must be smaller: a grid of 41\^4 points"):
        jensen(X, Family(1, -1.0, 2.0, intervals=40))
    with pytest.raises(InvalidParameterError, match="69 statistics and their products on 28561 grid points do not fit"):
        jensen(X, Family(4, -1.0, 2.0, intervals=12))
    assert jensen(X, Family(1, -1.0, 2.0, intervals=12))[0, 1] > 0


def test_is_a_value():
    family = Family([line, square], [0, 0], np.array([1, 2]))
    assert family == Family((line, square), (0.0, 0.0), (1.0, 2.0))
    assert hash(family) == hash(Family((line, square), (0.0, 0.0), (1.0, 2.0)))
    assert Family(np.int64(2), 0, 1) == Family(2, 0.0, 1.0)
