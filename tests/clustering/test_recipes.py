"""scikit-learn's own clusterings on matrices of kermes, as the guide shows them."""

import numpy as np
import pytest
from sklearn.cluster import DBSCAN, AgglomerativeClustering, SpectralClustering
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import ParameterGrid

from kermes import Measures, definiteness, divergences, ground, kernels, pairwise
from kermes.clustering import HierarchicalClustering, KMedoids, cluster_report

W = divergences.Wasserstein()


@pytest.fixture(scope="module")
def data():
    """Three groups that differ in spread, not in place."""
    rng = np.random.default_rng(0)
    y = np.arange(24) % 3
    base = np.linspace(-1.0, 1.0, 40)
    return Measures.from_samples([(1 + 2 * s) * (base + 0.1 * rng.normal(size=40)) for s in y]), y


@pytest.mark.parametrize("divergence", [W, divergences.GaussianWasserstein(ground.Gaussian(sigma=5.0))], ids=repr)
def test_all_find_the_groups(data, divergence):
    X, y = data
    D = pairwise(X, divergence=divergence)
    median = np.median(D[np.triu_indices_from(D, 1)])
    K = kernels.Exponential(divergence, length_scale=median / 4)(X)
    found = [
        SpectralClustering(3, affinity="precomputed", assign_labels="cluster_qr").fit_predict(K),
        AgglomerativeClustering(3, metric="precomputed", linkage="average").fit_predict(D),
        DBSCAN(eps=median / 2, min_samples=3, metric="precomputed").fit_predict(D),
        HierarchicalClustering(divergence, 3).fit_predict(X),
        KMedoids(divergence, 3).fit_predict(X),
    ]
    assert [round(adjusted_rand_score(y, labels), 12) for labels in found] == [1.0] * 5


def test_spectral_clustering_takes_indefinite_kernels():
    """The Laplacian of non-negative weights is positive semidefinite, whatever the sign of the kernel's spectrum."""
    rng = np.random.default_rng(0)
    D = np.triu(rng.uniform(0.1, 3.0, (20, 20)), 1)
    K = kernels.Exponential(divergences.Precomputed(D + D.T), length_scale=2.0)(np.arange(20)[:, None])
    assert definiteness.spectrum(K).verdict == "indefinite"
    degrees = K.sum(axis=1)
    laplacian = np.eye(20) - K / np.sqrt(np.outer(degrees, degrees))
    assert np.linalg.eigvalsh(laplacian).min() > -1e-12


def test_a_search_over_distances_and_linkages(data):
    X, y = data
    grid = ParameterGrid({"divergence": [W, divergences.SlicedWasserstein()], "linkage": ["average", "ward"]})
    models = [HierarchicalClustering(n_clusters=3).set_params(**parameters).fit(X) for parameters in grid]
    reports = [cluster_report(model.labels_, y, model.distances_) for model in models]
    assert max(report.silhouette for report in reports) > 0.5
    assert all(report.accuracy == 1.0 for report in reports)
