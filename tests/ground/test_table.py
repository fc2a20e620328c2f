"""Kernel matrices of finite sets: the same as explicit features of the elements under the linear ground."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone

from kermes import Measures, divergences, ground, kernels, pairwise
from kermes.exceptions import InvalidParameterError, UnsuitableDataError

rng = np.random.default_rng(0)
FEATURES = rng.normal(size=(9, 4))
GRAM = FEATURES @ FEATURES.T
HISTOGRAMS = rng.integers(0, 3, size=(7, 9)) + np.eye(7, 9)
ETA = 0.05

#: Divergences by their ground, each the same for equal kernel values.
FAMILIES = {
    "mmd": divergences.MMD,
    "wasserstein": divergences.GaussianWasserstein,
    "kl": lambda k: divergences.GaussianKL(k, reg=0.1),
    "igv": lambda k: divergences.GeneralizedVariance(ETA, k),
}


def on_numbers(histograms=HISTOGRAMS):
    return Measures.from_histograms(histograms, support=np.arange(9))


def as_samples(points):
    """The same measures without a common support: each element as often as it counts."""
    return Measures.from_samples([np.repeat(points, row.astype(int), axis=0) for row in HISTOGRAMS])


@pytest.mark.parametrize("family", FAMILIES)
def test_agrees_with_explicit_features(family):
    make = FAMILIES[family]
    expected = pairwise(as_samples(FEATURES), divergence=make(ground.Linear()))
    for X in (on_numbers(), as_samples(np.arange(9.0))):
        found = pairwise(X, divergence=make(ground.Table(GRAM)))
        assert_allclose(found, expected, rtol=1e-6, atol=1e-6 * expected.max())
    across = pairwise(on_numbers()[:3], as_samples(np.arange(9.0)), divergence=make(ground.Table(GRAM)))
    assert_allclose(across, expected[:3], rtol=1e-6, atol=1e-6 * expected.max())


def test_kernels_are_positive_definite_on_any_set_with_a_kernel():
    """Theorem 7 of "Semigroup kernels on measures": strings of letters under a kernel of shared letters."""
    words = ["a", "ab", "abc", "bcd", "cde", "aab", "xyz", "yz"]
    K = np.array([[sum(min(a.count(c), b.count(c)) for c in set(a)) for b in words] for a in words], dtype=float)
    X = Measures.from_histograms(rng.integers(0, 4, size=(20, 8)) + np.eye(20, 8) + 0.1, support=np.arange(8))
    for kernel in (kernels.IGV(ETA, ground.Table(K)), kernels.IGV(ETA, ground.Table(K), normalized=False)):
        spectrum = np.linalg.eigvalsh(kernel(X))
        assert spectrum[0] > -1e-12 * spectrum[-1]


def test_is_a_value():
    table = ground.Table(GRAM)
    assert clone(table) is table
    assert table == ground.Table(GRAM.copy())
    assert hash(table) == hash(ground.Table(GRAM.tolist()))
    assert table != ground.Table(2 * GRAM)
    assert pickle.loads(pickle.dumps(table)) == table
    assert_allclose(table(np.array([2.0, 0.0]), np.array([5.0])), GRAM[[2, 0]][:, [5]])
    assert_allclose(table.diagonal(np.array([[3.0], [3.0]])), [GRAM[3, 3]] * 2)


@pytest.mark.parametrize(("K", "full"), [(GRAM, False), (GRAM + np.eye(9), True)])
def test_mmd_is_a_metric_if_the_matrix_has_full_rank(K, full):
    assert divergences.MMD(ground.Table(K)).claims(1).metric is full


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.ones((2, 3)), r"square Gram matrix; got shape \(2, 3\)"),
        (np.zeros((0, 0)), "square Gram matrix"),
        ([[1.0, np.nan], [np.nan, 1.0]], r"finite numbers; entry \(0, 1\) is nan"),
        ([[1.0, 0.5], [0.2, 1.0]], r"symmetric; entries \(0, 1\) and \(1, 0\) differ by 0.3"),
        ([[0.0, 1.0], [1.0, 0.0]], r"smallest eigenvalue is -1, its largest 1\. Use definiteness\.repair"),
    ],
)
def test_other_matrices_are_refused(values, message):
    with pytest.raises(InvalidParameterError, match=message):
        ground.Table(values)


def test_rounding_is_no_reason_to_refuse():
    wide = rng.normal(size=(60, 3)) * 1e3
    ground.Table(wide @ wide.T)
    ground.Table(np.zeros((2, 2)))


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (Measures.from_samples([[0.0, 1.5]]), r"numbers 0 to 8; got the point \[1\.5\]"),
        (Measures.from_samples([[0.0, 9.0]]), r"got the point \[9\.0\]"),
        (Measures.from_samples([[-1.0]]), r"got the point \[-1\.0\]"),
        (Measures.from_samples([[[0.0, 1.0]]]), "got points of dimension 2"),
    ],
)
def test_other_points_are_refused(X, message):
    for family in FAMILIES.values():
        with pytest.raises(UnsuitableDataError, match=message):
            pairwise(X, divergence=family(ground.Table(GRAM)))
