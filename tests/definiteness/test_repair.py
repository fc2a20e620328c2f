"""repair and SpectrumRepair: the laws, and the rule for new samples."""

import numpy as np
import pytest
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from kermes import definiteness

HOW = ["clip", "flip", "shift"]


def indefinite(n=12, seed=0):
    A = np.random.default_rng(seed).normal(size=(n, n))
    return (A + A.T) / 2


def semidefinite(n=12, rank=4, seed=0):
    A = np.random.default_rng(seed).normal(size=(n, rank))
    return A @ A.T


def oracle(K, how):
    """Sum the rank-one terms of the repaired spectrum."""
    values, vectors = np.linalg.eigh(K)
    repaired = {"clip": np.maximum(values, 0), "flip": np.abs(values), "shift": values - min(values.min(), 0)}[how]
    total = np.zeros_like(K)
    for value, vector in zip(repaired, vectors.T, strict=True):
        total += value * np.outer(vector, vector)
    return total


@pytest.mark.parametrize("how", HOW)
def test_repaired_matrix_is_semidefinite_and_equals_the_oracle(how):
    K = indefinite()
    repaired = definiteness.repair(K, how)
    assert definiteness.spectrum(repaired).verdict != "indefinite"
    np.testing.assert_array_equal(repaired, repaired.T)
    np.testing.assert_allclose(repaired, oracle(K, how), atol=1e-12)


@pytest.mark.parametrize("how", HOW)
def test_semidefinite_matrix_is_left_alone(how):
    K = semidefinite()
    repaired = definiteness.repair(K, how)
    np.testing.assert_array_equal(repaired, K)
    assert repaired is not K


def test_clip_is_the_nearest_semidefinite_matrix():
    K = indefinite()
    clipped = np.linalg.norm(definiteness.repair(K, "clip") - K)
    for seed in range(20):
        assert np.linalg.norm(semidefinite(rank=12, seed=seed) - K) > clipped
    assert clipped == pytest.approx(np.linalg.norm(np.minimum(np.linalg.eigvalsh(K), 0)))


@pytest.mark.parametrize("how", HOW)
def test_transformer_agrees_with_the_function(how):
    K = indefinite()
    np.testing.assert_allclose(definiteness.SpectrumRepair(how).fit_transform(K), definiteness.repair(K, how))


@pytest.mark.parametrize("how", HOW)
def test_training_rows_transform_to_the_repaired_matrix(how):
    K = indefinite()
    step = definiteness.SpectrumRepair(how)
    repaired = step.fit_transform(K)
    np.testing.assert_array_equal(repaired, definiteness.repair(K, how))
    np.testing.assert_array_equal(step.transform(K), repaired)
    np.testing.assert_array_equal(step.transform(K[[7, 3]]), repaired[[7, 3]])
    assert step.spectrum_.verdict == "indefinite"


@pytest.mark.parametrize("how", ["clip", "flip"])
def test_the_rule_for_new_rows_is_that_of_the_training_rows(how):
    K = indefinite()
    step = definiteness.SpectrumRepair(how).fit(K)
    nearly = step.transform(np.nextafter(K, np.inf))  # no training row any more
    np.testing.assert_allclose(nearly, step.repaired_, atol=1e-12)


@pytest.mark.parametrize("how", HOW)
def test_equal_training_samples(how):
    K = indefinite()[np.ix_([0, 0, 1, 2, 2], [0, 0, 1, 2, 2])]
    step = definiteness.SpectrumRepair(how)
    np.testing.assert_array_equal(step.fit_transform(K), step.transform(K))
    np.testing.assert_array_equal(step.transform(K[[2, 1]]), step.repaired_[[2, 0]])


def test_shift_leaves_new_rows_alone():
    K = indefinite()
    rows = np.random.default_rng(1).normal(size=(3, len(K)))
    transformed = definiteness.SpectrumRepair("shift").fit(K).transform(rows)
    np.testing.assert_array_equal(transformed, rows)
    assert transformed is not rows


def test_new_rows_of_a_semidefinite_matrix_are_left_alone():
    K, rows = semidefinite(), np.random.default_rng(1).normal(size=(3, 12))
    np.testing.assert_array_equal(definiteness.SpectrumRepair("clip").fit(K).transform(rows), rows)


def test_pipeline_is_pairwise():
    rng = np.random.default_rng(0)
    points = np.r_[rng.normal(size=(15, 2)), rng.normal(size=(15, 2)) + 4]
    D = np.abs(points[:, None] - points[None]).max(axis=2)
    pipeline = make_pipeline(definiteness.SpectrumRepair(), SVC(kernel="precomputed"))
    assert cross_val_score(pipeline, np.exp(-(D**2) / 8), np.repeat([0, 1], 15), cv=3).mean() > 0.9


def test_bad_input():
    with pytest.raises(ValueError, match=r"`how` must be one of .*; got 'clap'. Did you mean 'clip'"):
        definiteness.repair(np.eye(2), "clap")
    with pytest.raises(ValueError, match="must be a square Gram matrix"):
        definiteness.SpectrumRepair().fit(np.ones((2, 3)))
    with pytest.raises(ValueError, match="X has 2 features, but SpectrumRepair is expecting 3"):
        definiteness.SpectrumRepair().fit(np.eye(3)).transform(np.eye(2))
