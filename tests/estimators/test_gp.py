"""Gaussian processes: the equivalent Wasserstein process, and fits that do not abort."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.model_selection import cross_val_score
from tests.estimators.cases import indefinite, row_numbers

from kermes import EquivalentWassersteinGP, MeasureGPRegressor, Measures, divergences, ground, kernels
from kermes.exceptions import DegenerateDataWarning, IllConditionedWarning, InvalidParameterError, UnsuitableDataError
from kermes.papers.gpm import equivalence


def problem(n, m, seed=0, zeros=0.3):
    """Weights on m points, many of them 0, and a smooth function of the first one."""
    rng = np.random.default_rng(seed)
    A = rng.dirichlet(np.ones(m), size=n) * (rng.random((n, m)) > zeros)
    A[A.sum(axis=1) == 0, 0] = 1.0
    A /= A.sum(axis=1, keepdims=True)
    return Measures.from_histograms(A, np.arange(float(m))), A, np.sin(4 * A[:, 0])


@pytest.mark.parametrize("isotropic", [True, False])
def test_it_is_the_se_process_on_the_weights(isotropic):
    X, A, y = problem(40, 3)
    y = y + 0.1 * np.random.default_rng(1).normal(size=40)
    model = EquivalentWassersteinGP(isotropic=isotropic, n_restarts=1, random_state=0).fit(X[:30], y[:30])
    kernel = ConstantKernel(model.kernel_.k1.k1.constant_value) * RBF(model.length_scale_)
    kernel = kernel + WhiteKernel(model.kernel_.k2.noise_level)
    theirs = GaussianProcessRegressor(kernel, optimizer=None, normalize_y=True).fit(A[:30], y[:30])
    for ours, expected in zip(
        model.predict(X[30:], return_std=True), theirs.predict(A[30:], return_std=True), strict=True
    ):
        assert_allclose(ours, expected, rtol=1e-6)
    assert_allclose(model.predict(X[30:], return_cov=True)[1], theirs.predict(A[30:], return_cov=True)[1], atol=1e-8)
    assert model.gp_.log_marginal_likelihood_value_ == pytest.approx(theirs.log_marginal_likelihood_value_)
    assert np.shape(model.length_scale_) == (() if isotropic else (3,))
    assert model.noise_ == pytest.approx(0.1, rel=0.5)


@pytest.mark.parametrize("m", [2, 3, 5])
@pytest.mark.parametrize("cost", ["binary", ground.Binary.from_cost(4.0), "euclidean"])
def test_rho_field_turns_the_wasserstein_kernel_into_the_fitted_one(m, cost):
    X, A, y = problem(12, m)
    model = EquivalentWassersteinGP(cost, isotropic=False, n_restarts=0).fit(X, y)
    C = (ground.as_cost(cost)(np.arange(float(m)))) ** 2
    for i, j in [(0, 1), (3, 2), (4, 4), (5, 9)]:
        field = model.rho_field(X[i], X[j])
        assert_array_equal(field.points[:, 0], np.arange(m))
        assert_allclose(field.row_costs.sum(), (C * equivalence.optimal_plan(A[i], A[j], C)).sum(), atol=1e-12)
        value = equivalence.directional(field.row_costs, field.inverse_squared_rho)
        assert value == pytest.approx(equivalence.squared_exponential(A[i], A[j], model.length_scale_), abs=1e-12)
        assert (field.inverse_squared_rho[field.row_costs == 0] == 1.0).all()


def test_rho_field_under_a_matrix_and_for_new_atoms():
    X, A, y = problem(12, 3)
    square = np.array([[0.0, 1.0, 2.0], [1.0, 0.0, 4.0], [2.0, 4.0, 0.0]])
    model = EquivalentWassersteinGP(square, n_restarts=0).fit(X, y)
    field = model.rho_field(X[0], X[1])
    assert_allclose(
        field.row_costs,
        equivalence.row_costs(square**2, equivalence.optimal_plan(A[0], A[1], square**2)),
        atol=1e-12,
    )
    elsewhere = Measures.from_samples([[0.0, 7.0]])[0]
    model = EquivalentWassersteinGP(n_restarts=0).fit(X, y)
    field = model.rho_field(elsewhere, X[0])
    value = equivalence.directional(field.row_costs, field.inverse_squared_rho)
    assert value == pytest.approx(float(model.kernel_.k1.k2(Measures.from_samples([[0.0, 7.0]]), X[:1])[0, 0]))


def test_one_length_scale_or_many():
    for n, m, isotropic in [(20, 2, True), (60, 2, True), (29, 3, True), (30, 3, False)]:
        X, _, y = problem(n, m, zeros=0.0)
        assert EquivalentWassersteinGP(n_restarts=0).fit(X, y).isotropic_ is isotropic
    X, _, y = problem(20, 2)
    assert EquivalentWassersteinGP(isotropic=False, n_restarts=0).fit(X, y).isotropic_


def test_predictions_interpolate_exact_targets():
    a = np.linspace(0.02, 0.98, 15)
    X = Measures.from_histograms(np.column_stack([a, 1 - a]), [0.0, 1.0])
    y = 3.0 + np.sin(5 * a)
    model = EquivalentWassersteinGP(noise=False, random_state=0).fit(X, y)
    mean, std = model.predict(X, return_std=True)
    assert_allclose(mean, y, atol=1e-4)
    assert std.max() < 1e-3
    assert model.noise_ == 0.0
    between = Measures.from_histograms([[0.33, 0.67]], [0.0, 1.0])
    assert_allclose(model.predict(between), 3.0 + np.sin(5 * 0.33), atol=1e-2)
    learned = EquivalentWassersteinGP(random_state=0).fit(X, y)
    assert_allclose(learned.predict(X), y, atol=1e-3)
    assert model.score(X, y) > 0.999


def test_unions_of_supports():
    """Ragged samples of whole numbers: weights on the union, as if it had been given."""
    rng = np.random.default_rng(0)
    H = rng.integers(0, 4, size=(20, 5)) + np.eye(20, 5, dtype=int)
    y = H[:, 0] / H.sum(axis=1)
    union = Measures.from_samples([np.repeat(np.arange(5.0), h) for h in H])
    given = Measures.from_histograms(H, np.arange(5.0))
    assert union.support is None
    for isotropic in (True, False):
        mine, same = (
            EquivalentWassersteinGP(isotropic=isotropic, n_restarts=0).fit(X[:15], y[:15]) for X in (union, given)
        )
        assert_allclose(mine.predict(union[15:]), same.predict(given[15:]), rtol=1e-6)
        assert_allclose(mine.predict(given[15:]), same.predict(union[15:]), rtol=1e-6)
    with pytest.raises(
        UnsuitableDataError, match=r"`X\[1\]` has an atom at \[7\.\].*among the 5 points.*isotropic=True"
    ):
        mine.predict(Measures.from_samples([[0.0, 1.0], [2.0, 7.0]]))


def test_a_support_in_any_order():
    X, A, y = problem(30, 4)
    order = np.array([2, 0, 3, 1])
    shuffled = Measures.from_histograms(A[:, order], np.arange(4.0)[order])
    one = EquivalentWassersteinGP(isotropic=False, n_restarts=0).fit(X, y)
    other = EquivalentWassersteinGP(isotropic=False, n_restarts=0).fit(shuffled, y)
    assert_allclose(other.predict(X), one.predict(shuffled), atol=1e-6)
    assert_array_equal(other.points_[:, 0], order)


def test_draws_and_copies():
    X, _, y = problem(25, 3)
    model = EquivalentWassersteinGP(random_state=0, n_restarts=0).fit(X[:20], y[:20])
    draws = model.sample_y(X[20:], n_samples=400)
    mean, std = model.predict(X[20:], return_std=True)
    assert draws.shape == (5, 400)
    assert_allclose(draws.mean(axis=1), mean, atol=5 * std.max() / 20)
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.predict(X[20:]), mean)
    assert clone(model).get_params() == model.get_params()
    assert cross_val_score(clone(model), X, y, cv=3).mean() > 0.5


def test_the_same_seed_gives_the_same_model():
    X, _, y = problem(20, 3)
    one, two = (EquivalentWassersteinGP(random_state=3).fit(X, y) for _ in range(2))
    assert_array_equal(one.kernel_.theta, two.kernel_.theta)


@pytest.mark.parametrize("model", [EquivalentWassersteinGP(), EquivalentWassersteinGP(isotropic=False, noise=False)])
def test_constant_targets(model):
    X, _, _ = problem(12, 3)
    with pytest.warns(DegenerateDataWarning, match="all targets are equal; they do not determine hyperparameters"):
        model.fit(X, np.full(12, 0.1 + 0.2))
    mean, std = model.predict(X, return_std=True)
    assert_allclose(mean, 0.3)
    assert np.isfinite(std).all()


def test_equal_inputs_without_noise():
    X, _, y = problem(10, 3)
    twice = X[np.r_[np.arange(10), 4]]
    with pytest.warns(DegenerateDataWarning, match=r"samples 4 and 10 are the same for the kernel.*pairs like that: 1"):
        model = EquivalentWassersteinGP(noise=False, n_restarts=0).fit(twice, np.r_[y, y[4] + 1.0])
    assert model.predict(X[[4]]) == pytest.approx(y[4] + 0.5, abs=1e-3)
    model = EquivalentWassersteinGP(n_restarts=0).fit(twice, np.r_[y, y[4] + 1.0])  # noise explains both
    assert model.noise_ > 0.05
    EquivalentWassersteinGP(noise=False, n_restarts=0).fit(twice, np.r_[y, y[4]])  # nothing to explain


def test_all_inputs_equal():
    X = Measures.from_histograms(np.full((6, 3), 1 / 3), np.arange(3.0))
    y = np.arange(6.0)
    model = EquivalentWassersteinGP(n_restarts=0).fit(X, y)
    assert_allclose(model.predict(X[:1]), 2.5, atol=1e-2)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"isotropic": "yes"}, "`isotropic` must be True, False or None"),
        ({"noise": 0.1}, "`noise` must be True or False"),
        ({"n_restarts": -1}, "`n_restarts` must be an integer of at least 0"),
        ({"alpha": 0.0}, "`alpha` must be a finite number greater than 0"),
        ({"cost": "sqeuclidean"}, "must be a distance"),
        ({"cost": "binry"}, "Did you mean 'binary'"),
    ],
)
def test_bad_parameters(parameters, message):
    X, _, y = problem(6, 3)
    with pytest.raises(InvalidParameterError, match=message):
        EquivalentWassersteinGP(**parameters).fit(X, y)


def test_bad_data():
    X, _, y = problem(6, 3)
    model = EquivalentWassersteinGP(np.ones((2, 2)) - np.eye(2), n_restarts=0).fit(X, y)
    with pytest.raises(UnsuitableDataError, match="the cost matrix is 2 x 2, but the measures share a support of 3"):
        model.rho_field(X[0], X[1])
    with pytest.raises(UnsuitableDataError, match="`mu` has points of dimension 2"):
        model.rho_field(Measures.from_samples([np.zeros((1, 2))])[0], X[0])
    with pytest.raises(ValueError, match="requires y to be passed"):
        model.fit(X, None)


def line(n):
    a = np.linspace(0, 1, n)
    return Measures.from_histograms(np.column_stack([a, 1 - a]), [0.0, 1.0]), np.sin(6 * a)


def test_measures_have_a_default_kernel_at_the_median_distance():
    rng = np.random.default_rng(0)
    shifts = rng.normal(size=30)
    X = Measures.from_samples([rng.normal(s, 0.3, (5, 2)) for s in shifts])
    model = MeasureGPRegressor().fit(X[:20], shifts[:20])
    assert model.kernel is None
    assert isinstance(model.kernel_.k1.k2.divergence, divergences.SlicedWasserstein)
    assert model.score(X[20:], shifts[20:]) > 0.9
    points = [[0.0], [1.0], [4.0]]  # scikit-learn's default
    assert MeasureGPRegressor().fit(points, [0.0, 1.0, 2.0]).predict(points).shape == (3,)


def test_jitter_is_as_small_as_possible_and_reported():
    X, y = line(40)
    kernel = kernels.Exponential(divergences.Euclidean(), 0.5, length_scale_bounds="fixed")
    with pytest.raises(np.linalg.LinAlgError):
        GaussianProcessRegressor(kernel, alpha=1e-18).fit(X, y)
    model = MeasureGPRegressor(kernel, alpha=1e-18)
    with pytest.warns(IllConditionedWarning, match=r"a jitter of 1\.0e-10 was added to its diagonal.*WhiteKernel"):
        model.fit(X, y)
    assert model.jitter_ == 1e-10
    assert model.alpha == 1e-18  # parameters stay what they were
    assert_allclose(model.predict(X), y, atol=1e-4)
    value, gradient = model.log_marginal_likelihood(model.kernel_.theta, eval_gradient=True)
    assert value == pytest.approx(model.log_marginal_likelihood_value_)
    assert gradient.shape == (0,)


@pytest.mark.filterwarnings("ignore:lbfgs failed to converge")
def test_smooth_models_are_not_passed_over():
    """The best length scale has a singular matrix; the search looks there nevertheless."""
    X, y = line(40)
    kernel = kernels.Exponential(divergences.Euclidean(), 0.3, length_scale_bounds=(0.05, 5.0))
    model = MeasureGPRegressor(kernel, alpha=1e-18, random_state=0, n_restarts_optimizer=2)
    with pytest.warns(IllConditionedWarning):
        model.fit(X, y)
    assert model.kernel_.length_scale > 0.3
    assert np.isfinite(model.log_marginal_likelihood_value_)


def test_an_indefinite_kernel_is_repaired_and_reported():
    kernel = indefinite(5.0).set_params(length_scale_bounds="fixed")
    y = np.random.default_rng(0).normal(size=20)
    model = MeasureGPRegressor(kernel, alpha=np.full(20, 1e-10))
    with pytest.warns(IllConditionedWarning, match=r"the kernel is not positive definite on these data; see definite"):
        model.fit(row_numbers(20), y)
    least = np.linalg.eigvalsh(kernel(row_numbers(20)))[0]
    assert -least < model.jitter_ < -10 * least
    assert np.isfinite(model.predict(row_numbers(20), return_std=True)[0]).all()


def test_nothing_is_added_where_nothing_is_needed():
    X, y = line(8)
    kernel = ConstantKernel() * kernels.Exponential(divergences.Wasserstein(cost="binary")) + WhiteKernel(1e-3, "fixed")
    mine = MeasureGPRegressor(kernel, n_restarts_optimizer=1, random_state=0).fit(X, y)
    theirs = GaussianProcessRegressor(kernel, n_restarts_optimizer=1, random_state=0).fit(X, y)
    assert mine.jitter_ == 0.0
    # Both searches round differently on their way to the same maximum.
    assert_allclose(mine.predict(X), theirs.predict(X), rtol=1e-9)
    assert mine.log_marginal_likelihood() == pytest.approx(theirs.log_marginal_likelihood(), rel=1e-12)


def test_one_distance_matrix_per_fit(monkeypatch):
    from kermes import Engine

    engine, counted = Engine(), []
    evaluate = Engine.evaluate

    def count(self, *arguments, **options):
        values, info = evaluate(self, *arguments, **options)
        counted.append(info.n_evaluated)
        return values, info

    monkeypatch.setattr(Engine, "evaluate", count)
    X, y = line(12)
    kernel = ConstantKernel() * kernels.Exponential(divergences.Wasserstein(cost="binary"), engine=engine)
    model = MeasureGPRegressor(kernel + WhiteKernel(1e-2, "fixed"), n_restarts_optimizer=2, random_state=0).fit(X, y)
    assert sum(counted) == 12 * 11 // 2
    assert len(counted) <= 4  # looked up once for all likelihoods, not at each
    model.predict(line(5)[0], return_std=True)
    assert sum(counted) == 12 * 11 // 2 + 5 * 12


@pytest.mark.parametrize("scale", [1e-140, 1e-9, 1e9, 1e140])
def test_the_default_kernel_does_not_depend_on_the_units_of_the_points(scale):
    rng = np.random.default_rng(0)
    points = rng.normal(size=(20, 5, 2))
    y = points[:, :, 0].mean(axis=1) + 0.1 * rng.normal(size=20)
    near, far = (Measures.from_samples(factor * points) for factor in (1.0, scale))
    wanted, found = (MeasureGPRegressor().fit(X, y) for X in (near, far))
    assert_allclose(found.predict(far), wanted.predict(near), rtol=1e-4)
