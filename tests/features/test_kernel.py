"""KernelFeatures: Propositions of the paper, the out-of-sample formula, honesty about negative eigenvalues."""

import numpy as np
import pytest
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from tests.estimators.cases import clouds, euclidean, indefinite, row_numbers

from kermes import KernelFeatures, Measures
from kermes.exceptions import IndefiniteKernelWarning


def test_inner_products_are_the_gram_matrix_of_a_definite_kernel():
    X, _ = clouds()
    F = KernelFeatures(euclidean(), tol=0.0).fit_transform(X)
    np.testing.assert_allclose(F @ F.T, euclidean()(X), atol=1e-8)


@pytest.mark.filterwarnings("ignore::kermes.exceptions.IndefiniteKernelWarning")
@pytest.mark.parametrize("n_components", [1, 4, None])
def test_inner_products_are_the_truncated_matrix_of_an_indefinite_kernel(n_components):
    X, kernel = row_numbers(20), indefinite()
    features = KernelFeatures(kernel, n_components).fit(X)
    values, vectors = np.linalg.eigh(kernel(X))
    truncated = np.zeros((20, 20))
    for i in range(19, 19 - features.n_components_, -1):
        truncated += values[i] * np.outer(vectors[:, i], vectors[:, i])
    F = features.transform(X)
    np.testing.assert_allclose(F @ F.T, truncated, atol=1e-10)
    assert features.n_components_ == (n_components or np.count_nonzero(values > 1e-6))


def test_new_samples_follow_the_formula():
    X, _ = clouds()
    features = KernelFeatures(euclidean(), n_components=5, n_core=12, random_state=0).fit(X[:18])
    core = X[:18][features.support_]
    values, vectors = np.linalg.eigh(euclidean()(core))
    k = euclidean()(X[18:], core)
    for i in range(5):
        expected = k @ vectors[:, -1 - i] / np.sqrt(values[-1 - i])
        np.testing.assert_allclose(np.abs(features.transform(X[18:])[:, i]), np.abs(expected), atol=1e-10)


def test_core_samples_are_drawn_once_and_seeded():
    X, _ = clouds()
    features = KernelFeatures(euclidean(), n_core=10, random_state=3).fit(X)
    again = KernelFeatures(euclidean(), n_core=10, random_state=3).fit(X)
    assert len(np.unique(features.support_)) == 10
    np.testing.assert_array_equal(features.support_, again.support_)
    assert features.components_.shape[1] == 10


def test_large_negative_mass_is_reported():
    X = row_numbers(20)
    with pytest.warns(IndefiniteKernelWarning, match=r"% of the spectrum of the Gram matrix is negative"):
        features = KernelFeatures(indefinite()).fit(X)
    values = np.linalg.eigvalsh(indefinite()(X))
    np.testing.assert_allclose(features.eigenvalues_, values[::-1], atol=1e-12)
    assert features.negative_mass_ == pytest.approx(-values[values < 0].sum() / np.abs(values).sum())
    assert KernelFeatures(euclidean()).fit(clouds()[0]).negative_mass_ < 1e-12


def test_rounding_is_no_feature():
    """A matrix with large entries has tiny eigenvalues far above ``tol`` that are rounding only."""
    A = 1e6 * np.random.default_rng(0).normal(size=(30, 3))
    assert KernelFeatures("precomputed").fit(A @ A.T).n_components_ == 3


def test_precomputed_equals_the_kernel():
    X, _ = clouds()
    K = euclidean()(X)
    F = KernelFeatures(euclidean(), n_core=9, random_state=0).fit(X[:18]).transform(X[18:])
    G = KernelFeatures("precomputed", n_core=9, random_state=0).fit(K[:18, :18]).transform(K[18:, :18])
    np.testing.assert_allclose(F, G)


def test_names_pandas_and_pipeline():
    X, y = clouds()
    frame = KernelFeatures(euclidean(), n_components=3).set_output(transform="pandas").fit_transform(X)
    assert list(frame.columns) == ["kernelfeatures0", "kernelfeatures1", "kernelfeatures2"]
    pipeline = make_pipeline(KernelFeatures(euclidean()), RidgeClassifier())
    search = GridSearchCV(pipeline, {"kernelfeatures__kernel__length_scale": [0.01, 1.0]}, cv=3).fit(X, y)
    assert search.best_params_ == {"kernelfeatures__kernel__length_scale": 1.0}


def test_reads_every_form_of_measures():
    X, _ = clouds()
    expected = KernelFeatures(euclidean()).fit_transform(X)
    for form in (np.asarray(X), list(X), [x.points for x in X]):
        np.testing.assert_allclose(KernelFeatures(euclidean()).fit(form).transform(form), expected)


def test_default_kernel_has_the_median_distance():
    points = np.array([[0.0], [1.0], [1.0], [3.0]])
    features = KernelFeatures().fit(points)
    assert features.kernel_.length_scale == 2.0  # distinct positive distances: 1, 2, 3
    assert KernelFeatures().fit(np.ones((3, 2))).kernel_.length_scale == 1.0
    assert features.kernel is None


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_components": 25}, r"`n_components` must be at most \d+, the number of eigenvalues above `tol`"),
        ({"n_components": 0}, "`n_components` must be an integer of at least 1"),
        ({"n_core": 25}, "`n_core` must be at most the number of training samples, 24; got 25"),
        ({"n_core": 0}, "`n_core` must be an integer of at least 1"),
        ({"tol": -1.0}, "`tol` must be a finite number of at least 0"),
        ({"tol": 1e9}, "no eigenvalue of the Gram matrix exceeds `tol`"),
        ({"kernel": "rbf"}, "`kernel` must be a kernel on measures such as .*; got 'rbf'"),
        ({"kernel": 3}, "`kernel` must be a kernel on measures such as .*; got 3"),
    ],
)
def test_bad_parameters(parameters, message):
    data = clouds()[0]
    with pytest.raises(ValueError, match=message):
        KernelFeatures(**{"kernel": euclidean(), **parameters}).fit(data)


def test_other_dimension_is_refused():
    X, _ = clouds()
    with pytest.raises(ValueError, match="`X` has points of dimension 1, the training measures of dimension 2"):
        KernelFeatures(euclidean()).fit(X).transform(Measures.from_samples([[0.0]]))
