from dataclasses import dataclass

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC
from tests.oracles import concentration

from kermes import Engine, Measures, divergences, ground, kernels
from kermes.exceptions import InvalidParameterError, NumericalError


def determinant(mu, nu, eta):
    points, weights = concentration.pooled(mu, nu)
    return np.exp(2 * concentration.covariance_log_det(points, weights, eta))


def test_not_normalised_it_is_the_inverse_determinant(clouds):
    X = clouds(5, 2)
    K = kernels.IGV(0.1, normalized=False)(X)
    assert_allclose(K, [[1 / determinant(mu, nu, 0.1) for nu in X] for mu in X], rtol=1e-10)


def test_normalised_it_is_divided_by_its_diagonal(clouds):
    X = clouds(6, 2)
    K = kernels.IGV(0.1, normalized=False, power=1.5)(X)
    scale = np.sqrt(np.diagonal(K))
    normalized = kernels.IGV(0.1, power=1.5)(X)
    assert_allclose(normalized, K / np.outer(scale, scale), rtol=1e-10)
    assert ((normalized > 0) & (normalized <= 1)).all()


def test_example_of_the_papers():
    """Diagonal covariances of a one, a zero and their mean; the papers print 0.382 from these rounded variances."""
    S, T, mean = (0.0552, 0.0013), (0.0441, 0.0237), (0.0497, 0.0139)

    def cross(variances, centre=(0.0, 0.0)):
        a, b = np.sqrt(2 * np.asarray(variances))
        return np.array([[a, 0], [-a, 0], [0, b], [0, -b]]) + centre

    # Means that turn the average of both covariances into that of the mean.
    gap = 2 * np.sqrt(np.maximum(np.array(mean) - (np.array(S) + np.array(T)) / 2, 0.0))
    X = Measures.from_samples([cross(S), cross(T, gap)])
    assert 0.38 < kernels.IGV(1e-9)(X)[0, 1] < 0.40


@pytest.mark.parametrize("normalized", [True, False])
def test_positive_semidefinite_on_hostile_sets(normalized):
    rng = np.random.default_rng(0)
    near = np.zeros((1, 2)) + 1e-7 * rng.normal(size=(10, 1, 2))  # nearly equal single atoms
    far = 1e4 * rng.normal(size=(5, 3, 2))
    line = [np.c_[np.linspace(0, 1, k), np.zeros(k)] for k in range(2, 12)]
    X = Measures.from_samples([*near, *far, *line, *rng.normal(size=(10, 40, 2))])
    for power in (0.5, 1.0, 1.5, 4.0):
        for kernel in (ground.Linear(), ground.Gaussian(sigma=0.3), ground.Laplacian(2.0)):
            K = kernels.IGV(0.01, kernel, normalized=normalized, power=power)(X)
            assert np.linalg.eigvalsh(K).min() > -1e-7 * np.linalg.eigvalsh(K).max()


def test_what_is_proved():
    assert kernels.IGV(0.1).is_positive_definite(2)
    assert kernels.IGV(0.1, power=0.5).is_positive_definite(7)
    assert kernels.IGV(0.1, power=0.3).is_positive_definite(1)
    assert kernels.IGV(0.1, power=0.3).is_positive_definite(2) is None
    assert kernels.IGV(0.1, power=0.7).is_positive_definite(2)  # above (dim - 1) / 2
    assert kernels.IGV(0.1, ground.Gaussian(sigma=1.0), power=0.7).is_positive_definite(2) is None


def test_in_scikit_learn(clouds):
    X = clouds(30, 2)
    y = X.masses > np.median(X.masses)
    search = GridSearchCV(SVC(kernel=kernels.IGV(0.1)), {"kernel__eta": [0.01, 0.1], "kernel__power": [0.5, 1]}, cv=3)
    assert search.fit(X, y).best_score_ > 0
    kernel = kernels.Semigroup(divergences.GeneralizedVariance(1.0))
    target = X.expectation(X.points)[:, 0]  # the mean of the first coordinate
    gp = GaussianProcessRegressor(kernel, alpha=1e-3).fit(X[:20], target[:20])
    assert gp.kernel_.t != 1.0
    assert gp.score(X[20:], target[20:]) > 0.5


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (kernels.IGV(0.0), "`eta` must be"),
        (kernels.IGV(0.1, power=-1.0), "`power` must be"),
        (kernels.IGV(0.1, "gaussian"), "`ground` must be a point kernel"),
        (kernels.Semigroup(divergences.GeneralizedVariance(0.1), t=0.0), "`t` must be"),
        (kernels.Semigroup(divergences.Euclidean()), "must be a Jensen difference"),
    ],
)
def test_bad_parameters(kernel, message, clouds):
    with pytest.raises(InvalidParameterError, match=message):
        kernel(clouds(3, 2))


CALLS = []


@dataclass(frozen=True)
class Spread(divergences.Functional):
    """Variance on the line; it counts its calls, and is infinite beyond 1e300."""

    def value(self, points, weights):
        CALLS.append(len(points))
        mean = weights @ points[:, 0]
        return np.inf if mean > 1e300 else weights @ (points[:, 0] - mean) ** 2


def test_the_functional_of_a_measure_is_computed_once(clouds):
    X, engine = clouds(8, 1), Engine("serial")
    kernel = kernels.Semigroup(divergences.JensenDifference(Spread()), normalized=False, engine=engine)
    K = kernel(X)
    CALLS.clear()
    for t in (1.0, 2.0):
        again = kernel.clone_with_theta([np.log(t)])
        assert_allclose(again(X), K**t, rtol=1e-12)
        assert_allclose(again(X[[5, 2, 5]], X[::-1]), K[[5, 2, 5]][:, ::-1] ** t, rtol=1e-12)
        assert_allclose(again.diag(X[3:]), np.diagonal(K)[3:] ** t, rtol=1e-12)
    assert not CALLS
    engine.forget()
    kernel.diag(X[[1, 1, 0]])
    assert len(CALLS) == 2
    unremembered = kernels.Semigroup(kernel.divergence, normalized=False, engine=Engine(memo=False))
    assert_allclose(unremembered.diag(X), np.diagonal(K), rtol=1e-12)


def test_a_functional_without_a_finite_value_is_refused_by_the_number_of_the_measure():
    X = Measures.from_samples([[0.0, 1.0], [2.0, 3.0], [2e300]])
    kernel = kernels.Semigroup(divergences.JensenDifference(Spread()), normalized=False)
    assert kernel.diag(X[:2]).shape == (2,)
    with pytest.raises(NumericalError, match="no finite value of h for measure 2"):
        kernel.diag(X[1:])


def test_one_over_a_determinant_is_at_most_one():
    """Of coincident atoms rounding made it 1 + 9e-16."""
    X = Measures.from_samples([[[-0.5, -0.5], [-0.5, -0.5]]] * 2, [[0.3, 1.0], [1.0, 0.7]])
    kernel = kernels.IGV(0.125, ground.Gaussian(gamma=0.5), normalized=False)
    assert (kernel(X) <= 1.0).all()
    assert (kernel.diag(X) <= 1.0).all()
