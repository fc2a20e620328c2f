"""PERMANOVA and the trend test against loops over their formulas, and what they refuse."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.distance import cdist
from tests.oracles import inference as oracle

from kermes import Measures, divergences, inference, pairwise
from kermes.exceptions import DegenerateDataWarning, InvalidParameterError, KermesWarning, UnsuitableDataError

rng = np.random.default_rng(7)
POINTS = rng.normal(size=(12, 3))
D = cdist(POINTS, POINTS)
TABLE = 0.5 * np.abs(rng.normal(size=(12, 12)))  # no metric: the Gower matrix has negative eigenvalues
TABLE = TABLE + TABLE.T
np.fill_diagonal(TABLE, 0.0)
ARMS = np.array(list("abcabcaabbcc"))


@pytest.mark.parametrize("distances", [D, TABLE, 1e180 * D, 1e-180 * D], ids=["points", "table", "huge", "tiny"])
def test_statistic_and_share_are_those_of_the_sums_of_squares(distances):
    found = inference.permanova(distances, ARMS, "precomputed", n_permutations=9)
    F, share = oracle.pseudo_f(distances / distances.max(), list(ARMS))
    assert_allclose([found.statistic, found.effect_size], [F, share], rtol=1e-9)
    assert found.df == (2, 9)


@pytest.mark.parametrize("distances", [D[:7, :7], TABLE[:7, :7]], ids=["points", "table"])
@pytest.mark.parametrize("blocks", [None, [0, 0, 1, 1, 0, 1, 1]], ids=["free", "blocks"])
def test_all_permutations_when_they_are_few(distances, blocks):
    labels = list("aabbbab") if blocks else list("aabbbbb")
    found = inference.permanova(distances, labels, "precomputed", blocks, keep_distribution=True)
    inside = [0] * 7 if blocks is None else blocks

    def statistic(labels):
        if blocks is None:
            return oracle.pseudo_f(distances, labels)[0]
        # with blocks removed: the sum of squares of the group beside the means of the blocks
        G = -0.5 * distances**2
        B = np.column_stack([np.equal(blocks, 0), np.equal(blocks, 1)]).astype(float)
        A = np.column_stack([B, np.equal(labels, "a")])
        explained = [np.trace(M @ np.linalg.pinv(M) @ G) for M in (B, A)]
        return explained[1] - explained[0]

    assert found.exhaustive
    assert found.n_permutations == len(list(oracle.distinct_labelings(labels, inside))) - 1 == len(found.distribution)
    assert_allclose(found.p_value, oracle.exhaustive_p(statistic, labels, inside))


def test_random_permutations_estimate_the_exhaustive_p_value():
    D9 = D[:9, :9]
    labels = list("aaaabbbbb")
    exact = inference.permanova(D9, labels, "precomputed").p_value
    drawn = inference.permanova(D9, labels, "precomputed", n_permutations=120, random_state=1)
    assert not drawn.exhaustive
    assert drawn.n_permutations == 120
    assert abs(drawn.p_value - exact) < 4 * np.sqrt(exact * (1 - exact) / 120)
    many = [
        inference.permanova(D9, labels, "precomputed", n_permutations=125, random_state=s).p_value for s in range(40)
    ]
    assert abs(np.mean(many) - exact) < 4 * np.sqrt(exact * (1 - exact) / 125 / 40) + 1 / 126


def test_order_and_names_do_not_matter():
    found = inference.permanova(D[:8, :8], list("aabbabab"), "precomputed")
    order = np.array([3, 1, 7, 0, 2, 6, 5, 4])
    moved = inference.permanova(D[np.ix_(order, order)], np.array(list("aabbabab"))[order], "precomputed")
    named = inference.permanova(D[:8, :8], np.equal(list("aabbabab"), "a"), "precomputed")
    for other in (moved, named):
        assert_allclose([other.statistic, other.effect_size], [found.statistic, found.effect_size], rtol=1e-12)
        assert other.p_value == found.p_value


def test_seeds():
    once, again, other = (inference.permanova(D, ARMS, "precomputed", n_permutations=99, random_state=s,
                                              keep_distribution=True) for s in (0, 0, 1))  # fmt: skip
    assert np.array_equal(once.distribution, again.distribution)
    assert not np.array_equal(once.distribution, other.distribution)
    state, generator = np.random.RandomState(0), np.random.default_rng(0)
    for seed in (state, generator):
        first, second = (inference.permanova(D, ARMS, "precomputed", n_permutations=99, random_state=seed,
                                             keep_distribution=True).distribution for _ in range(2))  # fmt: skip
        assert not np.array_equal(first, second)
    with pytest.raises(InvalidParameterError, match="`random_state` must be None, an integer"):
        inference.permanova(D, ARMS, "precomputed", random_state="x")


def test_measures_are_read_and_their_distances_remembered():
    X = Measures.from_samples([rng.normal(i % 2, 1, size=(5, 2)) for i in range(8)])
    labels = [i % 2 for i in range(8)]
    found = inference.permanova(X, labels)
    table = pairwise(X, divergence=divergences.SlicedWasserstein())
    assert found.statistic == inference.permanova(table, labels, "precomputed").statistic
    with pytest.raises(InvalidParameterError, match="got Measures"):
        inference.permanova(X, labels, "precomputed")
    with pytest.raises(InvalidParameterError, match="`divergence` must be a divergence such as"):
        inference.permanova(X, labels, "sliced")


@pytest.mark.parametrize("sums", ["marginal", "sequential"])
def test_several_factors_are_those_of_multivariate_regression(sums):
    site, age = np.array(list("xyxyxxyyxyxx")), rng.normal(size=12)
    found = inference.permanova(D, {"arm": ARMS, "site": site}, "precomputed", covariates={"age": age}, sums=sums,
                                n_permutations=19, random_state=0)  # fmt: skip
    arms = np.equal.outer(ARMS, ["a", "b"]).astype(float)
    sites = np.equal.outer(site, ["x"]).astype(float)
    assert_allclose(found.statistic, oracle.regression_f(POINTS, np.column_stack([arms, sites]), [age]))
    by_arm, by_site = found.terms
    assert (by_arm.name, by_arm.df, by_site.name, by_site.df) == ("arm", 2, "site", 1)
    assert_allclose(by_site.statistic, oracle.regression_f(POINTS, sites, [age, arms]))
    if sums == "marginal":
        assert_allclose(by_arm.statistic, oracle.regression_f(POINTS, arms, [age, sites]))
    else:  # in the model of what comes before; shares of factors one after the other add up to that of all
        assert_allclose(by_arm.statistic, oracle.regression_f(POINTS, arms, [age]))
        assert_allclose(by_arm.effect_size + by_site.effect_size, found.effect_size)
    assert "arm: F(2) = " in repr(found)


def test_sequential_terms_hold_their_level_beside_later_ones_that_matter():
    """A later factor in the observed residuals alone, not in the permuted ones: 27 % were rejected at 5 %."""
    p, small = [], np.random.default_rng(1)
    for seed in range(120):
        later = small.integers(0, 2, 30)
        Y = small.normal(size=(30, 2)) + 3.0 * later[:, None]
        factors = {"first": np.repeat([0, 1], 15), "later": later}
        found = inference.permanova(cdist(Y, Y), factors, "precomputed", sums="sequential", n_permutations=99,
                                    random_state=seed)  # fmt: skip
        p.append(found.terms[0].p_value)
    assert np.mean(np.array(p) <= 0.05) < 0.1
    assert np.mean(np.array(p) <= 0.5) > 0.3


def test_a_covariate_takes_its_share():
    age = np.linspace(-1, 1, 40)
    arm = (age + 0.3 * rng.normal(size=40) > 0).astype(int)  # older people got the drug
    Y = np.column_stack([5 * age, rng.normal(size=40)])
    T = cdist(Y, Y)
    assert inference.permanova(T, arm, "precomputed", random_state=0, n_permutations=499).p_value < 0.01
    assert inference.permanova(T, arm, "precomputed", covariates=age, random_state=0, n_permutations=499).p_value > 0.05


def test_freedman_lane_permutes_residuals():
    """The permuted F are those of regressions of permuted residuals, done one by one."""
    from kermes.inference._linear_model import basis, gower, permutation_test
    from kermes.inference._permutations import Permutations

    age, arm = rng.normal(size=(12, 1)), np.equal.outer(ARMS, ["a", "b"]).astype(float)
    one = np.ones((12, 1)) / np.sqrt(12)
    before = np.column_stack([one, basis(age, one)])
    permutations = Permutations(np.arange(12), np.zeros(12, int), 5, np.random.default_rng(0))
    found = permutation_test(gower(D**2), before, basis(arm, before), permutations)
    residuals = POINTS - before @ before.T @ POINTS
    (rows,) = Permutations(np.arange(12), np.zeros(12, int), 5, np.random.default_rng(0)).batches(10)
    loops = [oracle.regression_f(residuals, arm[row], [age[row]]) for row in rows]
    assert_allclose(found.distribution, loops)


def test_units_are_compared_by_their_centroids():
    """Three measures of each donor: F is that of the means of donors, and donors are counted."""
    donor = np.repeat(np.arange(8), [1, 2, 3, 3, 2, 4, 1, 2])
    arm = np.array(list("aabbabab"))[donor]
    Y = rng.normal(size=(8, 2))[donor] + 0.1 * rng.normal(size=(len(donor), 2))
    with pytest.warns(KermesWarning, match=r"units of a have 1\.33 measures in the harmonic mean, those of b 2\.82"):
        found = inference.permanova(cdist(Y, Y), arm, "precomputed", units=donor)
    means = np.array([Y[donor == d].mean(axis=0) for d in range(8)])
    by_means = inference.permanova(cdist(means, means), list("aabbabab"), "precomputed")
    assert_allclose(found.statistic, by_means.statistic)
    assert (found.p_value, found.df) == (by_means.p_value, (1, 6))
    with pytest.raises(UnsuitableDataError, match="unit 1 has several values"):
        inference.permanova(cdist(Y, Y), np.arange(len(donor)) % 2, "precomputed", units=donor)


def test_trend_is_regression():
    x = POINTS[:, 0] + 0.1 * rng.normal(size=12)
    found = inference.trend(D, x, "precomputed", random_state=0)
    assert_allclose(found.statistic, oracle.regression_f(POINTS, x[:, None], []))
    assert found.p_value < 0.01
    shifted = inference.trend(D, 1e6 - 1e3 * x, "precomputed", random_state=0)
    assert_allclose(shifted.statistic, found.statistic, rtol=1e-6)
    values = [1, 2, 3, 3, 5]
    tiny = inference.trend(D[:5, :5], values, "precomputed")
    assert tiny.n_permutations == 59
    p = oracle.exhaustive_p(lambda v: oracle.regression_f(POINTS[:5], np.array(v, float)[:, None], []), values, [0] * 5)
    assert_allclose(tiny.p_value, p)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1.0] * 12, "a constant explains nothing"),
        ([1.0] * 11 + [np.nan], "that of measure 11 is nan"),
        (["x"] * 12, "must hold a number for each"),
        ([1.0, 2.0], "must hold 12 values"),
        ([[1.0, 2.0]], "one number per measure"),
    ],
)
def test_bad_numbers(values, message):
    with pytest.raises((InvalidParameterError, UnsuitableDataError), match=message):
        inference.trend(D, values, "precomputed")


def test_huge_numbers_of_a_trend():
    x = np.array([-1.7e308, 1.7e308, *np.zeros(10)])
    assert 0 < inference.trend(D, x, "precomputed", n_permutations=9).p_value <= 1


@pytest.mark.parametrize(
    ("groups", "options", "message"),
    [
        (["a"] * 12, {}, "at least two groups; all measures are in group a"),
        (["a"] * 11 + ["b"], {}, "group b of groups has 1"),
        (["a", "b"] * 5, {}, "must hold 12 values"),
        ([1.0, 2.0] * 5 + [1.0, np.nan], {}, "that of measure 11 is nan"),
        (["a", "b"] * 6, {"blocks": ["x", "y"] * 6}, "the blocks leave no permutation.*pass these as `units`"),
        (["a", "b"] * 6, {"blocks": [1, 2]}, "`blocks` must hold 12 labels"),
        (["a", "b"] * 6, {"n_permutations": 0}, "`n_permutations` must be an integer of at least 1"),
        ({"arm": ["a", "b"] * 6, "same": [0, 1] * 6}, {}, "arm is determined by the other factors"),
        (["a", "b"] * 6, {"covariates": np.arange(12).astype(str)}, "at least two measures"),
        ({}, {}, "must have a column"),
        ({"age": ["a", "b"] * 6}, {"covariates": {"age": np.arange(12)}}, "names 'age', which is tested"),
        (["a", "b"] * 6, {"sums": "third"}, "`sums` must be one of"),
    ],
)  # fmt: skip
def test_bad_groups(groups, options, message):
    with pytest.raises((InvalidParameterError, UnsuitableDataError), match=message):
        inference.permanova(D, groups, "precomputed", **options)


def test_a_model_with_as_many_parameters_as_measures():
    table = {"a": [0, 0, 1, 1], "b": [0, 1, 0, 1]}
    with pytest.raises(UnsuitableDataError, match="as many parameters as there are measures"):
        inference.permanova(D[:4, :4], table, "precomputed", covariates=[1.0, 2.0, 4.0, 4.5])


@pytest.mark.parametrize("value", [0.0, 3.7], ids=["zero", "constant"])
@pytest.mark.parametrize("blocks", [None, [0, 0, 0, 0, 1, 1, 1, 1]], ids=["free", "blocks"])
@pytest.mark.parametrize("run", [inference.permanova, inference.dispersion, inference.k_sample])
def test_constant_distances_warn_and_give_p_of_one(run, blocks, value):
    T = value * (1 - np.eye(8))
    with pytest.warns(DegenerateDataWarning, match="every permutation gives the same statistic"):
        found = run(T, list("aabbabab"), "precomputed", blocks)
    assert found.p_value == 1.0
    assert np.isfinite([found.statistic, found.effect_size]).all()


def test_perfectly_separated_groups():
    T = np.kron([[0.0, 1.0], [1.0, 0.0]], np.ones((4, 4)))
    found = inference.permanova(T, list("aaaabbbb"), "precomputed")
    assert found.statistic == np.inf
    assert_allclose(found.effect_size, 1.0)
    assert_allclose(found.p_value, 2 / 70)  # the two labelings that separate them


def test_ties_do_not_depend_on_rounding():
    """Points on a square: many labelings have one statistic, whatever multiplies the distances."""
    square = np.array([[0, 0], [0, 1], [1, 0], [1, 1], [2, 0], [2, 1]])
    for labels in ("ababab", "aabbab", "abbaab"):
        D6 = cdist(square, square)
        wanted = oracle.exhaustive_p(lambda v, D6=D6: oracle.pseudo_f(D6, v)[0], list(labels), [0] * 6)
        for factor in (1.0, 1 / 3, np.pi, 1e-7):
            assert_allclose(inference.permanova(factor * D6, list(labels), "precomputed").p_value, wanted, rtol=1e-12)


def test_distances_are_not_read_as_points():
    D = np.abs(np.subtract.outer(np.arange(8.0), np.arange(8.0)))
    with pytest.raises(
        InvalidParameterError, match=r"looks like distances between 8 measures .*divergence='precomputed'"
    ):
        inference.permanova(D, np.repeat([0, 1], 4))
    assert inference.permanova(D, np.repeat([0, 1], 4), "precomputed", random_state=0).p_value < 0.1


@pytest.mark.parametrize("offset", [10**17, 2**62, -(2**62)])
def test_whole_numbers_and_dates_lose_no_digits(offset):
    points = np.random.default_rng(0).normal(size=(16, 2))
    D = np.linalg.norm(points[:, None] - points[None], axis=-1)
    values = np.arange(16) ** 2

    def statistic(values):
        return inference.trend(D, values, "precomputed", n_permutations=9, random_state=0).statistic

    expected = statistic(values)
    assert statistic(values + offset) == expected
    assert statistic(np.datetime64("2024-01-01", "ns") + values.astype("m8[ns]")) == expected
