"""Dispersion, energy and MMD tests of groups, and pairs of groups."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from scipy.optimize import minimize
from scipy.spatial.distance import cdist
from tests.oracles import inference as oracle

from kermes import Measures, divergences, inference
from kermes.exceptions import DegenerateDataWarning, InvalidParameterError, KermesWarning, UnsuitableDataError
from kermes.inference._dispersion import to_centroids, to_medians
from kermes.inference._linear_model import gower

rng = np.random.default_rng(3)
POINTS = rng.normal(size=(13, 2))
D = cdist(POINTS, POINTS)
ARMS = np.array(list("abcabcaabbccc"))


def test_distances_to_centroids_and_their_analysis_of_variance():
    z = np.zeros(13)
    for arm in "abc":
        own = POINTS[arm == ARMS]
        z[arm == ARMS] = np.linalg.norm(own - own.mean(axis=0), axis=1) * np.sqrt(len(own) / (len(own) - 1))
    found = inference.dispersion(D, ARMS, "precomputed", random_state=0, center="centroid")
    assert_allclose(found.statistic, stats.f_oneway(*(z[arm == ARMS] for arm in "abc")).statistic)
    assert_allclose([found.groups[arm] for arm in "abc"], [z[arm == ARMS].mean() for arm in "abc"])


def test_negative_eigenvalues_are_subtracted():
    """Anderson 2006, eq. 3: squared distances in real coordinates minus those in imaginary ones."""
    T = np.abs(rng.normal(size=(8, 8)))
    T = T + T.T
    np.fill_diagonal(T, 0.0)
    codes = np.array([0, 0, 0, 0, 1, 1, 1, 1])
    G = gower(T**2)
    values, vectors = np.linalg.eigh(G)
    assert values[0] < -0.1
    axes, z = vectors * np.sqrt(np.abs(values)), np.zeros(8)
    for g in (0, 1):
        gaps = (axes[codes == g] - axes[codes == g].mean(axis=0)) ** 2 @ np.sign(values)
        z[codes == g] = np.sqrt(np.maximum(gaps, 0.0) * 4 / 3)
    assert_allclose(to_centroids(G, codes[None])[0][0], z, atol=1e-7)


def of_groups(weights, codes):
    """Weights of rows in the centre of each group, (groups, n)."""
    return np.where(codes == np.arange(codes.max() + 1)[:, None], weights, 0.0)


def test_distances_to_medians():
    """No point has a lower sum of distances, up to a tenth of a percent; outliers do not move it far."""
    far = POINTS.copy()
    far[3] += 1e3  # of the first group
    codes = np.unique(ARMS, return_inverse=True)[1]
    z, weights = to_medians(gower(cdist(far, far) ** 2), codes[None])
    medians = of_groups(weights[0], codes) @ far
    for g, median in enumerate(medians):
        own, factor = far[codes == g], np.sqrt(np.mean(codes == g) * 13 / (np.sum(codes == g) - 1))
        assert_allclose(z[0, codes == g], factor * np.linalg.norm(own - median, axis=1), rtol=1e-5)
        least = minimize(lambda m, own=own: np.linalg.norm(own - m, axis=1).sum(), median, method="Nelder-Mead").fun
        assert least <= np.linalg.norm(own - median, axis=1).sum() < 1.001 * least
    assert np.abs(medians[0]).max() < 5


@pytest.mark.parametrize("tail", [1.0, 3.0])
def test_medians_of_small_groups_and_heavy_tails(tail):
    """Against many steps of Weiszfeld's iteration, by loops; a labelling in a batch is like one alone."""
    codes = np.repeat([0, 1, 2], (2, 4, 7))
    batch = np.array([np.random.default_rng(i).permutation(codes) for i in range(10)])
    points = np.random.default_rng(0).standard_t(tail, size=(13, 3))
    G = gower(cdist(points, points) ** 2)
    z, weights = to_medians(G, batch)
    for scale in (1e-150, 1e150):
        assert_allclose(to_medians(G * scale, batch)[0], z * np.sqrt(scale), atol=1e-10 * np.sqrt(scale))
    for b, labels in enumerate(batch):
        assert_allclose(to_medians(G, labels[None])[0][0], z[b], atol=1e-10)
        for g, median in enumerate(of_groups(weights[b], labels) @ points):
            own = points[labels == g]
            best = own.mean(axis=0)
            for _ in range(300):
                near = 1.0 / np.sqrt(((own - best) ** 2).sum(axis=1) + 1e-12)
                best = near @ own / near.sum()
            total, least = (np.linalg.norm(own - center, axis=1).sum() for center in (median, best))
            assert total <= 1.001 * least
            expected = np.linalg.norm(own - median, axis=1) * np.sqrt(len(own) / (len(own) - 1))
            assert_allclose(z[b, labels == g], expected, atol=1e-6)


def test_no_search_of_a_median_ends_at_once():
    """On the line, where the median is known: a mixed step that stays where it is is not the end of the search."""
    points = np.random.default_rng(5).standard_t(1.5, size=(300, 6, 1))
    for own in points:
        z, _ = to_medians(gower(cdist(own, own) ** 2), np.zeros((1, 6), dtype=np.intp))
        least = np.abs(own - np.median(own)).sum()
        assert z.sum() / np.sqrt(6 / 5) < 1.001 * least


def test_medians_that_are_members_are_exact():
    """Where most members coincide, and where a triangle is wide; of two halves apart none is."""
    clump = np.zeros((9, 2))
    clump[6:] = [[1.0, 0.0], [0.3, 2.0], [-4.0, 1.0]]
    wide = np.array([[0.0, 0.0], [5.0, 1.0], [-5.0, 1.0]])
    for own, median in ((clump, 0), (wide, 0)):
        z, weights = to_medians(gower(cdist(own, own) ** 2), np.zeros((1, len(own)), dtype=np.intp))
        expected = np.linalg.norm(own - own[median], axis=1) * np.sqrt(len(own) / (len(own) - 1))
        assert_allclose(z[0], expected, atol=1e-14)
        assert (z[0, (own == own[median]).all(axis=1)] == 0.0).all()
        assert_array_equal(weights[0] @ own, own[median])
    halves = np.repeat([[0.0], [1.0]], 4, axis=0)
    assert_allclose(to_medians(gower(cdist(halves, halves) ** 2), np.zeros((1, 8), dtype=np.intp))[0], np.sqrt(2 / 7))


def test_equal_measures_say_nothing_of_spread():
    """One of twenty measures differs: every arrangement of labels has the same statistic."""
    X = Measures.from_samples([[0.0, 1.0, 2.0]] * 19 + [[0.0, 1.0, 3.0]])
    arms = np.repeat(["a", "b"], 10)
    found = inference.dispersion(X, arms, divergences.Wasserstein(2), n_permutations=199, random_state=0)
    assert (found.statistic, found.p_value) == (pytest.approx(1.0), 1.0)
    for options in ({"center": "centroid"}, {"blocks": np.tile([0, 1], 10)}):
        with pytest.warns(KermesWarning, match="19 of 20 measures are equal.* Use center='median', without blocks"):
            inference.dispersion(X, arms, n_permutations=9, **options)


def test_spread_in_blocks_is_scaled_by_leverages_alone():
    draw, block, group = np.random.default_rng(5), np.repeat([0, 1], 4), np.array([0, 0, 1, 1, 0, 1, 1, 1])
    P = draw.normal(size=(8, 3)) * (1 + group[:, None]) + 3 * block[:, None]
    found = inference.dispersion(
        cdist(P, P), group, "precomputed", blocks=block, center="centroid", n_permutations=9, random_state=0
    )
    M = np.column_stack([np.eye(2)[block], group])
    beta, leverage = np.linalg.lstsq(M, P, rcond=None)[0], np.diag(M @ np.linalg.pinv(M))
    rest = (P - M @ beta) / np.sqrt(1 - leverage)[:, None] + np.eye(2)[block] @ beta[:2]
    z = np.linalg.norm(rest - rest.mean(axis=0), axis=1)
    assert_allclose(list(found.groups.values()), [z[group == k].mean() for k in (0, 1)])


def test_two_different_measures_say_little_of_spread():
    """Half of both groups is 0, half 1: z is constant in each, and differs by the factor for small groups alone."""
    values, arms = np.array([0, 0, 1, 1] + [0] * 5 + [1] * 5), np.repeat(["a", "b"], [4, 10])
    D = np.abs(values[:, None] - values).astype(float)
    for center in ("median", "centroid"):
        with pytest.warns(KermesWarning) as caught:
            found = inference.dispersion(D, arms, "precomputed", n_permutations=99, random_state=0, center=center)
        assert np.isinf(found.statistic)
        messages = " ".join(str(warning.message) for warning in caught)
        assert "only two different measures" in messages
        assert "do not vary within groups, so that F is infinite" in messages


def test_medians_of_distances_that_are_not_euclidean_and_of_equal_rows():
    T = np.abs(rng.normal(size=(20, 20)))
    T = np.triu(T, 1) + np.triu(T, 1).T
    codes = np.arange(20)[None] % 2
    for G in (gower(T**2), gower(np.zeros((20, 20))), gower(1.0 - np.eye(20))):
        z, weights = to_medians(G, codes)
        assert np.isfinite(z).all()
        assert_allclose(of_groups(weights[0], codes[0]).sum(axis=1), 1.0)
    assert_allclose(z, z[0, 0])  # all distances are equal


def test_dispersion_permutes_deviations_from_medians():
    labels = np.repeat([0, 1], (3, 4))
    found = inference.dispersion(D[:7, :7], labels, "precomputed", keep_distribution=True)
    z, weights = to_medians(gower(D[:7, :7] ** 2), labels[None])
    assert_allclose(found.statistic, stats.f_oneway(z[0, :3], z[0, 3:]).statistic)
    factor = np.sqrt([1.5] * 3 + [4 / 3] * 4)[:, None]
    moved = (POINTS[:7] - (of_groups(weights[0], labels) @ POINTS[:7])[labels]) * factor
    G = gower(cdist(moved, moved) ** 2)
    others = []
    for new in oracle.distinct_labelings(labels.tolist(), [0] * 7):
        distances = to_medians(G, np.array([new]))[0][0]
        others.append(stats.f_oneway(distances[np.equal(new, 0)], distances[np.equal(new, 1)]).statistic)
    assert len(others) == 35
    assert_allclose(np.sort(found.distribution), np.sort(np.delete(others, 0)), rtol=1e-6)


def test_dispersion_permutes_deviations_as_vectors():
    """Every labelling of the deviations: centroids found anew, by loops."""
    labels = list("aaabbbb")
    Y = POINTS[:7].copy()

    def spread(Y, labels):
        z = np.zeros(7)
        for which in "ab":
            own = np.equal(labels, which)
            z[own] = np.linalg.norm(Y[own] - Y[own].mean(axis=0), axis=1) * np.sqrt(own.sum() / (own.sum() - 1))
        return stats.f_oneway(*(z[np.equal(labels, which)] for which in "ab")).statistic

    deviations = Y.copy()
    for which in "ab":
        own = np.equal(labels, which)
        deviations[own] = (Y[own] - Y[own].mean(axis=0)) * np.sqrt(own.sum() / (own.sum() - 1))
    observed = spread(Y, labels)
    others = [spread(deviations, new) for new in oracle.distinct_labelings(labels, [0] * 7) if list(new) != labels]
    found = inference.dispersion(cdist(Y, Y), labels, "precomputed", center="centroid", keep_distribution=True)
    assert_allclose(found.statistic, observed)
    assert_allclose(np.sort(found.distribution), np.sort(others), rtol=1e-7)
    assert_allclose(found.p_value, (1 + np.sum(np.array(others) >= observed)) / 35)


def test_dispersion_sees_spread_and_not_location():
    labels = np.repeat([0, 1], 20)
    rng = np.random.default_rng(3)
    near = rng.normal(size=(40, 2)) + 10.0 * labels[:, None]
    wide = rng.normal(size=(40, 2)) * (1 + 3.0 * labels[:, None])
    assert inference.dispersion(cdist(near, near), labels, "precomputed", random_state=0).p_value > 0.05
    assert inference.dispersion(cdist(wide, wide), labels, "precomputed", random_state=0).p_value < 0.001
    assert inference.permanova(cdist(near, near), labels, "precomputed", random_state=0).p_value < 0.001


def test_dispersion_in_blocks_by_least_squares_and_all_labellings():
    """Effects of groups and blocks by least squares in coordinates; every labelling within blocks, by loops."""
    blocks, labels = np.array([0, 0, 0, 0, 0, 1, 1, 1, 1]), np.array([0, 1, 1, 1, 1, 0, 0, 0, 1])
    Y = POINTS[:9] + 5.0 * blocks[:, None]
    of_blocks = np.equal.outer(blocks, [0, 1]).astype(float)

    def less_groups(Y, labels, permuted=False):
        design = np.column_stack([of_blocks, labels - np.mean(labels)])
        fit = np.linalg.lstsq(design, Y, rcond=None)[0]
        left = 1.0 - np.diag(design @ np.linalg.pinv(design))
        kept = of_blocks @ np.linalg.lstsq(of_blocks, left, rcond=None)[0] if permuted else 1.0  # means of blocks
        return of_blocks @ fit[:2] + (Y - design @ fit) * np.sqrt(kept / left)[:, None]

    def spread(Y, labels):
        z = np.linalg.norm(Y - Y.mean(axis=0), axis=1) * np.sqrt(9 / 8)
        short, whole = (
            z - M @ np.linalg.lstsq(M, z, rcond=None)[0] for M in (of_blocks, np.column_stack([of_blocks, labels]))
        )
        return (short @ short - whole @ whole) / (whole @ whole / 6)

    moved = less_groups(Y, labels, permuted=True)
    others = [
        spread(less_groups(moved, new), new) for new in oracle.distinct_labelings(labels.tolist(), blocks.tolist())
    ]
    given = {"blocks": blocks, "center": "centroid", "keep_distribution": True}
    found = inference.dispersion(cdist(Y, Y), labels, "precomputed", **given)
    assert_allclose(found.statistic, spread(less_groups(Y, labels), labels))
    assert len(others) == 20
    again = spread(less_groups(moved, labels), labels)  # the labels as they are, which the test does not count twice
    others.remove(min(others, key=lambda value: abs(value - again)))
    assert_allclose(np.sort(found.distribution), np.sort(others), rtol=1e-7)


def test_labels_of_pairs_and_their_reverse_give_the_observed_spread():
    """Residuals that are fitted and scaled twice are those of the first time: the least p-value is 2 / 2^n."""
    blocks, labels = np.repeat(np.arange(4), 2), np.tile([0, 1], 4)
    Y = POINTS[:8] + 5.0 * blocks[:, None]
    found = inference.dispersion(cdist(Y, Y), labels, "precomputed", blocks=blocks, keep_distribution=True)
    assert len(found.distribution) == 15
    assert np.sum(np.isclose(found.distribution, found.statistic, rtol=1e-9)) == 1  # the reverse; labels count apart


def test_blocks_that_lie_apart_are_no_spread():
    """Groups with unequal shares of the blocks: 28 % of true null hypotheses were rejected at level 10 %."""
    blocks = np.repeat([0, 1, 2], (6, 6, 5))
    labels = np.array([0, 1, 1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 0, 1, 0, 1, 0])
    p = []
    for seed in range(150):
        Y = np.random.default_rng(seed).normal(size=(17, 2)) + 3.0 * blocks[:, None]
        given = {"blocks": blocks, "n_permutations": 39, "random_state": seed}
        p.append(inference.dispersion(cdist(Y, Y), labels, "precomputed", **given).p_value)
    assert np.mean(np.array(p) <= 0.1) <= 0.1 + 3 * np.sqrt(0.09 / 150)


def test_dispersion_in_blocks_sees_spread():
    blocks, labels = np.repeat(np.arange(12), 2), np.tile([0, 1], 12)
    donors, rest = np.split(np.random.default_rng(0).normal(size=(36, 2)), [12])
    Y = donors[blocks] * (1 + labels[:, None]) + 0.3 * rest
    found = inference.dispersion(cdist(Y, Y), labels, "precomputed", blocks=blocks, n_permutations=999, random_state=0)
    assert found.p_value < 0.01


def test_energy_statistic_and_its_exhaustive_p_value():
    labels = list("aabbbab")
    found = inference.k_sample(D[:7, :7], labels, "precomputed")

    def statistic(labels):
        a, b = ([i for i in range(7) if labels[i] == which] for which in "ab")
        return oracle.energy(D, a, b)

    assert_allclose(found.statistic, statistic(labels))
    assert found.exhaustive
    assert_allclose(found.p_value, oracle.exhaustive_p(statistic, labels, [0] * 7))


def test_mmd_statistic():
    """Half the energy statistic of kernel distances 2 - 2 k; three groups are the sum over pairs, weighted by n."""
    labels = list("aabbbab")
    found = inference.k_sample(D[:7, :7], labels, "precomputed", statistic="mmd", length_scale=0.7)
    kernel = np.exp(-(D**2) / (2 * 0.7**2))
    assert_allclose(found.statistic, oracle.energy(1 - kernel, [0, 1, 5], [2, 3, 4, 6]))
    three = inference.k_sample(D, ARMS, "precomputed", n_permutations=9)
    sums = 0.0
    for a, b in (("a", "b"), ("a", "c"), ("b", "c")):
        x, y = np.flatnonzero(a == ARMS), np.flatnonzero(b == ARMS)
        sums += oracle.energy(D, x, y) * (len(x) + len(y)) / 13
    assert_allclose(three.statistic, sums)
    median = inference.k_sample(D, ARMS, "precomputed", statistic="mmd", n_permutations=9)
    given = inference.k_sample(D, ARMS, "precomputed", statistic="mmd", n_permutations=9,
                               length_scale=np.median(D[D > 0]))  # fmt: skip
    assert median.statistic == given.statistic
    with pytest.warns(DegenerateDataWarning):  # all atoms are equally far
        assert inference.k_sample(D, ARMS, "precomputed", statistic="mmd", length_scale=1e-200).p_value == 1.0


def test_exponent_two_is_permanova():
    energy = inference.k_sample(D, ARMS, "precomputed", exponent=2.0, random_state=0, keep_distribution=True)
    anova = inference.permanova(D, ARMS, "precomputed", random_state=0, keep_distribution=True)
    assert_allclose([energy.effect_size, energy.p_value], [anova.effect_size, anova.p_value])
    assert len(energy.distribution) == len(anova.distribution) == 9999
    assert_allclose(np.mean(energy.distribution >= energy.statistic), np.mean(anova.distribution >= anova.statistic))


def test_energy_sees_what_permanova_does_not():
    """Groups with one centre and one spread: two clusters against a ring."""
    labels, rng = np.repeat([0, 1], 30), np.random.default_rng(3)  # of its own: whatever runs before
    angle = np.where(labels == 0, rng.choice([0.0, np.pi], 60), rng.uniform(0, 2 * np.pi, 60))
    Y = np.column_stack([np.cos(angle), np.sin(angle)])
    assert inference.k_sample(cdist(Y, Y), labels, "precomputed", random_state=0).p_value < 0.01


@pytest.mark.parametrize("run", [inference.dispersion, inference.k_sample])
def test_one_factor_only(run):
    with pytest.raises(InvalidParameterError, match="`groups` must be one factor; got a, b"):
        run(D, {"a": ARMS, "b": ARMS}, "precomputed")
    with pytest.raises(UnsuitableDataError, match="group z of groups has 1"):
        run(D, ["z", *ARMS[1:]], "precomputed")


def test_bad_statistics():
    with pytest.raises(InvalidParameterError, match="`length_scale` has no meaning"):
        inference.k_sample(D, ARMS, "precomputed", length_scale=1.0)
    with pytest.raises(InvalidParameterError, match="`statistic` must be one of 'energy', 'mmd'"):
        inference.k_sample(D, ARMS, "precomputed", statistic="hsic")
    with pytest.raises(InvalidParameterError, match=r"`exponent` must be a finite number in \(0, 2\]"):
        inference.k_sample(D, ARMS, "precomputed", exponent=3.0)


def test_holm_by_hand():
    assert_allclose(inference.holm([0.04, 0.01, 0.03, 0.5]), [0.09, 0.04, 0.09, 0.5])
    assert_allclose(inference.holm([0.6, 0.7]), [1.0, 1.0])
    assert inference.holm([]).shape == (0,)
    for wrong in ([0.1, np.nan], [-0.1], 0.1, [[[0.1]]], ["a"], [0.1, None], [[0.1, 0.2], [0.3]]):
        with pytest.raises(InvalidParameterError, match="numbers from 0 to 1"):
            inference.holm(wrong)


def test_holm_counts_a_row_for_as_long_as_any_of_it_is_left():
    raw = np.array([[0.30, 0.07], [0.34, 0.76], [0.02, 0.03]])
    assert_allclose(inference.holm(raw), [[0.60, 0.14], [0.60, 0.76], [0.06, 0.09]])
    assert_array_equal(inference.holm(raw[:, :1])[:, 0], inference.holm(raw[:, 0]))
    assert_array_equal(inference.holm(raw[:1]), raw[:1])  # a row holds together
    assert inference.holm(np.ones((3, 0))).shape == (3, 0)


def test_holm_of_rows_with_true_and_false_hypotheses():
    """Each of four groups differs in one coordinate; the others are noise, the same in all coordinates of a group."""
    rng, rejected = np.random.default_rng(0), 0
    for _ in range(4000):
        p = np.repeat(rng.random((4, 1)), 5, axis=1)
        p[:, 0] = 0.001
        rejected += (inference.holm(p)[:, 1:] <= 0.05).any()
    assert rejected <= 0.055 * 4000  # 0.098 where a row that was rejected along one coordinate no longer counts


@pytest.mark.parametrize("test", ["permanova", "dispersion", "k_sample"])
def test_pairs_are_tests_of_their_own(test):
    found = inference.pairwise_tests(D, ARMS, "precomputed", test=test)
    assert found.pairs == (("a", "b"), ("a", "c"), ("b", "c"))
    for (a, b), result in zip(found.pairs, found.tests, strict=True):
        rows = np.flatnonzero((a == ARMS) | (b == ARMS))
        alone = getattr(inference, test)(D[np.ix_(rows, rows)], ARMS[rows], "precomputed")
        assert (alone.statistic, alone.p_value) == (result.statistic, result.p_value)
    assert_allclose(found.p_values, inference.holm([t.p_value for t in found.tests]))
    assert "a - b: statistic" in repr(found)


def test_pairs_with_blocks_and_units():
    blocks = np.where(ARMS == "c", "y", "x")
    with pytest.warns(DegenerateDataWarning, match="never meet in a block"):
        found = inference.pairwise_tests(D, ARMS, "precomputed", blocks)
    assert found.tests[0].p_value < 1.0
    assert found.p_values[1:] == (1.0, 1.0)
    twice = np.repeat(np.arange(13), 2)
    doubled = inference.pairwise_tests(D[np.ix_(twice, twice)], ARMS[twice], "precomputed", units=twice)
    single = inference.pairwise_tests(D, ARMS, "precomputed")
    assert_allclose(doubled.p_values, single.p_values)
    with pytest.raises(UnsuitableDataError, match="at least two groups"):
        inference.pairwise_tests(D, ["a"] * 13, "precomputed")


@pytest.mark.parametrize("scale", [1e-300, 1e-170, 1e170, 1e298])
def test_powers_that_are_no_numbers_are_refused(scale):
    """The p-value would be right, the statistic 0 or infinite."""
    D = scale * np.abs(np.subtract.outer(np.arange(6.0), np.arange(6.0)))
    with pytest.raises(UnsuitableDataError, match="to the power 2 overflow or underflow"):
        inference.k_sample(D, [0, 0, 0, 1, 1, 1], "precomputed", exponent=2.0)
    assert inference.k_sample(D, [0, 0, 0, 1, 1, 1], "precomputed", exponent=1.0).statistic > 0.0


def test_units_of_fewer_measures_in_one_group_are_warned_of():
    """Their centroids scatter more: 12 % of true null hypotheses were rejected at 5 %."""
    groups = np.repeat(["a", "b"], 6)
    units = np.repeat(np.arange(12), np.where(groups == "a", 1, 5))
    points = np.random.default_rng(0).normal(size=(len(units), 3))
    D = cdist(points, points)
    with pytest.warns(KermesWarning, match=r"units of a have 1 measures in the harmonic mean, those of b 5\."):
        inference.dispersion(D, groups[units], "precomputed", units=units, n_permutations=19, random_state=0)
    even = np.repeat(np.arange(12), 3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        inference.dispersion(D[:36, :36], groups[even], "precomputed", units=even, n_permutations=19, random_state=0)


@pytest.mark.parametrize(
    ("test", "name"),
    [(inference.permanova, "PERMANOVA"), (inference.k_sample, "energy test"), (inference.dispersion, "dispersion")],
)
def test_all_tests_of_groups_warn_once_of_units_of_fewer_measures(test, name):
    """Of 8 donors with 1 measure and 24 with 5, 13 to 18 % of true null hypotheses were rejected at 5 %."""
    groups = np.repeat(["a", "b"], [4, 8])
    units = np.repeat(np.arange(12), np.where(groups == "a", 1, 5))
    points = np.random.default_rng(0).normal(size=(len(units), 3))
    given = {"units": units, "n_permutations": 19, "random_state": 0}
    with pytest.warns(
        KermesWarning, match=f"^{name}: units of a have 1 measures in the harm.* of b 5.*equally"
    ) as said:
        test(cdist(points, points), groups[units], "precomputed", **given)
    assert len(said) == 1
    assert said[0].filename == __file__
    test(cdist(points, points), groups[units], "precomputed", n_permutations=19)  # measures, not units: no warning


def test_each_of_several_factors_is_looked_at_for_units_of_fewer_measures():
    arm, sex = np.tile(["x", "y"], 6), np.repeat(["f", "m"], 6)
    units = np.repeat(np.arange(12), np.where(sex == "f", 2, 4))
    points = np.random.default_rng(0).normal(size=(len(units), 3))
    table = {"arm": arm[units], "sex": sex[units]}
    with pytest.warns(KermesWarning, match=r"PERMANOVA: units of f have 2 .* those of m 4\.") as said:
        inference.permanova(cdist(points, points), table, "precomputed", units=units, n_permutations=19)
    assert len(said) == 1


@pytest.mark.parametrize(
    ("counts", "warned"),
    [
        ([1, 1, 1, 4, 4, 4, 4, 4, 4, 1, 1, 1], True),  # 11 to 19 % rejected at 5 %
        ([4, 4, 4, 1, 1, 1, 1, 1, 1, 4, 4, 4], False),  # too few are rejected
        ([1, 1, 1, 1, 1, 1, 4, 4, 4, 4, 4, 4], False),  # one end alone: 5 %
        ([3] * 12, False),
    ],
)
def test_a_trend_warns_where_units_of_extreme_values_have_fewer_measures(counts, warned):
    """The scatter of units with their leverages as weights is what a line finds; permuted units have the plain mean."""
    units = np.repeat(np.arange(12), counts)
    points = np.random.default_rng(0).normal(size=(len(units), 3))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        inference.trend(cdist(points, points), 10.0 * units, "precomputed", units=units, n_permutations=19)
    assert len(said) == warned
    assert all("trend: units whose values are far from the mean have 1.1" in str(w.message) for w in said)


def test_units_of_energy_tests_are_centroids_in_the_space_of_the_power():
    """Their distances are means less half the means within, of d^alpha; only alpha = 2 has those of PERMANOVA."""
    units, groups = np.repeat(np.arange(6), 2), np.repeat([0, 1], 6)
    points = np.random.default_rng(0).normal(size=(12, 2))
    d = cdist(points, points)
    means = d.reshape(6, 2, 6, 2).mean(axis=(1, 3))
    inner = np.diagonal(means)
    delta = means - 0.5 * (inner[:, None] + inner)
    energy = 2 * delta[:3, 3:].mean() - delta[:3, :3].mean() - delta[3:, 3:].mean()
    found = inference.k_sample(d, groups, "precomputed", units=units, n_permutations=9)
    assert_allclose(found.statistic, 9 / 6 * energy)
