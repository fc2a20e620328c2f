import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.distance import jensenshannon
from sklearn.gaussian_process import GaussianProcessRegressor
from tests.oracles import shannon

from kermes import Measures, divergences, ground, kernels
from kermes.exceptions import InvalidParameterError, UnsuitableDataError


@pytest.fixture(scope="module")
def histograms():
    rng = np.random.default_rng(0)
    H = rng.random((30, 12)) * (rng.random((30, 12)) < 0.5) + np.eye(30, 12)
    H[:, 0] += 0.01
    return H, Measures.from_histograms(H, np.arange(12))


@pytest.mark.parametrize("t", [1e-3, 1e-1, 1.0, 10.0, 1e3])
def test_infinitely_divisible(histograms, t):
    """Positive definite for every t, with values between 2^-t and 1."""
    H, X = histograms
    K = kernels.Entropy(t=t)(X)
    assert np.linalg.eigvalsh(K).min() > -1e-12
    assert K.max() <= 1.0
    assert K.min() >= 2.0**-t * (1 - 1e-12)
    assert_allclose(K[0, 1:], [np.exp(-t * jensenshannon(H[0], h) ** 2) for h in H[1:]], rtol=1e-10)
    assert kernels.Entropy(t=t).is_positive_definite(1)


def test_not_normalised_is_the_entropy_of_the_mean(histograms):
    H, X = histograms
    P = H / H.sum(axis=1, keepdims=True)
    kernel = kernels.Entropy(t=0.7, normalized=False)
    expected = [[np.exp(-0.7 * shannon.entropy((p + q) / 2)) for q in P[:4]] for p in P[:6]]
    assert_allclose(kernel(X[:6], X[:4]), expected, rtol=1e-12)
    assert_allclose(kernel.diag(X), np.diagonal(kernel(X)), rtol=1e-12)


def test_is_the_semigroup_kernel_of_jensen_shannon(histograms):
    smoothing = ground.Gaussian(sigma=2.0)
    X = histograms[1][:8]
    K = kernels.Semigroup(divergences.JensenShannon(smoothing), t=3.0)(X)
    assert_allclose(kernels.Entropy(3.0, smoothing=smoothing)(X), K, rtol=1e-15)


def test_a_gaussian_process_tunes_t(histograms):
    H, X = histograms
    model = GaussianProcessRegressor(kernels.Entropy(t=1.0), alpha=1e-4).fit(X, H[:, 1] / H.sum(axis=1))
    assert model.kernel_.t != 1.0
    assert np.isfinite(model.log_marginal_likelihood_value_)


def test_errors():
    X = Measures.from_samples([[0.5], [0.25]])
    with pytest.raises(InvalidParameterError, match="`t` must be"):
        kernels.Entropy(t=-1.0, smoothing=ground.Gaussian(sigma=1.0))(X)
    with pytest.raises(UnsuitableDataError, match="smoothing="):
        kernels.Entropy()(X)
    with pytest.raises(InvalidParameterError, match="`smoothing`"):
        kernels.Entropy(smoothing=0.5)(X)
