import sys
from math import exp, log2, sqrt

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from tests.oracles import texture as oracle

from kermes.exceptions import InvalidParameterError, MissingDependencyError, UnsuitableDataError
from kermes.papers.kwd.texture import TEXTURE_FEATURES, cooccurrences, glcm_features, texture_features

# The matrix, and by hand: marginal (9, 5, 2) / 16; differences 0, 1, 2 have (8, 6, 2) / 16; sums 2 to 6 have
# (6, 4, 4, 2, 0) / 16; mean (9 + 2 * 5 + 3 * 2) / 16 = 25 / 16, so sums are (-9, -1, 7, 15) / 8 off their mean 25 / 8.
P = np.array([[6, 2, 1], [2, 2, 1], [1, 1, 0]]) / 16
# Entropies in bits: one entry 6 / 16, three of 2 / 16, four of 1 / 16.
HXY = 6 / 16 * log2(16 / 6) + 3 * 2 / 16 * 3 + 4 * 1 / 16 * 4
HX = 9 / 16 * log2(16 / 9) + 5 / 16 * log2(16 / 5) + 2 / 16 * 3
BY_HAND = {
    "auto-correlation": (6 + 2 * 2 * 2 + 2 * 1 * 3 + 2 * 4 + 2 * 1 * 6) / 16,
    "joint average": 25 / 16,
    "cluster prominence": (6 * 9**4 + 4 * 1 + 4 * 7**4 + 2 * 15**4) / 8**4 / 16,
    "cluster shade": (-6 * 9**3 - 4 * 1 + 4 * 7**3 + 2 * 15**3) / 8**3 / 16,
    "cluster tendency": (6 * 81 + 4 * 1 + 4 * 49 + 2 * 225) / 64 / 16,
    "contrast": (6 * 1 + 2 * 4) / 16,
    "correlation": 15 / 127,  # covariance 40 / 16 - (25 / 16)^2 = 15 / 256, variance 47 / 16 - (25 / 16)^2 = 127 / 256
    "difference entropy": 1 / 2 * 1 + 3 / 8 * log2(8 / 3) + 1 / 8 * 3,
    "dissimilarity": (6 * 1 + 2 * 2) / 16,
    "difference variance": 7 / 8 - (5 / 8) ** 2,
    "joint energy": (36 + 3 * 4 + 4 * 1) / 256,
    "joint entropy": HXY,
    "inverse difference": 8 / 16 + 6 / 16 / 2 + 2 / 16 / 3,
    "inverse difference moment": 8 / 16 + 6 / 16 / 2 + 2 / 16 / 5,
    "first informational correlation": (HXY - 2 * HX) / HX,
    "second informational correlation": sqrt(1 - exp(-2 * (2 * HX - HXY))),
    "inverse difference moment normalized": 8 / 16 + 6 / 16 / (10 / 9) + 2 / 16 / (13 / 9),
    "inverse difference normalized": 8 / 16 + 6 / 16 / (4 / 3) + 2 / 16 / (5 / 3),
    "inverse variance": 6 / 16 / 1 + 2 / 16 / 4,
    "sum average": (6 * 2 + 4 * 3 + 4 * 4 + 2 * 5) / 16,
    "sum entropy": 6 / 16 * log2(16 / 6) + 2 * 4 / 16 * 2 + 2 / 16 * 3,
    "sum variance": (6 * 4 + 4 * 9 + 4 * 16 + 2 * 25) / 16 - (25 / 8) ** 2,
    "haralick correlation": 2752
    / 37,  # (40 / 16 - 1 / 9) / ((81 + 25 + 4) / 256 / 3 - 1 / 9) = (43 / 18) / (37 / 1152)
    "joint maximum": 6 / 16,
    "joint variance": 127 / 256,
}


def named(matrix):
    return dict(zip(TEXTURE_FEATURES, glcm_features(matrix), strict=True))


@pytest.mark.parametrize("name", TEXTURE_FEATURES)
def test_feature_by_hand(name):
    assert named(P)[name] == pytest.approx(BY_HAND[name], rel=1e-13)


def test_names_are_those_of_the_table():
    assert len(TEXTURE_FEATURES) == len(set(TEXTURE_FEATURES)) == 25
    assert set(BY_HAND) == set(TEXTURE_FEATURES)


@pytest.mark.parametrize("levels", [2, 5, 64])
def test_features_are_the_definitions(levels):
    rng = np.random.default_rng(levels)
    counts = rng.poisson(0.7, size=(3, levels, levels)) + np.eye(levels)
    stack = counts + counts.transpose(0, 2, 1)
    stack /= stack.sum(axis=(1, 2), keepdims=True)
    found = glcm_features(stack)
    for row, matrix in zip(found, stack, strict=True):
        expected = oracle.features(matrix)
        assert_allclose(row, [expected[name] for name in TEXTURE_FEATURES], rtol=1e-9, atol=1e-12)
        assert_allclose(glcm_features(matrix), row, rtol=1e-13, atol=1e-13)


def test_one_grey_level_has_no_correlation():
    matrix = np.zeros((4, 4))
    matrix[1, 1] = 1.0
    found = named(matrix)
    zero = ["correlation", "first informational correlation", "second informational correlation", "joint entropy"]
    assert [found[name] for name in zero] == [0.0] * 4
    assert np.isfinite(list(found.values())).all()
    assert found["joint energy"] == found["inverse difference"] == 1.0
    assert np.isfinite(glcm_features([[1.0]])).all()


def test_equally_frequent_levels_have_no_haralick_correlation():
    for levels in (2, 3, 7, 64):
        matrix = np.full((levels, levels), 1 / levels**2)
        assert named(matrix)["haralick correlation"] == 0.0
        assert named(matrix)["second informational correlation"] == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("matrix", [P * 2, P - np.diag([0.0, 0.0, 0.1]), np.triu(P) / np.triu(P).sum(), P * np.nan])
def test_not_a_normalised_matrix(matrix):
    with pytest.raises(InvalidParameterError, match="must be symmetric, without negative entries, and sum to 1"):
        glcm_features(matrix)


def test_not_a_square_matrix():
    with pytest.raises(InvalidParameterError, match="must be square"):
        glcm_features(P[:2])


def test_cooccurrences_are_pairs_of_neighbours():
    rng = np.random.default_rng(0)
    images = rng.integers(0, 50, size=(2, 9, 7)).astype(np.int16)
    for image, matrix in zip(images, cooccurrences(images, levels=6, percentile=20.0), strict=True):
        kept = image > np.percentile(image, 20.0)
        edges = np.linspace(image[kept].min(), image[kept].max(), 7)
        grey = np.where(kept, np.clip(np.digitize(image, edges), 1, 6), 0)
        assert_allclose(matrix, oracle.cooccurrences(grey, 6), atol=1e-14)
        assert_array_equal(matrix, matrix.T)


def test_air_is_left_out():
    image = np.full((1, 8, 8), -1000.0)
    image[0, 2:6, 2:6] = np.arange(16.0).reshape(4, 4)
    body = texture_features(image, levels=4, percentile=5.0)
    image[0, 0, 0] = -1024.0  # below the percentile still
    assert_allclose(texture_features(image, levels=4, percentile=75.0), body)


def test_features_ignore_scale_offset_and_order_of_images():
    images = np.random.default_rng(1).normal(size=(3, 12, 12))
    found = texture_features(images)
    assert found.shape == (3, 25)
    assert_allclose(texture_features(64.0 * images - 128.0), found, rtol=1e-9)
    assert_allclose(texture_features(images[::-1]), found[::-1], rtol=1e-9)
    assert texture_features(images[:0]).shape == (0, 25)


def test_unsuitable_images():
    images = np.zeros((2, 4, 4))
    images[0, :, 2:] = 1.0
    with pytest.raises(UnsuitableDataError, match="image 1 has no two neighbouring pixels"):
        texture_features(images)
    images[1, 0, 0] = np.nan
    with pytest.raises(UnsuitableDataError, match="image 1 has values that are not finite"):
        texture_features(images)
    with pytest.raises(InvalidParameterError, match=r"shape \(n, height, width\)"):
        texture_features(images[0])
    with pytest.raises(InvalidParameterError, match="`levels` must be an integer of at least 2"):
        texture_features(images, levels=1)


def test_needs_scikit_image(monkeypatch):
    monkeypatch.setitem(sys.modules, "skimage.feature", None)
    with pytest.raises(MissingDependencyError, match=r"kermes\[image\]"):
        texture_features(np.eye(4)[None])
