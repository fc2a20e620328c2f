"""DistanceMatrix, KernelMatrix, DistanceToKernel: in front of everything "precomputed"."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.cluster import DBSCAN, AgglomerativeClustering, SpectralClustering
from sklearn.decomposition import KernelPCA
from sklearn.kernel_ridge import KernelRidge
from sklearn.manifold import MDS, TSNE
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC
from tests.estimators.cases import clouds, euclidean, indefinite, row_numbers

from kermes import DistanceMatrix, DistanceToKernel, KernelMatrix, Measures, definiteness, divergences, ground, pairwise
from kermes.exceptions import IndefiniteKernelWarning

W = divergences.SlicedWasserstein(n_slices=8)
X, Y = clouds(30)
TRAIN, TEST = np.arange(0, 30, 2), np.arange(1, 30, 2)


def kernel(length_scale=1.0):
    return euclidean(length_scale)


def test_distances_to_the_training_measures():
    step = DistanceMatrix(W)
    D = step.fit_transform(X[TRAIN])
    assert_array_equal(D, pairwise(X[TRAIN], divergence=W))
    assert_array_equal(step.transform(X[TEST]), pairwise(X[TEST], X[TRAIN], divergence=W))
    assert_array_equal(step.transform(X[TRAIN]), D)
    assert_array_equal(DistanceMatrix(W, squared=True).fit_transform(X), pairwise(X, divergence=W, squared=True))


def test_kernel_values_against_the_training_measures():
    step = KernelMatrix(kernel())
    K = step.fit_transform(X[TRAIN])
    assert_array_equal(K, kernel()(X[TRAIN]))
    assert_array_equal(step.transform(X[TEST]), kernel()(X[TEST], X[TRAIN]))
    assert_array_equal(KernelMatrix("precomputed").fit(K).transform(K[:3]), K[:3])


@pytest.mark.parametrize("power", [1.0, 2.0])
def test_distances_to_kernel_values(power):
    D = pairwise(X, divergence=W)
    median = np.median(D[D > 0])
    step = DistanceToKernel(power=power, scale=0.5).fit(D)
    assert step.length_scale_ == 0.5 * median
    assert_allclose(step.transform(D[:4]), np.exp(-0.5 * (D[:4] / (0.5 * median)) ** power))
    rational = DistanceToKernel("rational", length_scale=2.0, power=power).fit_transform(D)
    assert_allclose(rational, 1 / (1 + 0.5 * (D / 2) ** power))
    assert_array_equal(DistanceToKernel(np.cos, 2.0, power).fit_transform(D), np.cos((D / 2) ** power))


@pytest.mark.parametrize("profile", ["exponential", "rational"])
def test_both_profiles_are_definite_for_distances_of_negative_type(profile):
    D = pairwise(X, divergence=W)
    for scale in (0.1, 1.0, 10.0):
        K = DistanceToKernel(profile, scale=scale).fit_transform(D)
        assert np.linalg.eigvalsh(K).min() > -1e-12


def direct_and_pipeline(learner, step, to_matrix):
    """Return what the learner says about the test measures by hand, and as the end of a pipeline."""
    y = X.expectation(X.points)[:, 0] if hasattr(learner, "alpha") or "Regressor" in type(learner).__name__ else Y
    by_hand = clone(learner).fit(to_matrix(X[TRAIN], None), y[TRAIN]).predict(to_matrix(X[TEST], X[TRAIN]))
    return by_hand, make_pipeline(step, learner).fit(X[TRAIN], y[TRAIN]).predict(X[TEST])


@pytest.mark.parametrize("learner", [SVC(kernel="precomputed"), KernelRidge(kernel="precomputed", alpha=0.1)])
def test_learners_on_gram_matrices(learner):
    by_hand, piped = direct_and_pipeline(learner, KernelMatrix(kernel()), lambda A, B: kernel()(A, B))
    assert_array_equal(by_hand, piped)
    assert len(np.unique(piped)) > 1


@pytest.mark.parametrize(
    "learner", [KNeighborsClassifier(3, metric="precomputed"), KNeighborsRegressor(3, metric="precomputed")]
)
def test_learners_on_distances(learner):
    by_hand, piped = direct_and_pipeline(learner, DistanceMatrix(W), lambda A, B: pairwise(A, B, divergence=W))
    assert_array_equal(by_hand, piped)
    assert len(np.unique(piped)) > 1


def test_kernel_pca():
    pca = KernelPCA(2, kernel="precomputed")
    piped = make_pipeline(KernelMatrix(kernel()), clone(pca)).fit(X[TRAIN])
    by_hand = pca.fit(kernel()(X[TRAIN]))
    assert_allclose(piped.transform(X[TEST]), by_hand.transform(kernel()(X[TEST], X[TRAIN])))


@pytest.mark.parametrize(
    "learner",
    [
        DBSCAN(eps=0.8, metric="precomputed"),
        AgglomerativeClustering(3, metric="precomputed", linkage="average"),
    ],
)
def test_clusterings_of_distances(learner):
    piped = make_pipeline(DistanceMatrix(W), clone(learner)).fit_predict(X)
    assert_array_equal(piped, learner.fit_predict(pairwise(X, divergence=W)))
    assert len(np.unique(piped)) > 1


def test_spectral_clustering():
    learner = SpectralClustering(3, affinity="precomputed", random_state=0)
    piped = make_pipeline(DistanceMatrix(W), DistanceToKernel(scale=0.3), clone(learner)).fit_predict(X)
    K = DistanceToKernel(scale=0.3).fit_transform(pairwise(X, divergence=W))
    assert_array_equal(piped, learner.fit_predict(K))
    assert len(np.unique(piped)) == 3


@pytest.mark.filterwarnings("ignore::FutureWarning")  # parameters of MDS that scikit-learn is about to rename
@pytest.mark.parametrize(
    "learner",
    [
        TSNE(2, metric="precomputed", init="random", perplexity=5, max_iter=250, random_state=0),
        MDS(2, dissimilarity="precomputed", n_init=1, random_state=0, normalized_stress="auto"),
    ],
)
def test_embeddings(learner):
    piped = make_pipeline(DistanceMatrix(W), clone(learner)).fit_transform(X)
    assert_array_equal(piped, learner.fit_transform(pairwise(X, divergence=W)))
    assert np.isfinite(piped).all()


def test_cross_validation_cuts_measures_and_matrices_alike():
    learner = KNeighborsClassifier(3, metric="precomputed")
    on_measures = cross_val_predict(make_pipeline(DistanceMatrix(W), learner), X, Y, cv=3)
    on_matrix = cross_val_predict(learner, pairwise(X, divergence=W), Y, cv=3)
    assert_array_equal(on_measures, on_matrix)
    svc = make_pipeline(DistanceToKernel(length_scale=1.0), SVC(kernel="precomputed"))
    whole = make_pipeline(DistanceMatrix(W), DistanceToKernel(length_scale=1.0), SVC(kernel="precomputed"))
    assert_array_equal(cross_val_predict(whole, X, Y, cv=3), cross_val_predict(svc, pairwise(X, divergence=W), Y, cv=3))


def test_searches_reach_every_parameter():
    pipeline = make_pipeline(
        DistanceMatrix(divergences.MMD(ground.Gaussian(sigma=1.0))), DistanceToKernel(), SVC(kernel="precomputed")
    )
    grid = {
        "distancematrix__divergence__ground__sigma": [0.3, 3.0],
        "distancetokernel__scale": [0.5, 1.0],
        "svc__C": [0.1, 10.0],
    }
    search = GridSearchCV(pipeline, grid, cv=3).fit(X, Y)
    sigma = search.best_params_["distancematrix__divergence__ground__sigma"]
    assert search.best_estimator_[0].divergence_ == divergences.MMD(ground.Gaussian(sigma=sigma))
    assert pipeline[0].divergence.ground.sigma == 1.0
    assert len(set(search.cv_results_["mean_test_score"])) > 2


def test_names_and_data_frames():
    step = DistanceMatrix(W).fit(X[:4])
    assert list(step.get_feature_names_out()) == [f"distancematrix{i}" for i in range(4)]
    pytest.importorskip("pandas")
    frame = KernelMatrix(kernel()).set_output(transform="pandas").fit_transform(X[:3])
    assert list(frame.columns) == ["kernelmatrix0", "kernelmatrix1", "kernelmatrix2"]
    pipeline = make_pipeline(DistanceMatrix(W), DistanceToKernel()).set_output(transform="pandas")
    frame = pipeline.fit(X[:4]).transform(X[5:7])
    assert list(frame.columns) == [f"distancematrix{i}" for i in range(4)]
    assert frame.shape == (2, 4)


def test_indefinite_gram_matrices_are_reported():
    rows = row_numbers(20)
    with pytest.warns(IndefiniteKernelWarning, match=r"Gram matrix of the 20 training samples is indefinite: eigen"):
        KernelMatrix(indefinite()).fit_transform(rows)
    with pytest.warns(IndefiniteKernelWarning):
        KernelMatrix(indefinite()).fit(rows)
    with pytest.raises(ValueError, match=r"20 training samples is indefinite.*check='ignore' takes it as it is"):
        KernelMatrix(indefinite(), check="raise").fit(rows)
    K = KernelMatrix(indefinite(), check="ignore").fit_transform(rows)
    assert definiteness.spectrum(K).verdict == "indefinite"
    KernelMatrix(indefinite(0.05), check="raise").fit(rows)  # narrow: positive definite


def test_singular_gram_matrices_are_not_indefinite():
    twins = X[np.repeat(np.arange(10), 3)]
    KernelMatrix(indefinite(0.05), check="raise").fit(row_numbers(20)[np.repeat(np.arange(20), 2)])
    KernelMatrix(kernel(), check="raise").fit(twins)


@pytest.mark.parametrize("how", ["clip", "flip", "shift"])
def test_a_repair_in_the_pipeline(how):
    rows, y = row_numbers(20), np.arange(20) % 2
    step = make_pipeline(KernelMatrix(indefinite(), check="ignore"), definiteness.SpectrumRepair(how))
    K = step.fit_transform(rows)
    assert definiteness.spectrum(K).verdict != "indefinite"
    assert_array_equal(step.transform(rows), K)
    model = make_pipeline(step, SVC(kernel="precomputed", C=1e6)).fit(rows, y)
    assert_array_equal(model.predict(rows), y)
    assert np.isfinite(cross_val_score(model, rows, y, cv=4)).all()


def test_hostile_input():
    with pytest.raises(ValueError, match=r"`divergence` must be a divergence such as .*; got 'precomputed'. A matrix"):
        DistanceMatrix("precomputed").fit(X)
    with pytest.raises(ValueError, match="points of dimension 1, the training measures of dimension 2"):
        DistanceMatrix(W).fit(X).transform(Measures.from_samples([[1.0]]))
    with pytest.raises(ValueError, match="JensenShannon"):
        DistanceMatrix(divergences.JensenShannon()).fit(X)
    with pytest.raises(ValueError, match=r"`check` must be one of .*; got 'wran'. Did you mean 'warn'"):
        KernelMatrix(check="wran").fit(X)
    D = pairwise(X, divergence=W)
    with pytest.raises(ValueError, match=r"`profile` must be one of .*; got 'gauss'"):
        DistanceToKernel("gauss").fit(D)
    with pytest.raises(ValueError, match=r"`length_scale` must be a finite number greater than 0; got 0. Or 'median'"):
        DistanceToKernel(length_scale=0).fit(D)
    with pytest.raises(ValueError, match="`D` must be zero on the diagonal"):
        DistanceToKernel().fit(np.exp(-D))
    with pytest.raises(ValueError, match="`D` must be a square array"):
        DistanceToKernel().fit(D[:3])
    with pytest.raises(ValueError, match=r"`D` must hold distances, at least 0; entry \(0, 0\) is -1"):
        DistanceToKernel().fit(D).transform(D - 1)
    with (
        pytest.raises(ValueError, match=r"must return finite numbers of the shape"),
        np.errstate(all="ignore"),
    ):
        DistanceToKernel(np.log).fit_transform(D)
    assert DistanceToKernel().fit(np.zeros((3, 3))).length_scale_ == 1.0
