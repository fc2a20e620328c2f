"""Laws that tie distances of one pair to those of another: moved, turned, scaled, split, and in other words."""

import itertools
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from tests.strategies import MILD, SEEDS, Pair, pairs
from tests.truth.judge import CASES, ENGINE, guarded, over

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
TAME = pairs(2, kinds=("coarse", "whole"), weights=("equal", "plain", "counts"), company=False)
WILD = pairs(2, kinds=MILD, company=False)


@cache
def distance(pair, divergence):
    """Return the distance, None if it is refused."""
    X, Y = pair.collections()
    value = guarded(lambda: pairwise(X, Y, divergence=divergence, engine=ENGINE)[0, 0])
    return None if isinstance(value, str) else value


#: Pairs whose measures are compared in one call, each of the first ones with each of the second ones.
TOGETHER = 4


class Group(tuple):
    """Pairs of measures, the object itself as a key."""

    __slots__ = ()
    __eq__, __hash__ = object.__eq__, object.__hash__

    def moved(self, function):
        return Group(
            replace(pair, points=tuple(function(np.asarray(x, dtype=np.float64)) for x in pair.points)) for pair in self
        )

    def distinct(self):
        """Return how many points each of the first measures has together with each of the second ones."""
        first, second = ([set(map(tuple, np.asarray(pair.points[k], dtype=np.float64).tolist())) for pair in self]
                         for k in (0, 1))  # fmt: skip
        return np.array([[len(x | y) for y in second] for x in first])


groups = cache(lambda strategy: st.lists(strategy, min_size=TOGETHER, max_size=TOGETHER).map(Group))


@cache
def distances(group, divergence):
    """Return distances (TOGETHER, TOGETHER); if they are refused, those of the pairs one by one, nan if refused."""
    first, second = (
        Measures.from_samples([pair.points[k] for pair in group], [pair.weights[k] for pair in group]) for k in (0, 1)
    )
    values = guarded(lambda: pairwise(first, second, divergence=divergence, engine=ENGINE))
    if isinstance(values, str):
        values = np.full((TOGETHER, TOGETHER), np.nan)
        np.fill_diagonal(values, [np.nan if (d := distance(pair, divergence)) is None else d for pair in group])
    return values


def agree(group, other, divergence, tol, factor=1.0, size=1.0):
    """Both are refused for their scale, or equal up to ``tol`` of themselves and of the size of what they compare.

    Points that rounding has made one, or two, are another problem: some values jump there.
    """
    first, second = factor * distances(group, divergence) / size, distances(other, divergence) / size
    compared = np.isfinite(first) & np.isfinite(second) & (group.distinct() == other.distinct())
    assert_allclose(second[compared], first[compared], rtol=tol, atol=tol)


@every
@over(groups(TAME), st.integers(-64, 64), number=CASES // TOGETHER)
def test_translation(divergence, homogeneous, motions, tol, group, shift):
    agree(group, group.moved(lambda x: x + shift / 4), divergence, tol, size=4.0)


@every
@over(groups(TAME), number=CASES // TOGETHER)
def test_rotation(divergence, homogeneous, motions, tol, group):
    if motions == "turn":
        agree(group, group.moved(lambda x: x @ [[0.6, 0.8], [-0.8, 0.6]]), divergence, tol, size=4.0)
    agree(group, group.moved(lambda x: -x), divergence, tol, size=4.0)  # exact


@every
@over(groups(TAME), st.integers(-200, 200), number=CASES // TOGETHER)
def test_scaling(divergence, homogeneous, motions, tol, group, exponent):
    if homogeneous is not None:
        factor = 2.0**exponent
        size = 4.0 * factor**homogeneous
        agree(group, group.moved(lambda x: factor * x), divergence, tol, factor**homogeneous, size)


@every
@over(groups(WILD), SEEDS, number=CASES // TOGETHER)
def test_permuted_split_and_heavier_atoms(divergence, homogeneous, motions, tol, group, seed):
    random = np.random.default_rng(seed)
    other = Group(_permuted_split_and_heavier(pair, random) for pair in group)
    sizes = np.array([[float(np.abs(x).max()) for x in pair.points] for pair in group])
    size = np.maximum(np.maximum(sizes[:, :1], sizes[:, 1]), 1.0)
    # Entropic values of measures equal up to rounding are 0 by definition, those of others are not.
    first, second = (distances(g, divergence) / (size if homogeneous != 0 else 1.0) for g in (group, other))
    compared = np.isfinite(first) & np.isfinite(second)
    if isinstance(divergence, (W, SW)):
        # Totals are rounded in another order. As documented, each W_p is that of weights within 4e-15 of themselves:
        # W_p^p moves by four times that of the costs, which are at most four times the largest coordinate.
        first, second, atol = first**divergence.p, second**divergence.p, 2 * 1.6e-14 * 4.0**divergence.p
        assert_allclose(second[compared], first[compared], rtol=divergence.p * tol, atol=atol)
    elif hasattr(divergence, "eta") and isinstance(divergence.ground, ground.Linear):
        # As documented, standard deviations s are off by e = 1e-14 of the largest, and log(1 + s^2) by up to e + e^2.
        e = 1e-14 * size / np.sqrt(divergence.eta)
        error = np.abs(second**2 - first**2)[compared]
        assert (error <= (tol + 2 * (e + e**2) * (1 + first**2))[compared]).all()
    else:
        assert_allclose(second[compared], first[compared], rtol=tol, atol=tol)


def _permuted_split_and_heavier(pair, random):
    order = [random.permutation(len(w)) for w in pair.weights]
    points = tuple(np.repeat(x[o], 2, axis=0) for x, o in zip(pair.points, order, strict=True))
    weights = tuple(np.repeat(w[o] * 2.0**-3, 2) for w, o in zip(pair.weights, order, strict=True))
    return Pair(points, weights)


@every
@over(groups(TAME), number=CASES // TOGETHER)
def test_either_order(divergence, homogeneous, motions, tol, group):
    other = Group(Pair(pair.points[::-1], pair.weights[::-1]) for pair in group)
    first, second = (distances(g, divergence) for g in (group, other))
    compared = np.isfinite(first) & np.isfinite(second.T)
    assert_allclose(second.T[compared], first[compared], rtol=tol, atol=4.0 * tol)


@over(WILD)
def test_wasserstein_grows_with_its_order(pair):
    values = [distance(pair, W(p)) for p in (1, 1.5, 2, 3, 10)]
    known = [value for value in values if value is not None]
    for lower, higher in itertools.pairwise(known):
        assert lower <= higher * (1 + 1e-11)


@over(WILD)
def test_sliced_is_below_exact(pair):
    size = float(max(np.abs(x).max() for x in pair.points))
    for p in (1, 2, 3):
        sliced, whole = distance(pair, SW(p, n_slices=9)), distance(pair, W(p))
        if sliced is not None and whole is not None:
            assert sliced <= whole * (1 + 1e-11) + 1e-14 * size


@over(pairs(2, kinds=("coarse", "plain", "whole"), company=False))
def test_exact_is_below_the_entropic_transport_value(pair):
    # Weights that agree up to 1e-12 are equal to entropic transport, whose value is then 0; W_2 sees the root of that.
    size = float(np.linalg.norm(np.ptp(np.concatenate(pair.points), axis=0)))
    for cost, p in (("euclidean", 1), ("sqeuclidean", 2)):
        entropic, whole = distance(pair, S(0.5, cost=cost, tol=1e-9)), distance(pair, W(p))
        if entropic is not None and whole is not None:  # weights of 1e-257 are refused
            assert whole <= entropic + 1e-6 * (1 + size)


@over(TAME)
def test_gaussians_of_the_moments_are_nearer_than_the_measures(pair):
    # Gelbrich: W_2 of the Gaussians is a lower bound; so is the distance of the means.
    gaussian, means, whole = (
        distance(pair, d) for d in (divergences.GaussianWasserstein(), divergences.MMD(ground.Linear()), W(2))
    )
    assert means <= gaussian + 1e-6
    assert gaussian <= whole + 1e-6


@pytest.mark.parametrize("name", ["w1", "w2", "sliced", "euclidean", "mmd-gaussian", "gaussian-wasserstein", "binary"])
@over(TAME, TAME)
def test_triangle_inequality(name, pair, other):
    divergence = DIVERGENCES[name][0]
    clouds = [*pair.points, *other.points]
    D = pairwise(Measures.from_samples(clouds, [*pair.weights, *other.weights]), divergence=divergence, engine=ENGINE)
    for k in range(len(D)):
        assert (D[:, k][:, None] + D[k][None] + 1e-6 >= D).all()
