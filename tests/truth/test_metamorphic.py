"""Laws that tie distances of one pair to those of another: moved, turned, scaled, split, and in other words."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from tests.strategies import MILD, Pair, pairs
from tests.truth.judge import ENGINE, cases, guarded

from kermes import Measures, divergences, ground, pairwise

W, S, SW = divergences.Wasserstein, divergences.Sinkhorn, divergences.SlicedWasserstein
GAUSSIAN, LAPLACIAN = ground.Gaussian(gamma=0.5), ground.Laplacian(0.75)

#: Divergences, the power of the length they scale with (None: they have a length of their own), how they react to
#: motions, and the relative error at which laws hold. "Fixed" directions or axes do not turn.
DIVERGENCES = {
    "w1": (W(1), 1, "turn", 1e-11),
    "w2": (W(2), 1, "turn", 1e-11),
    "w3": (W(3), 1, "turn", 1e-11),
    "binary": (W(1, ground.Binary(1.5)), 0, "turn", 1e-11),
    "cityblock": (W(1, "cityblock"), 1, "move", 1e-11),
    "sliced": (SW(2, n_slices=7), 1, "move", 1e-11),
    "sinkhorn": (S(0.5, tol=1e-9), None, "turn", 1e-5),
    "debiased": (S(0.5, value="debiased", tol=1e-9), None, "turn", 1e-5),
    "mmd-linear": (divergences.MMD(ground.Linear()), 1, "turn", 1e-9),
    "mmd-gaussian": (divergences.MMD(GAUSSIAN), None, "turn", 1e-7),
    "mmd-laplacian": (divergences.MMD(LAPLACIAN), None, "move", 1e-7),
    "gaussian-wasserstein": (divergences.GaussianWasserstein(), 1, "turn", 1e-6),
    "kernel-wasserstein": (divergences.GaussianWasserstein(GAUSSIAN), None, "turn", 1e-6),
    "kl": (divergences.GaussianKL(reg=0.125), None, "turn", 1e-7),
    "kernel-kl": (divergences.GaussianKL(GAUSSIAN, reg=0.125), None, "turn", 1e-7),
    "variance": (divergences.GeneralizedVariance(0.125), None, "turn", 1e-7),
    "kernel-variance": (divergences.GeneralizedVariance(0.125, GAUSSIAN), None, "turn", 1e-7),
    "bhattacharyya": (divergences.Bhattacharyya(ground.Linear(), 0.125), None, "turn", 1e-7),
    "euclidean": (divergences.Euclidean(), 0, "turn", 1e-12),
    "smoothed": (divergences.JensenShannon(ground.Gaussian(sigma=0.5)), None, "turn", 2e-3),
}
every = pytest.mark.parametrize(("divergence", "homogeneous", "motions", "tol"), DIVERGENCES.values(), ids=DIVERGENCES)
#: Motions change points at the last digit, so their coordinates are tame; other laws take wilder ones.
TAME = {"kinds": ("coarse", "whole"), "weights": ("equal", "plain", "counts"), "company": False}
WILD = {"kinds": MILD, "company": False}


def distance(pair, divergence):
    X, Y = pair.collections()
    value = guarded(lambda: pairwise(X, Y, divergence=divergence, engine=ENGINE)[0, 0])
    return None if isinstance(value, str) else value


def distinct(pair):
    """Return how many points the two measures have together."""
    return len(np.unique(np.concatenate([np.asarray(x, dtype=np.float64) for x in pair.points]), axis=0))


def agree(pair, other, divergence, tol, factor=1.0, size=1.0):
    """Both are refused for their scale, or equal up to ``tol`` of themselves and of the size of what they compare.

    Points that rounding has made one, or two, are another problem: some values jump there.
    """
    if distinct(pair) != distinct(other):
        return
    first, second = distance(pair, divergence), distance(other, divergence)
    if first is not None and second is not None:
        assert_allclose(second, factor * first, rtol=tol, atol=tol * size)


def moved(pair, function):
    return replace(pair, points=tuple(function(np.asarray(x, dtype=np.float64)) for x in pair.points))


@every
@cases(6)
@given(pairs(2, **TAME), st.integers(-64, 64))
def test_translation(divergence, homogeneous, motions, tol, pair, shift):
    agree(pair, moved(pair, lambda x: x + shift / 4), divergence, tol, size=4.0)


@every
@cases(6)
@given(pairs(2, **TAME))
def test_rotation(divergence, homogeneous, motions, tol, pair):
    if motions == "turn":
        agree(pair, moved(pair, lambda x: x @ [[0.6, 0.8], [-0.8, 0.6]]), divergence, tol, size=4.0)
    agree(pair, moved(pair, lambda x: -x), divergence, tol, size=4.0)  # exact


@every
@cases(6)
@given(pairs(2, **TAME), st.integers(-200, 200))
def test_scaling(divergence, homogeneous, motions, tol, pair, exponent):
    if homogeneous is not None:
        factor = 2.0**exponent
        agree(pair, moved(pair, lambda x: factor * x), divergence, tol, factor**homogeneous, 4.0 * factor**homogeneous)


@every
@cases(6)
@given(pairs(2, **WILD), st.integers(0, 2**16))
def test_permuted_split_and_heavier_atoms(divergence, homogeneous, motions, tol, pair, seed):
    order = [np.random.default_rng(seed).permutation(len(w)) for w in pair.weights]
    points = tuple(np.repeat(x[o], 2, axis=0) for x, o in zip(pair.points, order, strict=True))
    weights = tuple(np.repeat(w[o] * 2.0**-3, 2) for w, o in zip(pair.weights, order, strict=True))
    other = Pair(points, weights)
    size = float(max(np.abs(x).max() for x in pair.points))
    # Entropic values of measures equal up to rounding are 0 by definition, those of others are not.
    agree(pair, other, divergence, tol, size=max(size, 1.0) if homogeneous != 0 else 1.0)


@every
@cases(6)
@given(pairs(2, **TAME))
def test_either_order(divergence, homogeneous, motions, tol, pair):
    other = Pair(pair.points[::-1], pair.weights[::-1])
    agree(pair, other, divergence, tol, size=4.0)


@cases(60)
@given(pairs(2, **WILD))
def test_wasserstein_grows_with_its_order(pair):
    values = [distance(pair, W(p)) for p in (1, 1.5, 2, 3, 10)]
    known = [value for value in values if value is not None]
    for lower, higher in itertools.pairwise(known):
        assert lower <= higher * (1 + 1e-11)


@cases(40)
@given(pairs(2, **WILD))
def test_sliced_is_below_exact(pair):
    size = float(max(np.abs(x).max() for x in pair.points))
    for p in (1, 2, 3):
        sliced, whole = distance(pair, SW(p, n_slices=9)), distance(pair, W(p))
        if sliced is not None and whole is not None:
            assert sliced <= whole * (1 + 1e-11) + 1e-14 * size


@cases(60)
@given(pairs(2, kinds=("coarse", "plain", "whole"), company=False))
def test_exact_is_below_the_entropic_transport_value(pair):
    # Weights that agree up to 1e-12 are equal to entropic transport, whose value is then 0; W_2 sees the root of that.
    size = float(np.linalg.norm(np.ptp(np.concatenate(pair.points), axis=0)))
    for cost, p in (("euclidean", 1), ("sqeuclidean", 2)):
        entropic, whole = distance(pair, S(0.5, cost=cost, tol=1e-9)), distance(pair, W(p))
        if entropic is not None and whole is not None:  # weights of 1e-257 are refused
            assert whole <= entropic + 1e-6 * (1 + size)


@cases(40)
@given(pairs(2, **TAME))
def test_gaussians_of_the_moments_are_nearer_than_the_measures(pair):
    # Gelbrich: W_2 of the Gaussians is a lower bound; so is the distance of the means.
    gaussian, means, whole = (
        distance(pair, d) for d in (divergences.GaussianWasserstein(), divergences.MMD(ground.Linear()), W(2))
    )
    assert means <= gaussian + 1e-6
    assert gaussian <= whole + 1e-6


@pytest.mark.parametrize("name", ["w1", "w2", "sliced", "euclidean", "mmd-gaussian", "gaussian-wasserstein", "binary"])
@cases(30)
@given(pairs(2, **TAME), pairs(2, **TAME))
def test_triangle_inequality(name, pair, other):
    divergence = DIVERGENCES[name][0]
    clouds = [*pair.points, *other.points]
    D = pairwise(Measures.from_samples(clouds, [*pair.weights, *other.weights]), divergence=divergence, engine=ENGINE)
    for k in range(len(D)):
        assert (D[:, k][:, None] + D[k][None] + 1e-6 >= D).all()
