"""Entropic transport: routes, precisions, hostile measures, status."""

import os

import numpy as np
import pytest
from numpy.testing import assert_allclose
from tests.oracles import entropic, transport

from kermes import Engine, Measures, divergences, ground, kernels, pairwise
from kermes.core.status import OK
from kermes.divergences import Sinkhorn
from kermes.divergences._sinkhorn_routes import ByAxes, ByPoints, ByTable
from kermes.exceptions import ConvergenceWarning, InvalidParameterError, NumericalError, UnsuitableDataError

ENGINE = Engine("serial", memo=False)
INTERPRETED = os.environ.get("NUMBA_DISABLE_JIT") == "1"
compiled_only = pytest.mark.skipif(INTERPRETED, reason="takes the interpreter a minute")


def distances(X, Y=None, squared=False, **options):
    return pairwise(X, Y, divergence=Sinkhorn(**options), engine=ENGINE, squared=squared)


def squared_cost(x, y):
    return transport.euclidean(x, y) ** 2


@pytest.fixture(scope="module")
def digits():
    """Blobs of ink on 12 x 12 pixels, far from and near to each other; fewer and smaller ones for the interpreter."""
    n, side = (4, 6) if INTERPRETED else (7, 12)
    rng = np.random.default_rng(0)
    rows, cols = np.indices((side, side))
    centres = rng.uniform(side / 6, 0.75 * side, size=(n, 2))
    images = [np.exp(-((rows - r) ** 2 + (cols - c) ** 2) / 4) for r, c in centres]
    return Measures.from_images(np.array([image * (image > 0.05) for image in images]))


def by(route, X):
    """All values above the diagonal."""
    A, rows = route.prepare(X), np.arange(len(X))
    values, status, _ = route.tile(A, A, rows, rows, True)
    assert (status == OK).all()
    return values[np.triu_indices(len(X), 1)]


@pytest.mark.parametrize("cost", ["euclidean", "sqeuclidean", "binary", "torus"])
@pytest.mark.parametrize("epsilon", [0.3, 3.0])
def test_table_and_coordinates_agree(digits, cost, epsilon):
    S = Sinkhorn(epsilon, ground.Torus(12.0) if cost == "torus" else cost, tol=1e-7)
    tabulated, computed = S.route(digits, digits, by_axes=False), S.route(digits, digits, largest_table=0)
    assert type(tabulated) is ByTable
    assert type(computed) is ByPoints
    assert_allclose(by(computed, digits), by(tabulated, digits), rtol=1e-5)


@pytest.mark.parametrize("value", ["transport", "debiased", "regularized"])
@pytest.mark.parametrize("epsilon", [1.0, 8.0])
def test_grid_and_table_agree(digits, value, epsilon):
    S = Sinkhorn(epsilon, value=value, tol=1e-7)
    separable, tabulated = S.route(digits, digits), S.route(digits, digits, by_axes=False)
    assert type(separable) is ByAxes
    assert type(tabulated) is ByTable
    assert_allclose(by(tabulated, digits), by(separable, digits), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("tol", [1e-3, 1e-4, 1e-5])
@pytest.mark.parametrize("cost", ["euclidean", "sqeuclidean"])
def test_single_precision_keeps_the_tolerance(digits, cost, tol):
    """The stated accuracy in float32: the relative error of a distance is below the tolerance of the marginals."""
    converged = distances(digits, epsilon=0.5, cost=cost, tol=1e-10)
    rough = distances(digits, epsilon=0.5, cost=cost, tol=tol)
    off = ~np.eye(len(digits), dtype=bool)
    assert_allclose(rough[off], converged[off], rtol=tol)


@pytest.mark.parametrize("cost", ["euclidean", "sqeuclidean"])
def test_single_precision_keeps_the_tolerance_by_coordinates(digits, cost):
    rough, fine = Sinkhorn(0.5, cost, tol=1e-3), Sinkhorn(0.5, cost, tol=1e-10)
    found = by(rough.route(digits, digits, largest_table=0), digits)
    assert_allclose(found, by(fine.route(digits, digits, by_axes=False), digits), rtol=2e-3)  # of squares


def test_grid_of_another_spacing_is_a_change_of_units(digits):
    images = np.zeros((len(digits), len(digits.support.points)))
    images[np.repeat(np.arange(len(digits)), digits.sizes), digits.atoms] = digits.weights
    fine = Measures.from_images(images.reshape(-1, *digits.support.shape), spacing=0.5)
    assert_allclose(distances(fine, epsilon=0.5), 0.5 * distances(digits, epsilon=2.0), rtol=1e-4)


def test_cost_matrix(digits):
    table = ground.Euclidean()(digits.support.points)
    assert_allclose(
        distances(digits, epsilon=0.4, cost=table), distances(digits, epsilon=0.4, cost="euclidean"), rtol=1e-6
    )


def test_regularized_is_the_formula_of_the_paper(clouds):
    X = clouds(4, 2)
    found = distances(X, epsilon=0.3, value="regularized", tol=1e-9, squared=True)
    for i, j in [(0, 1), (1, 2), (0, 3)]:
        assert_allclose(found[i, j], entropic.value(X[i], X[j], squared_cost, 0.3, "regularized"), atol=1e-7)


def test_negative_regularized_values_have_no_root():
    X = Measures.from_samples([[[0.0, 0.0], [1.0, 0.0]], [[0.0, 0.1], [1.0, 0.1]]])
    options = {"epsilon": 2.0, "value": "regularized"}
    assert distances(X, squared=True, **options)[0, 1] < 0
    with pytest.raises(NumericalError, match=r"is negative, .* for `X\[0\]` and `Y\[1\]`.*squared=True returns it"):
        distances(X, **options)
    K = kernels.Exponential(Sinkhorn(**options), engine=ENGINE)(X)  # the paper's kernel: exp(-value / (2 l^2))
    assert K[0, 1] > 1


@compiled_only
@pytest.mark.parametrize("cost", ["euclidean", "sqeuclidean"])
def test_small_epsilon_approaches_exact_transport(digits, cost):
    p = 1 if cost == "euclidean" else 2
    reach = 15.0**p
    exact = pairwise(digits, divergence=divergences.Wasserstein(p=p), engine=ENGINE)
    found = distances(digits, epsilon=1e-4 * reach, cost=cost, tol=1e-5, max_iter=200_000)
    assert_allclose(found, exact, atol=0.02 * exact.max())


@compiled_only
@pytest.mark.parametrize("epsilon", [1e-4, 1e-2, 1.0, 1e4])
@pytest.mark.parametrize("cost", ["euclidean", "sqeuclidean"])
def test_hostile_measures(epsilon, cost):
    """Far apart, single atoms, tiny and huge weights, many against few atoms: finite and correct."""
    rng = np.random.default_rng(0)
    samples = [
        rng.normal(size=(5, 2)),
        rng.normal(size=(4, 2)) + 100.0,
        np.zeros((1, 2)),
        np.full((1, 2), 3.0),
        rng.normal(size=(60, 2)),
        rng.normal(size=(3, 2)),
    ]
    weights = [np.ones(5), np.ones(4), np.ones(1), np.ones(1), np.ones(60), np.array([1e-12, 1.0, 1e-6])]
    X = Measures.from_samples(samples, weights)
    scale = 100.0 if cost == "euclidean" else 100.0**2
    divergence = Sinkhorn(epsilon * scale, cost=cost, tol=1e-6, max_iter=200_000)
    D, info = pairwise(X, divergence=divergence, engine=ENGINE, squared=cost == "sqeuclidean", return_info=True)
    assert info.n_unconverged == 0
    function = transport.euclidean if cost == "euclidean" else squared_cost
    for i in range(6):
        for j in range(i):
            C = function(X[i].points, X[j].points)
            a, b = X[i].weights / X[i].mass, X[j].weights / X[j].mass
            if min(len(a), len(b)) == 1:  # only one coupling
                assert_allclose(D[i, j], a @ C @ b, rtol=1e-5)
            elif epsilon >= 1e-2:
                expected = (entropic.plan(a, b, C, epsilon * scale, tol=1e-9) * C).sum()
                assert_allclose(D[i, j], expected, rtol=1e-4, atol=1e-4)
            else:
                exact = transport.transport_cost(a, b, C)
                assert exact - 1e-6 * scale <= D[i, j] <= exact + 10 * epsilon * scale


def test_debiased_is_zero_for_copies_and_positive_elsewhere(digits):
    twin = Measures.from_samples([m.points for m in digits], [m.weights for m in digits])
    D = distances(digits, twin, epsilon=1.0, value="debiased", squared=True)
    assert_allclose(np.diagonal(D), 0.0, atol=1e-4)
    assert (D[~np.eye(len(digits), dtype=bool)] > 1e-3).all()


def test_copies_are_at_distance_zero_wherever_they_come_from(digits):
    copy = Measures.from_samples([m.points for m in digits[:2]], [2 * m.weights for m in digits[:2]])
    D = distances(digits, copy, epsilon=1.0)
    assert_allclose(np.diagonal(D), 0.0)
    assert (D[2:] > 0).all()


@pytest.mark.parametrize("value", ["transport", "regularized", "debiased"])
def test_equal_measures_are_at_zero_however_they_are_written(value):
    X = Measures.from_samples([[0.0, 1.0, 2.0]], [[1, 2, 3]])
    Y = Measures.from_samples(
        [[0.0, 1.0, 2.0], [2.0, -0.0, 1.0], [0.0, 1.0, 1.0, 2.0]], [[0.1, 0.2, 0.3], [3, 1, 2], [1, 1, 1, 3]]
    )
    assert (distances(X, Y, epsilon=0.5, value=value) == 0).all()


@pytest.mark.parametrize("value", ["transport", "regularized", "debiased"])
@pytest.mark.parametrize("epsilon", [1e-3, 0.3])
def test_atoms_of_next_to_no_mass_change_nothing(value, epsilon):
    """The square of a weight below 1e-162 is no number."""
    divergence = divergences.Sinkhorn(epsilon, value=value)
    bare, other = Measures.from_samples([[0.0, 1.0]]), Measures.from_samples([[0.5, 1.5]], [[1.0, 2.0]])
    expected = pairwise(bare, other, divergence=divergence)[0, 0]
    for light in (1e-150, 1e-170, 1e-300):
        X = Measures.from_samples([[0.0, 1.0, 2.0]], [[1.0, 1.0, light]])
        assert pairwise(X, other, divergence=divergence)[0, 0] == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("far", [9999.0, 1e6])
@pytest.mark.parametrize("value", ["transport", "regularized", "debiased"])
def test_an_atom_far_from_all_others_leaves_the_rest_alone(far, value):
    """No mass goes between the two parts: the value is that of either part; rounding is 1e-16 of the largest cost."""
    near, X = [[0.0, 1.0, 2.0], [0.1, 1.2, 2.3]], [[0.0, 1.0, 2.0, far], [0.1, 1.2, 2.3, far + 0.1]]
    options = {"epsilon": 0.1, "value": value, "tol": 1e-6, "squared": True}
    alone = distances(Measures.from_samples(near), **options)[0, 1]
    expected = 0.75 * alone + 0.25 * 0.1**2
    if value == "regularized":  # sum P log P of the parts
        expected += 0.1 * (0.75 * np.log(0.75) + 0.25 * np.log(0.25))
    found = distances(Measures.from_samples(X), **options)[0, 1]
    assert_allclose(found, expected, atol=1e-7 * 0.75 + 1e-16 * far**2)


def test_values_are_those_of_the_plan_for_any_epsilon():
    X = Measures.from_samples([[0.0], [2.0, 3.0]])
    assert_allclose(distances(X, epsilon=1e-15, squared=True)[0, 1], 6.5)
    Z = Measures.from_samples([[0, 1, 2, 9999.0], [0.1, 1.2, 2.3, 9999.1]])
    S = Sinkhorn(0.1, tol=1e-6)
    by_plan = (S.plan(Z[0], Z[1]) * S.plan_costs(Z[0], Z[1])).sum()
    assert_allclose(by_plan, distances(Z, epsilon=0.1, tol=1e-6, squared=True)[0, 1], rtol=1e-4)


@pytest.mark.parametrize("shift", [1e-2, 1e-3, 1e-5])
def test_debiased_values_keep_their_digits_near_zero(shift):
    """The debiased value of a translate is the squared shift, for every epsilon."""
    A = np.random.default_rng(0).normal(size=(8 if INTERPRETED else 50, 2))
    X = Measures.from_samples([A, A + [shift, 0.0]])
    for epsilon in (0.5, 50.0):
        found = distances(X, epsilon=epsilon, value="debiased", squared=True)[0, 1]
        assert_allclose(found, shift**2, rtol=1e-3, atol=1e-14 * epsilon)


@pytest.mark.parametrize("epsilon", [1e2, 1e4, 1e8])
def test_debiased_values_keep_their_digits_at_large_epsilon(epsilon):
    X = Measures.from_samples([[0.0, 1.0], [0.3, 1.9]])
    limit, S = 0.6**2, Sinkhorn(epsilon, value="debiased")  # the squared distance of the means
    assert_allclose(distances(X, epsilon=epsilon, value="debiased", squared=True)[0, 1], limit, rtol=1e-3 + 1 / epsilon)
    assert_allclose(by(S.route(X, X, largest_table=0), X), limit, rtol=1e-3 + 1 / epsilon)


def test_repeated_points_are_one_atom_on_every_route():
    A, B = [[0.0, 0.0], [0.0, 0.0], [1.0, 1.0]], [[0.0, 1.0], [0.0, 1.0], [1.0, 0.0]]
    X, S = Measures.from_samples([A, B]), Sinkhorn(0.5, value="regularized", tol=1e-9)
    assert_allclose(by(S.route(X, X, largest_table=0), X), by(S.route(X, X), X), rtol=1e-9)


@pytest.mark.parametrize("scale", [1e-23, 1e-100, 1e20, 1e100])
def test_units_do_not_matter(scale):
    """Costs outside the range of single precision."""
    A, B = np.random.default_rng(0).normal(size=(2, 8, 2))
    expected = distances(Measures.from_samples([A, B]), epsilon=0.5, squared=True)
    found = distances(Measures.from_samples([A * scale, B * scale]), epsilon=0.5 * scale**2, squared=True)
    assert_allclose(found / scale**2, expected, rtol=1e-4)


def test_costs_that_overflow_are_refused():
    X = Measures.from_samples([[0.0, 1e154], [1.0, 2.0]])
    with pytest.raises(UnsuitableDataError, match=r"too far apart for Sinkhorn: .* reaches 1.0e\+308"):
        distances(X, epsilon=1.0)
    with pytest.raises(UnsuitableDataError, match="too far apart"):
        Sinkhorn(1.0).plan(X[0], X[1])


def test_the_order_of_a_pair_matters_within_the_tolerance(digits):
    for tol in (1e-3, 1e-6):
        D, E = (distances(X, Y, epsilon=1.0, tol=tol) for X, Y in ((digits[:3], digits[3:]), (digits[3:], digits[:3])))
        assert_allclose(D, E.T, rtol=tol)


def test_debiased_reaches_its_limit_for_huge_epsilon(digits):
    """As epsilon grows, P tends to a b': an energy distance."""
    X = digits[:3]
    C = squared_cost(X.support.points, X.support.points)
    P = np.zeros((3, len(C)))
    P[np.repeat(np.arange(3), X.sizes), X.atoms] = X.probabilities
    inner = P @ C @ P.T
    limit = inner - (np.diagonal(inner)[:, None] + np.diagonal(inner)[None]) / 2
    for epsilon in (1e6, 1e12, 1e30):
        found = distances(X, squared=True, epsilon=epsilon, value="debiased", tol=1e-6)
        assert_allclose(found, limit, atol=1e-3 * limit.max())


def test_powers_of_negative_values_are_refused(digits):
    kernel = kernels.Exponential(Sinkhorn(30.0, value="regularized"), 5.0, power=1.0, engine=ENGINE)
    with pytest.raises(NumericalError, match="is negative"):
        kernel(digits)


def test_unconverged_pairs_are_counted(digits):
    with pytest.warns(ConvergenceWarning, match="did not reach their tolerance"):
        _, info = pairwise(
            digits, divergence=Sinkhorn(0.01, cost="euclidean", max_iter=2), engine=ENGINE, return_info=True
        )
    assert info.n_unconverged > 0


def test_unconverged_self_terms_are_counted():
    """Two iterations suffice between a point and a cloud, not for the cloud with itself."""
    X = Measures.from_samples([[[0.0, 0.0]], np.random.default_rng(0).normal(size=(9, 2))])
    S = Sinkhorn(0.1, value="regularized", max_iter=2)
    assert pairwise(X, divergence=S, engine=ENGINE, squared=True, return_info=True)[1].n_unconverged == 0
    with pytest.warns(ConvergenceWarning, match="did not reach their tolerance"):
        pairwise(X, divergence=S.with_params(value="debiased"), engine=ENGINE)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epsilon": 0.0}, "`epsilon` must be a finite number greater than 0; got 0.0. For exact transport use"),
        ({"epsilon": -1.0}, "`epsilon`"),
        ({"epsilon": np.nan}, "`epsilon`"),
        ({"epsilon": 1.0, "cost": "euclidian"}, "Did you mean 'euclidean'"),
        ({"epsilon": 1.0, "value": "sharp"}, "`value` must be one of 'transport', 'regularized', 'debiased'"),
        ({"epsilon": 1.0, "tol": 0.0}, "`tol`"),
        ({"epsilon": 1.0, "max_iter": 0}, "`max_iter`"),
        ({"epsilon": 1.0, "cost": np.ones((2, 3))}, "`cost matrix` must be a square array"),
        ({"epsilon": 1.0, "cost": np.array([[0, np.nan], [np.nan, 0]])}, r"entry \(0, 1\) is nan"),
    ],
)
def test_bad_parameters(options, message):
    with pytest.raises(InvalidParameterError, match=message):
        Sinkhorn(**options)


def test_cost_matrix_of_another_size(digits):
    with pytest.raises(
        UnsuitableDataError,
        match=f"cost matrix is 3 x 3, but the measures share a support of {len(digits.support.points)}",
    ):
        distances(digits, epsilon=1.0, cost=1 - np.eye(3))


@compiled_only
def test_what_the_correction_leaves_of_the_transport_value_is_linear_in_tol():
    """The regularised value is corrected to first order; the change of the entropy is left (docs/decisions.md)."""
    rng = np.random.default_rng(0)
    A, B = (Measures.from_samples(rng.normal(size=(6, 20, 2)), rng.random((6, 20))) for _ in range(2))
    coarse, fine, truth = (distances(A, B, epsilon=0.1, cost="euclidean", tol=tol) for tol in (1e-2, 1e-4, 1e-11))
    assert np.median(np.abs(coarse - truth) / truth) < 2e-3
    assert np.median(np.abs(fine - truth)) < np.median(np.abs(coarse - truth)) / 30


@pytest.mark.parametrize("scale", [1.0, 1e-20, 1e20, 1e-60, 1e60])
@pytest.mark.parametrize(("cost", "degree"), [("sqeuclidean", 2), ("euclidean", 1)])
def test_costs_in_single_precision_keep_their_digits_at_any_scale_and_offset(cost, degree, scale):
    clouds = np.random.default_rng(0).normal(size=(3, 12, 2))
    epsilon = 0.3

    def values(tol, factor=1.0, offset=0.0):
        S = divergences.Sinkhorn(epsilon * factor**degree, cost=cost, tol=tol)
        X = Measures.from_samples(factor * clouds + offset)
        return pairwise(X, divergence=S, engine=ENGINE, squared=degree == 2) / factor**degree

    exact = values(1e-10)
    np.testing.assert_allclose(values(1e-3, scale), exact, atol=3e-3 * epsilon)
    np.testing.assert_allclose(values(1e-3, scale), values(1e-3), atol=1e-5 * epsilon)
    if scale == 1.0:  # a difference of coordinates near 1e6 keeps ten digits in double precision, none in single
        np.testing.assert_allclose(values(1e-3, offset=1e6), values(1e-3), atol=1e-5 * epsilon)


def test_the_status_is_that_of_the_plan_whose_value_is_returned():
    """Potentials of 1e24 cannot tell an atom of mass 1e-43 from others: its scaling stays out of range for good."""
    X = Measures.from_samples([[[0.0, 0.0], [0.25, 0.0]], [[0.0, 0.0], [0.0, 1e12]]], [[2.0, 1e-43], [1.0, 1.0]])
    for Y in (X, X[::-1]):
        assert_allclose(distances(Y, squared=True, epsilon=0.5, tol=1e-3, value="transport")[0, 1], 5e23, rtol=1e-3)


@pytest.mark.parametrize("tol", [1e-3, 1e-6, 1e-9])
@pytest.mark.parametrize("cost", ["euclidean", "sqeuclidean"])
@pytest.mark.parametrize("excess", [1e-2, 1e-4, 1e-6, 1e-9])
def test_groups_that_exchange_nothing_pay_for_what_their_masses_differ_by(excess, cost, tol):
    """Half of the excess crosses from group to group, at the whole cost: for 1e-6 over 1e8 the value was 5e-5."""
    x, far = [[0.0, 0.0], [1e6, 0.0]], 1e6 if cost == "euclidean" else 1e12
    X = Measures.from_samples([x, x], [[1.0, 1.0], [1.0, 1.0 + excess]])
    value = distances(X, epsilon=0.5, cost=cost, value="debiased", tol=tol)[0, 1]
    moved = far * (0.5 - 1 / (2 + excess))
    assert_allclose(value if cost == "euclidean" else value**2, moved, rtol=1e-4, atol=1e-15 * far)


def test_groups_that_exchange_nothing_under_a_matrix_of_costs():
    """Half of the mass goes to the next bin, and what the last one has too much crosses."""
    X = Measures.from_histograms([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0001]], [0.0, 1.0, 2.0])
    C = np.array([[0.0, 1.0, 1e6], [1.0, 0.0, 1e6], [1e6, 1e6, 0.0]])
    value = distances(X, epsilon=0.5, cost=C, value="debiased")[0, 1]
    assert_allclose(value, 1.0 / 2.0001 + 1e6 * (0.5 - 1.0 / 2.0001), rtol=1e-3)
