"""Features by plans from a reference, against the plans."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.distance import cdist

from kermes import Measures, datasets, divergences, pairwise
from kermes.exceptions import InvalidParameterError
from kermes.features import LinearTransportFeatures, QuantileFeatures


def distances(F):
    return np.linalg.norm(F[:, None] - F[None], axis=-1)


def test_features_are_barycentric_projections(clouds):
    X = clouds(8, 2)
    reference = Measures.from_samples([[[0.0, 0.0], [1.0, 0.3], [0.2, -1.0]]], [[1.0, 2.0, 1.0]])
    F = LinearTransportFeatures(reference).fit_transform(X)
    b = np.array([0.25, 0.5, 0.25])
    for row, measure in zip(F, X, strict=True):
        plan = divergences.Wasserstein().plan(reference[0], measure)
        projected = np.array([sum(plan[j, i] * x for i, x in enumerate(measure.points)) / b[j] for j in range(3)])
        assert_allclose(row.reshape(3, 2), np.sqrt(b)[:, None] * projected, atol=1e-12)


def test_atoms_at_one_point_share_its_mass():
    """Whatever the other measures of a batch are."""
    rng = np.random.default_rng(0)
    atoms = rng.normal(size=(2, 6, 2))
    split = [np.concatenate([cloud, cloud[:2]]) for cloud in atoms]
    halves = np.r_[0.5, 0.5, np.ones(4), 0.5, 0.5]
    reference = Measures.from_samples([atoms[0][[0, 1, 2, 0]]], [[1.0, 2.0, 1.0, 3.0]])
    plain, merged = Measures.from_samples(split, [halves, halves]), Measures.from_samples(list(atoms))
    features = LinearTransportFeatures(reference).fit(plain)
    F = features.transform(plain)
    assert_allclose(F, features.transform(merged), atol=1e-14)
    assert_allclose(F[[1]], features.transform(plain[[1]]), atol=1e-14)
    rows = F.reshape(2, 4, 2) / np.sqrt(reference.probabilities)[:, None]
    assert_allclose(rows[:, 0], rows[:, 3], atol=1e-14)  # both lie at one point, and go to the same


def test_exact_for_translates_and_for_means(clouds):
    X, expected = datasets.make_translates(n=6)
    F = LinearTransportFeatures(n_reference=10, random_state=0).fit_transform(X)
    assert_allclose(distances(F), expected, atol=1e-10)
    Y = clouds(9, 2)
    means = Y.expectation(Y.points)
    assert (distances(LinearTransportFeatures(random_state=0).fit_transform(Y)) >= distances(means) - 1e-12).all()


def test_distance_to_the_reference_is_at_most_transport(clouds):
    X = clouds(10, 2)
    F = LinearTransportFeatures(X[[0]]).fit_transform(X)
    gaps = np.linalg.norm(F - F[0], axis=1)
    assert (gaps <= pairwise(X, X[[0]], divergence=divergences.Wasserstein())[:, 0] + 1e-10).all()


def test_on_the_line_they_are_mean_quantiles(clouds):
    X = clouds(7, 1)
    reference = Measures.from_samples([np.arange(5.0)])
    assert_allclose(
        LinearTransportFeatures(reference).fit_transform(X), QuantileFeatures(5).fit_transform(X), atol=1e-12
    )


def test_the_reference_is_drawn_from_the_mean_measure():
    """Atoms of a measure of large mass count no more; heavy atoms count more; batches change nothing but the draw."""
    X = Measures.from_samples([[0.0, 1.0], [2.0, 3.0]], [[900.0, 100.0], [0.1, 0.9]])
    many = Measures.from_samples([m.points for m in X] * 500, [m.weights for m in X] * 500)
    whole = LinearTransportFeatures(n_reference=400, random_state=0).fit(many)
    streamed = LinearTransportFeatures(n_reference=400, random_state=1)
    for start in range(0, 1000, 100):
        streamed.partial_fit(many[start : start + 100])
    for features in (whole, streamed):
        points, counts = np.unique(features.reference_.points, return_counts=True)
        # 400 of 2000 without replacement: of 500 each, 500 (1 - exp(-0.9 t)) heavy, 500 (1 - exp(-0.1 t)) light.
        assert_allclose(points, [0.0, 1.0, 2.0, 3.0])
        assert_allclose(counts, [177, 23, 23, 177], atol=25)
        assert features.transform(X).shape == (2, 400)


def test_few_atoms_and_seed(clouds):
    X = clouds(4, 2)
    features = LinearTransportFeatures(n_reference=1000, random_state=0).fit(X)
    assert len(features.reference_.points) == len(X.points)
    again = LinearTransportFeatures(n_reference=1000, random_state=0, dtype="float32").fit_transform(X)
    assert_allclose(again, features.transform(X), rtol=6e-8)
    assert again.dtype == np.float32


@pytest.mark.parametrize("reference", [Measures.from_samples([[1.0]]), Measures.from_samples(np.ones((2, 3, 2)))])
def test_a_reference_of_another_kind_is_refused(reference, clouds):
    with pytest.raises(InvalidParameterError, match="`reference` must be one measure on points of dimension 2"):
        LinearTransportFeatures(reference).fit(clouds(3, 2))


def test_translates_on_a_grid_get_the_same_plan():
    """Many plans are optimal there; far translates too."""
    rng = np.random.default_rng(0)
    for seed in range(10):
        cloud, shifts = rng.integers(0, 4, (12, 2)).astype(float), rng.integers(0, 10**7, (4, 2)).astype(float)
        X = Measures.from_samples([cloud + shift for shift in shifts])
        F = LinearTransportFeatures(n_reference=7, random_state=seed).fit_transform(X)
        assert_allclose(cdist(F, F), cdist(shifts, shifts), rtol=1e-12)


@pytest.mark.parametrize("scale", [1e-300, 1e-170, 1e170, 1e290])
def test_features_scale_with_the_points(scale):
    rng = np.random.default_rng(0)
    points = [rng.normal(size=(n, 2)) for n in (5, 8)]
    near, far = (Measures.from_samples([by * x for x in points]) for by in (1.0, scale))
    wanted, found = (LinearTransportFeatures(reference=X[[0]]).fit_transform(X) for X in (near, far))
    assert_allclose(found, scale * wanted, rtol=1e-9, atol=1e-12 * scale)
