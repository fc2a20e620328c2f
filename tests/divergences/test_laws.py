"""Laws that every divergence obeys, over every case and dimension."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from tests import strategies
from tests.cases import DIVERGENCES, each_dim

from kermes import Engine, Measures, datasets, divergences, ground, pairwise
from kermes.measures import as_measures

ENGINE = Engine("serial", memo=False)
cases = pytest.mark.parametrize(("case", "dim"), **each_dim(DIVERGENCES))


def distances(case, X, Y=None, **options):
    return pairwise(X, Y, divergence=case.divergence, engine=ENGINE, **options)


@cases
def test_agrees_with_the_oracle(case, dim, clouds):
    X = clouds(5, dim)
    expected = [[0.0 if i == j else case.oracle(X[i], X[j]) for j in range(5)] for i in range(5)]
    assert_allclose(distances(case, X), expected, atol=case.atol, rtol=1e-9)


@cases
def test_zero_on_the_diagonal_and_symmetric(case, dim, clouds):
    D = distances(case, clouds(7, dim))
    assert_array_equal(np.diagonal(D), 0.0)
    assert_array_equal(D, D.T)
    assert (D >= 0).all()


@cases
def test_equal_measures_are_at_distance_zero(case, dim, clouds):
    X, twin = clouds(4, dim), clouds(4, dim)
    assert_allclose(np.diagonal(distances(case, X, Measures.from_samples(*_parts(twin)))), 0.0, atol=case.atol)


@cases
def test_auto_equals_cross(case, dim, clouds):
    X = clouds(6, dim)
    other = Measures.from_samples([*_parts(X)[0], np.zeros((1, dim))], [*_parts(X)[1], np.ones(1)])  # another root
    cross = distances(case, X, other)[:, :6]
    assert_allclose(distances(case, X), cross, atol=case.atol, rtol=1e-9)


@cases
def test_squared(case, dim, clouds):
    X = clouds(5, dim)
    assert_allclose(distances(case, X, squared=True), distances(case, X) ** 2, rtol=1e-12, atol=1e-15)


@cases
def test_atom_order_splitting_and_mass_do_not_matter(case, dim, clouds):
    X = clouds(5, dim)
    points, weights = _parts(X)
    rng = np.random.default_rng(1)
    order = [rng.permutation(len(w)) for w in weights]
    shuffled = Measures.from_samples([p[o] for p, o in zip(points, order, strict=True)],
                                     [w[o] for w, o in zip(weights, order, strict=True)])  # fmt: skip
    split = Measures.from_samples([np.repeat(p, 2, axis=0) for p in points],
                                  [np.repeat(w / 2, 2) for w in weights])  # fmt: skip
    heavier = Measures.from_samples(points, [(i + 1) * w for i, w in enumerate(weights)])
    padded = Measures.from_samples([np.vstack([p, np.full((1, dim), 9.0)]) for p in points],
                                   [np.append(w, 0.0) for w in weights])  # fmt: skip
    expected = distances(case, X)
    for other in (shuffled, split, heavier, padded):
        assert_allclose(distances(case, other), expected, atol=case.atol, rtol=1e-9)


@cases
def test_closed_form_on_diracs(case, dim):
    points = np.random.default_rng(0).normal(size=(6, dim))
    expected = [[0.0 if i == j else case.on_diracs(x, y) for j, y in enumerate(points)] for i, x in enumerate(points)]
    assert_allclose(distances(case, points), expected, atol=case.atol, rtol=1e-9)


@cases
def test_tiles_and_executors_do_not_matter(case, dim, clouds):
    X, Y = clouds(9, dim), clouds(5, dim, seed=3)
    expected, cross = distances(case, X), distances(case, X, Y)
    for engine in (Engine("serial", tile=2, memo=False), Engine(workers=3, tile=2, memo=False), Engine(tile=4)):
        assert_allclose(pairwise(X, divergence=case.divergence, engine=engine), expected, atol=1e-13)
        assert_allclose(pairwise(X, Y, divergence=case.divergence, engine=engine), cross, atol=1e-13)


@cases
def test_threads_give_the_bits_of_serial(case, dim, clouds):
    X = clouds(9, dim)
    serial = pairwise(X, divergence=case.divergence, engine=Engine("serial", tile=3, memo=False))
    threads = pairwise(X, divergence=case.divergence, engine=Engine(workers=2, tile=3, memo=False))
    assert_array_equal(serial, threads)


@cases
def test_triangle_inequality_if_a_metric(case, dim, clouds):
    D = distances(case, clouds(8, dim))
    if case.divergence.claims(dim).metric is not False:
        assert (D[:, None, :] <= D[:, :, None] + D[None, :, :] + 1e-7).all()
    else:
        assert case.divergence.claims(dim).reason


@cases
def test_conditionally_negative_definite_if_claimed(case, dim, clouds):
    claims = case.divergence.claims(dim)
    assert claims.reason
    if claims.negative_type is None:
        return
    X = clouds(12, dim)
    centre = np.eye(12) - 1 / 12
    for power in (claims.negative_type, claims.negative_type / 2):
        form = -centre @ distances(case, X) ** power @ centre
        assert np.linalg.eigvalsh((form + form.T) / 2).min() > -1e-7


@cases
def test_is_a_value(case, dim):
    divergence = case.divergence
    assert clone(divergence) is divergence
    copy = pickle.loads(pickle.dumps(divergence))
    assert copy == divergence
    assert hash(copy) == hash(divergence)
    names = vars(ground) | {"Family": divergences.Family, type(divergence).__name__: type(divergence)}
    assert eval(repr(divergence), names) == divergence


@cases
def test_inputs_are_left_alone(case, dim, clouds):
    X = clouds(4, dim)
    before = X.points.copy(), X.weights.copy()
    distances(case, X)
    assert_array_equal(X.points, before[0])
    assert_array_equal(X.weights, before[1])


@given(problem=strategies.exact_transport(dim=1))
def test_wasserstein_on_the_line_has_the_closed_form(problem):
    for case in DIVERGENCES:
        if case.name.startswith("wasserstein-p"):
            assert_allclose(distances(case, problem.measures), problem.distances, atol=1e-9)


@given(problem=strategies.exact_transport(dim=2))
def test_wasserstein_in_the_plane_has_the_closed_form(problem):
    for case in DIVERGENCES:
        if case.name in ("wasserstein-p1", "wasserstein-p2"):
            assert_allclose(distances(case, problem.measures), problem.distances, atol=1e-7)


@given(X=strategies.measures(dim=1))
def test_hostile_measures_agree_with_the_oracles(X):
    for case in DIVERGENCES:
        if case.name.startswith("sinkhorn"):  # slow oracle; test_sinkhorn.py has hostile measures of its own
            continue
        expected = case.oracle(X[0], X[1])
        # Roots of small numbers: an error of 1e-12 in the cost is 1e-4 in W_3.
        power = case.divergence.power
        assert_allclose(distances(case, X)[0, 1] ** power, expected**power, atol=1e-9)


def test_location_scale_family():
    X, expected = datasets.make_location_scale(n=8, seed=4)
    case = next(case for case in DIVERGENCES if case.name == "wasserstein-p2")
    assert_allclose(distances(case, X), expected, rtol=1e-10)


def _parts(X):
    X = as_measures(X)
    return [m.points for m in X], [m.weights for m in X]
