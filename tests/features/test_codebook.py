"""Codebooks: histograms over shared atoms, within the error they state."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import kermes
from kermes import (
    KernelFeatures,
    LSSVMClassifier,
    MapPoints,
    Measures,
    compare,
    datasets,
    divergences,
    kernels,
    pairwise,
)
from kermes.comparison import Candidate
from kermes.exceptions import InvalidParameterError, UnsuitableDataError
from kermes.features import Codebook
from kermes.measures import _quantize

RANDOM = np.random.default_rng(0)
CLOUDS = Measures.from_samples(
    [RANDOM.normal(i % 3, 1.0, (40 + 10 * i, 2)) for i in range(6)],
    [RANDOM.uniform(0.5, 20.0, 40 + 10 * i) for i in range(6)],
)


def plain_transform(codebook, X):
    """The definition, in loops: histograms and errors q_1, q_2."""
    histograms, errors = np.zeros((len(X), len(codebook.atoms_))), np.zeros((len(X), 2))
    for i, measure in enumerate(X):
        for x, w in zip(measure.points, measure.weights, strict=True):
            gaps = [np.sqrt(sum((x - c) ** 2)) for c in codebook.atoms_]
            histograms[i, np.argmin(gaps)] += w
            errors[i] += w / measure.mass * min(gaps) ** np.array([1, 2])
    return histograms, errors[:, 0], np.sqrt(errors[:, 1])


def dense(Q):
    histograms = np.zeros((len(Q), len(Q.support.points)))
    histograms[np.repeat(np.arange(len(Q)), Q.sizes), Q.atoms] = Q.weights
    return histograms


def test_it_is_the_definition(monkeypatch):
    monkeypatch.setattr(_quantize, "BLOCK", 7)
    monkeypatch.setattr("kermes.features._summaries.BATCH", 100)
    codebook = Codebook(12, random_state=0).fit(CLOUDS)
    histograms, q1, q2 = plain_transform(codebook, CLOUDS)
    Q = codebook.transform(CLOUDS)
    assert_allclose(dense(Q), histograms, rtol=1e-13)
    assert_array_equal(Q.support.points, codebook.atoms_)
    assert_allclose(codebook.errors(CLOUDS, p=1), q1, rtol=1e-13)
    assert_allclose(codebook.errors(CLOUDS), q2, rtol=1e-13)
    assert_allclose(Q.masses, CLOUDS.masses)


@settings(max_examples=15, deadline=None)
@given(
    seed=st.integers(0, 1000), dim=st.integers(1, 4), n_atoms=st.integers(1, 20), scale=st.sampled_from([1e-9, 1, 1e9])
)
def test_distances_change_by_no_more_than_the_errors(seed, dim, n_atoms, scale):
    random = np.random.default_rng(seed)
    sizes = random.integers(1, 25, 5)
    X = Measures.from_samples(
        [scale * (random.normal(random.normal(), 1.0, (m, dim)) + 3) for m in sizes],
        [random.exponential(size=m) for m in sizes],
    )
    codebook = Codebook(n_atoms, random_state=seed).fit(X[:3])
    Q = codebook.transform(X)
    for p in (1, 2):
        q = codebook.errors(X, p=p)
        W = divergences.Wasserstein(p=p)
        change = np.abs(pairwise(X, divergence=W) - pairwise(Q, divergence=W))
        np.fill_diagonal(change, 0.0)
        assert (change <= (q[:, None] + q[None]) * (1 + 1e-9) + 1e-12 * scale).all()
        for i in range(len(X)):  # Q is what the bound rests on: no farther than q from the measure
            moved = pairwise(X[[i]], Measures.from_samples([Q[i].points], [Q[i].weights]), divergence=W)
            assert moved <= q[i] * (1 + 1e-9) + 1e-12 * scale


def test_few_distinct_points_are_kept():
    X = datasets.load_digits().measures()[:20]
    codebook = Codebook(64, random_state=0).fit(X)
    Q = codebook.transform(X)
    assert len(codebook.atoms_) <= 64
    assert not codebook.errors(X).any()
    for divergence in (divergences.Wasserstein(), divergences.SlicedWasserstein()):
        assert_allclose(pairwise(Q, divergence=divergence), pairwise(X, divergence=divergence), atol=1e-9)
    one = Measures.from_samples([[[1.0, 2.0]] * 3, [[1.0, 2.0]]])
    assert_array_equal(Codebook(5).fit(one).atoms_, [[1.0, 2.0]])
    assert_array_equal(Codebook(5).fit_transform(one).masses, [3.0, 1.0])


def test_images_are_assigned_by_their_pixels(monkeypatch):
    X = datasets.load_digits().measures()[:30]
    codebook = Codebook(10, random_state=0).fit(X)
    free = Measures.from_samples([m.points for m in X], [m.weights for m in X])
    assert_allclose(dense(codebook.transform(X)), dense(codebook.transform(free)))
    assert_allclose(codebook.errors(X), codebook.errors(free))


def test_every_measure_counts_the_same_and_heavy_atoms_more():
    """Of two atoms for three places, one goes to the place of most probability, however large the masses are."""
    far = Measures.from_samples([[0.0, 10.0], [11.0]], [[1e6, 1e3], [1e-3]])
    atoms = Codebook(2, random_state=0).fit(far).atoms_.ravel()
    assert_allclose(atoms, [0.0, (10.0 * 1e3 / (1e6 + 1e3) + 11.0) / (1e3 / (1e6 + 1e3) + 1.0)])


def test_sums_over_a_sample_are_unbiased():
    points = RANDOM.normal(size=(300, 1))
    weights = RANDOM.pareto(1.0, 300) + 0.01
    sums = []
    for seed in range(400):
        random, sample = np.random.default_rng(seed), _quantize.no_sample(1)
        for part in np.array_split(np.arange(300), 7):
            sample = _quantize.draw(sample, points[part], weights[part], 50, random)
        drawn, w = sample.drawn(50)
        sums.append([len(drawn), w.sum(), w @ drawn[:, 0]])
    sums = np.array(sums)
    assert (sums[:, 0] == 50).all()
    error = 4 * sums.std(axis=0) / np.sqrt(len(sums))
    assert abs(sums[:, 1].mean() - weights.sum()) < error[1]
    assert abs(sums[:, 2].mean() - weights @ points[:, 0]) < error[2]


def test_streams_learn_as_well_as_everything_at_once(monkeypatch):
    monkeypatch.setattr(_quantize, "POINTS_PER_ATOM", 20)
    monkeypatch.setattr("kermes.features._summaries.POINTS_PER_ATOM", 20)
    X = Measures.from_samples([RANDOM.normal(i, 1.0, (200, 2)) for i in range(12)])  # a stream that moves on
    stream = Codebook(16, random_state=0)
    for i in range(0, 12, 2):
        stream.partial_fit(X[i : i + 2])
    assert_array_equal(stream.atoms_, Codebook(16, random_state=0).fit(X).atoms_)
    whole = Codebook(16, random_state=0)
    monkeypatch.setattr("kermes.features._summaries.POINTS_PER_ATOM", 1000)
    best = whole.fit(X).errors(X).mean()
    assert best <= stream.errors(X).mean() < 1.15 * best
    again = pickle.loads(pickle.dumps(stream))
    assert_array_equal(again.partial_fit(X[:1]).atoms_, stream.partial_fit(X[:1]).atoms_)


def test_fits_and_slices_give_equal_bits():
    first, second = (Codebook(9, random_state=3).fit(CLOUDS) for _ in range(2))
    assert_array_equal(first.atoms_, second.atoms_)
    Q = first.transform(CLOUDS)
    assert Q.fingerprint == second.transform(CLOUDS).fingerprint
    for rows in ([4, 1], slice(2, 5), slice(None, None, -1)):
        part = first.transform(CLOUDS[rows])
        assert_array_equal(dense(part), dense(Q)[rows])
        assert_array_equal(first.errors(CLOUDS[rows]), first.errors(CLOUDS)[rows])


def test_names_of_measures_are_kept():
    frame = pytest.importorskip("pandas").DataFrame({"who": list("aabbb"), "x": [0.0, 1.0, 2.0, 3.0, 4.0]})
    X = Measures.from_frame(frame, by="who", columns="x")
    assert list(Codebook(2).fit(X).transform(X[[1, 0]]).keys) == ["b", "a"]


def test_huge_and_tiny_numbers():
    for scale in (1e-300, 1e-150, 1e150, 1e300):
        X = Measures.from_samples([scale * CLOUDS[i].points for i in range(3)])
        codebook = Codebook(5, random_state=0).fit(X)
        plain = Codebook(5, random_state=0).fit(Measures.from_samples([CLOUDS[i].points for i in range(3)]))
        assert_allclose(codebook.atoms_ / scale, plain.atoms_, rtol=1e-9)
        assert_allclose(codebook.errors(X) / scale, plain.errors(CLOUDS[:3]), rtol=0.5)
    far = Measures.from_samples([[[1e200, -1e200]]])
    assert codebook.transform(far).masses == 1.0
    assert np.isfinite(codebook.errors(far)).all()


def test_errors_name_the_rule():
    with pytest.raises(InvalidParameterError, match="`n_atoms` must be an integer of at least 1"):
        Codebook(0).fit(CLOUDS)
    codebook = Codebook(3).fit(CLOUDS)
    with pytest.raises(InvalidParameterError, match="`p` must be a finite number of at least 1"):
        codebook.errors(CLOUDS, p=0.5)
    with pytest.raises(UnsuitableDataError, match="dimension 1, the training measures of dimension 2"):
        codebook.transform(Measures.from_samples([[1.0]]))


def test_a_step_of_pipelines_searches_and_comparisons(tmp_path):
    y = np.arange(30) % 3
    X = Measures.from_samples([np.random.default_rng(i).normal(i % 3, 1.0, (50, 2)) for i in range(30)])
    kernel = kernels.Exponential(divergences.SlicedWasserstein(n_slices=5))
    model = make_pipeline(MapPoints(StandardScaler()), Codebook(8, random_state=0), LSSVMClassifier(kernel))
    search = GridSearchCV(model, {"codebook__n_atoms": [2, 8], "lssvmclassifier__gamma": [1.0, 10.0]}, cv=3).fit(X, y)
    assert search.score(X, y) > 0.9
    kermes.save(search.best_estimator_, tmp_path / "model.kermes")
    assert_array_equal(kermes.load(tmp_path / "model.kermes").predict(X), search.predict(X))
    assert make_pipeline(Codebook(4), KernelFeatures(kernel)).fit_transform(X).shape[0] == 30
    candidates = [
        Candidate("codebook", divergences.SlicedWasserstein(), preprocessing=Codebook(8, random_state=0)),
        Candidate(
            "bins", learner=make_pipeline(Codebook(8, random_state=0), KernelFeatures(kernel), LSSVMClassifier())
        ),
    ]
    assert min(row["mean"] for row in compare(X, y, candidates=candidates, cv=3, random_state=0).table) > 0.8


def test_in_a_pipeline_it_sees_training_measures_only():
    X = Measures.from_samples([[0.0, 1.0, 2.0], [100.0, 101.0]])
    model = make_pipeline(Codebook(3, random_state=0), KernelFeatures()).fit(X[:1])
    model.transform(X[1:])
    assert model[0].atoms_.max() == 2.0
