"""Where two groups differ: plain loops, the null hypothesis, and bad input."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import pdist

from kermes import Measures, divergences, ground, pairwise
from kermes.exceptions import DegenerateDataWarning, InvalidParameterError, KermesWarning, UnsuitableDataError
from kermes.inference import barycenter
from kermes.inspection import difference
from kermes.inspection._difference import _median_gap


def histograms(n=20, bins=6, shift=0, seed=0):
    H = np.random.default_rng(seed).poisson(30, size=(n, bins))
    H[n // 2 :, 2] += shift
    return Measures.from_histograms(H, np.arange(float(bins))), np.repeat(["a", "b"], n // 2)


def test_scores_and_p_values_by_plain_loops():
    """All 20 arrangements of 3 + 3 labels; the largest ratio of each gives p-values."""
    X, y = histograms(6, shift=15)
    H = np.array([m.weights / m.mass for m in X])
    found = difference(X, y)
    assert_allclose(found.scores, H[3:].mean(axis=0) - H[:3].mean(axis=0))
    sd = H.std(axis=0, ddof=1) * np.sqrt(2 / 3)
    largest = []
    for group in itertools.combinations(range(6), 3):
        inside = np.isin(np.arange(6), group)
        largest.append((np.abs(H[inside].mean(axis=0) - H[~inside].mean(axis=0)) / sd).max())
    wanted = [(np.array(largest) >= ratio - 1e-9).mean() for ratio in np.abs(found.scores) / sd]
    assert found.n_permutations == 19
    assert_allclose(found.p_values, wanted)
    assert_allclose(found.bands, np.sort(largest)[18] * sd)


def test_noise_is_not_sold_as_a_finding():
    """In at most about 5 % of studies without a difference anything leaves its band."""
    wrong = 0
    for seed in range(100):
        X, y = histograms(seed=seed)
        found = difference(X, y, n_permutations=99, random_state=seed)
        wrong += bool(found.significant.any())
        assert found.significant.any() == (found.p_value <= 0.05)
    assert wrong <= 11  # 99.5 % of binomial (100, 0.05)


def test_a_shifted_bin_and_its_repr():
    X, y = histograms(shift=25)
    found = difference(X, y, random_state=0)
    assert int(found.scores.argmax()) == 2
    assert found.significant[2]
    assert found.p_value == found.p_values[2] <= 0.005
    assert repr(found).startswith("Difference(b minus a: ")


def test_images_and_smoothing():
    images = np.random.default_rng(1).uniform(size=(16, 5, 4))
    images[8:, 1, 1] += 2.0
    X = Measures.from_images(images)
    plain = difference(X, np.arange(16) >= 8, random_state=0)
    assert plain.shape == (5, 4)
    assert int(plain.scores.argmax()) == 5
    kernel = ground.Gaussian(sigma=1.0)
    smooth = difference(X, np.arange(16) >= 8, ground=kernel, random_state=0)
    assert_allclose(smooth.scores, kernel.table(X.support.points) @ plain.scores, atol=1e-12)


def test_the_witness_function_is_that_of_mmd():
    """Its mean under the second mixture minus that under the first is the squared MMD between the mixtures."""
    rng = np.random.default_rng(2)
    X = Measures.from_samples([rng.normal(size=(5, 2)) + (i >= 6) for i in range(12)])
    kernel = ground.Gaussian(sigma=1.0)
    found = difference(X, np.arange(12) >= 6, ground=kernel, random_state=0)
    assert_array_equal(found.points, X.points)
    first, second = (barycenter(part, divergence=divergences.MMD(kernel)) for part in (X[:6], X[6:]))
    squared = pairwise(first, second, divergence=divergences.MMD(kernel), squared=True)[0, 0]
    assert_allclose(found.scores[30:].mean() - found.scores[:30].mean(), squared)
    default = difference(X, np.arange(12) >= 6, n_points=17, random_state=0)
    assert len(default.points) == 17
    assert default.ground.sigma > 0


def test_coordinates_are_distances_of_barycentres():
    rng = np.random.default_rng(3)
    X = Measures.from_samples([rng.normal(size=(20, 3)) * ([1, 1, 3] if i >= 8 else 1) for i in range(16)])
    part = difference(X, np.arange(16) >= 8, random_state=0).coordinates
    for j in range(3):
        marginals = X.map_points(lambda points, j=j: points[:, [j]])
        means = [barycenter(Z, divergence=divergences.Wasserstein()) for Z in (marginals[:8], marginals[8:])]
        assert_allclose(part.scores[j], pairwise(*means, divergence=divergences.Wasserstein())[0, 0])
    assert part.p_values[2] <= 0.01 < part.p_values[:2].min()
    assert_array_equal(part.scores > part.bands, [False, False, True])
    assert_allclose(part.shifts, np.diff(X.expectation(X.points).reshape(2, 8, 3).mean(axis=1), axis=0)[0])


def test_blocks_and_seeds():
    X, y = histograms(shift=10)
    blocks = np.tile(np.arange(5), 4)
    first, second = (difference(X, y, blocks=blocks, random_state=5) for _ in range(2))
    assert_array_equal(first.p_values, second.p_values)
    with pytest.raises(UnsuitableDataError, match="blocks leave no permutation"):
        difference(X, y, blocks=y)


def test_units_count_once():
    """Measures of a unit on a shared support are their mean: each unit's mean histogram gives the same."""
    rng = np.random.default_rng(4)
    H = rng.dirichlet(np.ones(6), size=24)
    units = np.repeat(rng.permutation(12), rng.permuted(np.repeat([1, 3], 6)))
    y = units % 2
    X = Measures.from_histograms(H, np.arange(6.0))
    found = difference(X, y, units=units, blocks=units // 4, n_permutations=99, random_state=0)
    means = np.stack([H[units == unit].mean(axis=0) for unit in range(12)])
    averaged = Measures.from_histograms(means, np.arange(6.0))
    expected = difference(averaged, np.arange(12) % 2, blocks=np.arange(12) // 4, n_permutations=99, random_state=0)
    for name in ("scores", "bands", "p_values"):
        assert_allclose(getattr(found, name), getattr(expected, name), atol=1e-12)
    assert_allclose(found.coordinates.shifts, expected.coordinates.shifts, atol=1e-12)
    assert found.p_value != difference(X, y, n_permutations=99, random_state=0).p_value
    with pytest.raises(UnsuitableDataError, match="`y` must be the same for all measures of a unit"):
        difference(X, np.arange(24) % 2, units=units // 6)
    with pytest.raises(UnsuitableDataError, match="each group needs two units or more; group 0 has one"):
        difference(X, units % 2, units=np.where(y, units, 0))


def test_equal_measures_and_bad_input():
    X, y = histograms()
    same = Measures.from_histograms(np.ones((6, 3)), np.arange(3.0))
    with pytest.warns(DegenerateDataWarning, match="all measures are equal"):
        found = difference(same, [0, 0, 0, 1, 1, 1])
    assert_array_equal(found.p_values, 1.0)
    assert_array_equal(found.scores, 0.0)
    with pytest.raises(UnsuitableDataError, match="two groups; got 1"):
        difference(X, np.zeros(20))
    with pytest.raises(UnsuitableDataError, match="two groups; got 20"):
        difference(X, np.arange(20))
    with pytest.raises(UnsuitableDataError, match="group True has one"):
        difference(X, np.arange(20) == 3)
    for wrong in ({"level": 1.0}, {"n_permutations": 0}, {"n_points": 0}, {"random_state": "x"}):
        with pytest.raises(InvalidParameterError, match=next(iter(wrong))):
            difference(X, y, **wrong)


CLOUDS = [np.random.default_rng(5).normal(size=(8, 2)) + (i >= 6) for i in range(12)]
GROUPS = np.arange(12) >= 6


@pytest.mark.parametrize("scale", [1e-170, 1e-150, 1e-100, 1e100, 1e149, 1e170])
def test_scores_at_any_scale(scale):
    """Scores scale with the kernel and the coordinates; p-values stay; what has no square is refused."""
    X, far = (Measures.from_samples([factor * x for x in CLOUDS]) for factor in (1.0, scale))
    for kernel, factor, low in ((None, 1.0, 1e-150), (ground.Linear(), scale**2 if scale < 1e150 else 0.0, 1e-150)):
        if not low <= scale <= 1e150:
            with pytest.raises(UnsuitableDataError, match="Scale the points"):
                difference(far, GROUPS, ground=kernel, n_permutations=19, random_state=0)
            continue
        wanted, found = (difference(Z, GROUPS, ground=kernel, n_permutations=19, random_state=0) for Z in (X, far))
        assert_allclose(found.scores, factor * wanted.scores, rtol=1e-9)
        assert_allclose(found.bands, factor * wanted.bands, rtol=1e-9)
        assert_array_equal(found.p_values, wanted.p_values)


def test_the_kernel_is_as_wide_as_most_distances_beside_an_outlier():
    rng = np.random.default_rng(0)
    x = np.concatenate([[[1e20, 0.0]], rng.normal(size=(30, 2))])
    widths = [_median_gap(np.roll(x, k, axis=0)) for k in (0, 7)]  # gaps to the first point lost those of the others
    assert_allclose(widths, np.median(pdist(x)), rtol=1e-12)
    assert _median_gap(np.full((3, 2), 1e200)) == 1.0


def test_coordinates_in_units_of_their_own():
    units = np.array([1.0, 1e-170])
    X, other = (Measures.from_samples([x * by for x in CLOUDS]) for by in (np.ones(2), units))
    wanted, found = (difference(Z, GROUPS, n_permutations=99, random_state=0).coordinates for Z in (X, other))
    assert_allclose(found.scores / units, wanted.scores)
    assert_allclose(found.shifts / units, wanted.shifts)
    assert_allclose(found.bands / units, wanted.bands)
    assert_array_equal(found.p_values, wanted.p_values)
    beside = Measures.from_samples([np.column_stack([np.ones(8), 1e-170 * x[:, 1]]) for x in CLOUDS])
    with pytest.raises(UnsuitableDataError, match="median distance between points of `X` is"):
        difference(beside, GROUPS, n_permutations=19)


def test_blocks_by_least_squares_and_all_arrangements():
    """Scores are coefficients of the group beside effects of blocks; bands are of their arrangements within blocks."""
    rng = np.random.default_rng(2)
    blocks, y = np.repeat([0, 1, 2], [4, 3, 1]), np.array([0, 1, 1, 1, 0, 0, 1, 1])
    H = 50.0 + 100.0 * blocks[:, None] * (np.arange(4) == 0) + rng.normal(size=(8, 4))
    H[y == 1, 1] += 5.0
    X = Measures.from_histograms(H, np.arange(4.0))
    f = H / H.sum(axis=1, keepdims=True)
    effects = blocks[:, None] == np.arange(3)

    def scores(labels):
        return np.linalg.lstsq(np.column_stack([labels, effects]), f, rcond=None)[0][0]

    arranged = [
        np.array([*first, *second, 1])
        for first in sorted(set(itertools.permutations(y[:4])))
        for second in sorted(set(itertools.permutations(y[4:7])))
    ]
    everything = np.array([scores(labels) for labels in arranged])
    sd = everything.std(axis=0)
    largest = (np.abs(everything) / sd).max(axis=1)
    found = difference(X, y, blocks=blocks)
    assert found.n_permutations == len(arranged) - 1 == 11
    assert_allclose(found.scores, scores(y), atol=1e-15)
    assert_allclose(found.p_values, [(largest >= ratio - 1e-9).mean() for ratio in np.abs(found.scores) / sd])
    assert_allclose(found.bands, np.sort(largest)[int(np.ceil(0.95 * 12)) - 1] * sd)


def test_differences_between_blocks_do_not_hide_those_of_groups():
    rng = np.random.default_rng(0)
    site, y = np.repeat([0, 1], 20), np.tile([0, 1], 20)
    H = np.full((40, 4), 100.0) + rng.normal(size=(40, 4))
    H[:, 0] += 60 * site + 3 * y
    found = difference(Measures.from_histograms(H, np.arange(4.0)), y, blocks=site, random_state=0)
    assert found.p_values[0] == 0.001
    clouds = Measures.from_samples(
        list(rng.normal(0, 0.1, (40, 20, 2)) + np.c_[100.0 * site + 0.2 * y, 0 * y][:, None])
    )
    assert difference(clouds, y, blocks=site, random_state=0).coordinates.p_values[0] == 0.001


def test_units_of_fewer_measures_in_one_group_are_warned_of():
    """Of 8 donors with 1 measure and 24 with 5, 14 to 19 % of true null hypotheses were rejected at 5 %."""
    labels = np.repeat([0, 1], 4)
    units = np.repeat(np.arange(8), np.where(labels == 0, 1, 5))
    X = Measures.from_samples(np.random.default_rng(0).normal(size=(len(units), 6)))
    with pytest.warns(KermesWarning, match=r"^difference: units of 0 have 1 measures in the .* those of 1 5\.") as said:
        difference(X, labels[units], units=units, n_permutations=9, random_state=0)
    assert len(said) == 1
    assert said[0].filename == __file__


def test_a_ground_that_sees_nothing_is_named():
    """Not the measures are equal: at a spread of 1e-9 all values of the kernel are 1."""
    rng = np.random.default_rng(0)
    X = Measures.from_samples([(rng.normal(size=(3, 2)) + 2 * (i >= 4)) * 1e-9 for i in range(8)])
    with pytest.warns(DegenerateDataWarning, match=r"Gaussian\(.*\) sees no difference .* the coordinates differ"):
        found = difference(X, np.arange(8) >= 4, ground=ground.Gaussian(sigma=1.0), random_state=0)
    assert found.p_value == 1.0
    assert found.coordinates.p_values.max() < 0.05
