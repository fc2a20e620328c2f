"""K-means: the best partition of small data, scikit-learn's on Dirac masses, and its laws."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.cluster import KMeans as PointKMeans

import kermes
from kermes import Measures, datasets, ground, pairwise
from kermes.clustering import KMeans
from kermes.divergences import MMD, Euclidean, GaussianWasserstein, Sinkhorn, SlicedWasserstein, Wasserstein
from kermes.exceptions import (
    ConvergenceWarning,
    DegenerateDataWarning,
    InvalidParameterError,
    UnsuitableDataError,
)
from kermes.inference import barycenter


def groups(n=12, dim=1, seed=0):
    rng = np.random.default_rng(seed)
    return Measures.from_samples([10.0 * (i % 3) + rng.normal(size=(rng.integers(2, 6), dim)) for i in range(n)])


@pytest.mark.parametrize("p", [1, 2])
def test_best_of_all_partitions(p):
    X, divergence = groups(7), Wasserstein(p=p)
    model = KMeans(divergence, n_clusters=2, random_state=0, n_init=5).fit(X)
    sums = []
    for cut in itertools.product([0, 1], repeat=6):
        labels = np.array([0, *cut])
        parts = [X[labels == j] for j in np.unique(labels)]
        centres = [barycenter(part, divergence=divergence) for part in parts]
        costs = [pairwise(a, b, divergence=divergence) ** p for a, b in zip(parts, centres, strict=True)]
        sums.append(sum(cost.sum() for cost in costs))
    assert_allclose(model.inertia_, min(sums), rtol=1e-10)


@pytest.mark.parametrize(
    "divergence",
    [None, Wasserstein(), GaussianWasserstein(), Sinkhorn(0.5, value="debiased"), MMD(ground.Gaussian(sigma=5.0))],
    ids=str,
)
def test_groups_are_found_with_every_divergence(divergence):
    X = groups(9, dim=2)
    model = KMeans(divergence, 3, random_state=1).fit(X)
    assert_array_equal(model.labels_, np.arange(9) % 3)
    assert_array_equal(model.predict(X), model.labels_)
    assert_array_equal(model.fit_predict(X), model.labels_)
    assert len(model.cluster_centers_) == 3
    D = model.transform(X)
    assert D.shape == (9, 3)
    assert_allclose((D.min(axis=1) ** 2).sum(), model.inertia_)
    assert list(model.get_feature_names_out()) == ["kmeans0", "kmeans1", "kmeans2"]


def test_dirac_masses_are_points():
    points = np.random.default_rng(2).normal(size=(60, 3)) + 4.0 * np.eye(3)[np.arange(60) % 3]
    ours = KMeans(Wasserstein(), 3, random_state=0, n_init=4).fit(points)
    theirs = PointKMeans(3, random_state=0, n_init=10).fit(points)
    assert_allclose(ours.inertia_, theirs.inertia_, rtol=1e-6)
    assert_allclose(np.sort(ours.cluster_centers_.points, axis=0), np.sort(theirs.cluster_centers_, axis=0), atol=1e-6)


def test_images_keep_their_grid_and_seeds_decide():
    digits = datasets.load_digits()[:60]
    X = digits.measures()
    first, second = (KMeans(Euclidean(), 4, random_state=3).fit(X) for _ in range(2))
    assert first.cluster_centers_.support.shape == (8, 8)
    assert_array_equal(first.labels_, second.labels_)
    sizes = np.bincount(first.labels_)
    assert (np.diff(sizes) <= 0).all()


def test_saved(tmp_path):
    X = groups(9, dim=2)
    model = KMeans(SlicedWasserstein(n_slices=10), 3, random_state=1, n_atoms=4).fit(X)
    assert (model.cluster_centers_.sizes == 4).all()
    kermes.save(model, tmp_path / "means.kermes")
    assert_array_equal(kermes.load(tmp_path / "means.kermes").predict(X), model.labels_)


def test_equal_measures_leave_clusters_empty():
    X = Measures.from_samples([[0.0], [0.0], [1.0], [0.0]])
    with pytest.warns(DegenerateDataWarning, match="1 of 3 clusters are empty"):
        model = KMeans(Wasserstein(), 3, random_state=0).fit(X)
    assert model.inertia_ == 0
    assert set(model.labels_) == {0, 1}
    with pytest.warns(DegenerateDataWarning, match="empty"):
        KMeans(Wasserstein(), 3, random_state=0).fit(Measures.from_samples([[0.0, 1.0]] * 4))


def test_an_empty_cluster_takes_the_farthest_measure():
    from kermes.clustering._k_means import _filled

    labels, costs = np.array([0, 0, 1, 1]), np.array([[1, 9, 9], [5, 9, 9], [9, 0, 9], [9, 2, 9.0]])
    assert_array_equal(_filled(labels, costs), [0, 2, 1, 1])
    assert_array_equal(_filled(np.array([0, 0]), np.zeros((2, 2))), [0, 0])


def test_bad_parameters():
    X = groups(6)
    with pytest.raises(InvalidParameterError, match="at most the number of measures"):
        KMeans(Wasserstein(), 7).fit(X)
    with pytest.raises(InvalidParameterError, match="`divergence` must be a divergence"):
        KMeans("precomputed", 2).fit(X)
    with pytest.raises(InvalidParameterError, match="KMedoids"):
        KMeans(kermes.divergences.GaussianKL(), 2).fit(X)
    for wrong in ({"n_init": 0}, {"max_iter": 0}, {"tol": -1.0}):
        with pytest.raises(InvalidParameterError, match=next(iter(wrong))):
            KMeans(Wasserstein(), 2, **wrong).fit(X)
    model = KMeans(Wasserstein(), 2, random_state=0).fit(X)
    with pytest.raises(UnsuitableDataError, match="dimension 2"):
        model.predict(groups(3, dim=2))
    with pytest.warns(ConvergenceWarning, match="Increase max_iter"):
        KMeans(Wasserstein(), 4, random_state=0, max_iter=1).fit(groups(40, seed=5).map_points(lambda x: x / 30))


def test_sums_of_squares_that_overflow_are_refused():
    """Each square is a number, and their sum is none."""
    X = Measures.from_samples([np.array([0.0, k]) * 1e153 for k in range(1, 9)] * 10)
    with pytest.raises(UnsuitableDataError, match="powers that are too large or too small for a number"):
        KMeans(Wasserstein(p=2), 2, random_state=0).fit(X)
