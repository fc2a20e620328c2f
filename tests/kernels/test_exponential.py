import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.svm import SVC

from kermes import Measures, divergences, ground, kernels, pairwise
from kermes.exceptions import InvalidParameterError, NumericalError


def test_formula(clouds):
    X = clouds(5, 1)
    D = pairwise(X, divergence=divergences.Wasserstein())
    assert_allclose(kernels.Exponential(divergences.Wasserstein(), 0.7)(X), np.exp(-(D**2) / (2 * 0.7**2)))
    halved = kernels.Exponential(divergences.Wasserstein(), 0.7, power=1.0)(X)
    assert_allclose(halved, np.exp(-D / (2 * 0.7)))


def test_on_diracs_it_is_the_rbf_kernel():
    from sklearn.gaussian_process.kernels import RBF

    points = np.random.default_rng(0).normal(size=(8, 1))
    assert_allclose(kernels.Exponential(divergences.Wasserstein(), 0.7)(points), RBF(0.7)(points), rtol=1e-12)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"length_scale": 0.0}, "`length_scale` must be a finite number greater than 0; got 0.0"),
        ({"length_scale": -1}, "`length_scale`"),
        ({"power": 3.0}, r"`power` must be a finite number in \(0, 2\]; got 3.0"),
    ],
)
def test_bad_parameters(options, message, clouds):
    with pytest.raises(InvalidParameterError, match=message):
        kernels.Exponential(divergences.Euclidean(), **options)(clouds(3, 2))


def test_a_class_in_place_of_a_divergence_is_explained(clouds):
    with pytest.raises(InvalidParameterError, match="must be a divergence object such as"):
        kernels.Exponential("wasserstein")(clouds(3, 1))


def test_the_class_in_place_of_a_kernel_is_explained(clouds):
    with pytest.raises(InvalidParameterError, match="not the class"):
        SVC(kernel=kernels.Exponential).fit(clouds(4, 1), [0, 0, 1, 1])


def test_gradient_needs_one_collection(clouds):
    X = clouds(3, 1)
    with pytest.raises(ValueError, match="Gradient can only be evaluated when Y is None"):
        kernels.Exponential(divergences.Wasserstein())(X, X, eval_gradient=True)


def test_definiteness_is_unknown_where_nothing_is_proved():
    proved = kernels.Exponential(divergences.Wasserstein(p=1), power=1.0)
    unknown = kernels.Exponential(divergences.Wasserstein(p=1), power=2.0)
    assert proved.is_positive_definite(1) is True
    assert unknown.is_positive_definite(1) is None
    assert kernels.Exponential(divergences.Precomputed(np.zeros((2, 2)))).is_positive_definite(1) is None
    assert "MMD" in repr(kernels.Exponential(divergences.MMD(ground.Linear())))


def test_a_negative_value_has_no_power():
    X = Measures.from_samples([[0.0, 1.0], [0.3, 1.9], [5.0, 6.0]])
    regularized = divergences.Sinkhorn(2.0, cost="euclidean", value="regularized")
    with pytest.raises(NumericalError, match=r"Sinkhorn\(.* is negative, .*, and has no power 1.5"):
        kernels.Exponential(regularized, power=1.5)(X)


@pytest.mark.parametrize(("length_scale", "value"), [(1e160, 1.0), (1e-165, 0.0)])
def test_length_scales_whose_square_is_no_number(length_scale, value):
    kernel = kernels.Exponential(divergences.Wasserstein(), length_scale)
    K, gradient = kernel(Measures.from_samples([[0.0], [1.0]]), eval_gradient=True)
    assert_allclose(K, [[1.0, value], [value, 1.0]])
    assert_allclose(gradient, 0.0, atol=1e-300)


@pytest.mark.parametrize("power", [0.5, 1.0, 1.5, 2.0])
def test_gradients_at_length_scales_that_are_far_too_small(power):
    X = Measures.from_samples([[0.0], [1e10]])
    kernel = kernels.Exponential(divergences.Wasserstein(), 1e-300, power=power, length_scale_bounds=(1e-305, 1.0))
    K, gradient = kernel(X, eval_gradient=True)
    assert_array_equal(K, np.eye(2))
    assert_array_equal(gradient, 0.0)
