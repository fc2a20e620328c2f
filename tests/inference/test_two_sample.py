"""Two clouds: the distances of kermes, permuted atom by atom."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import energy_distance, wasserstein_distance
from tests.oracles import inference as oracle

from kermes import Measures, divergences, ground, inference, pairwise
from kermes.exceptions import DegenerateDataWarning, InvalidMeasureError, InvalidParameterError, UnsuitableDataError
from kermes.inference import _two_sample

rng = np.random.default_rng(5)
X, Y = rng.normal(size=(4, 2)), rng.normal(size=(3, 2)) + 0.7
CASES = [
    divergences.MMD(ground.Gaussian(sigma=0.8)),
    divergences.SlicedWasserstein(n_slices=7),
    divergences.SlicedWasserstein(p=1, n_slices=7),
    divergences.SlicedWasserstein(p=1.5, n_slices=7),
]


@pytest.mark.parametrize("divergence", CASES, ids=repr)
@pytest.mark.parametrize("scale", [1.0, 1e-3])
def test_statistic_and_exhaustive_p_value(divergence, scale):
    pool = scale * np.concatenate([X, Y])

    def statistic(labels):
        clouds = [pool[np.equal(labels, which)] for which in (0, 1)]
        return pairwise(Measures.from_samples(clouds), divergence=divergence)[0, 1] / scale

    found = inference.two_sample(scale * X, scale * Y, divergence, keep_distribution=True)
    labels = [0] * 4 + [1] * 3
    assert_allclose(found.statistic / scale, statistic(labels), rtol=1e-7)
    assert found.exhaustive
    assert found.n_permutations == len(found.distribution) == 34
    assert_allclose(found.p_value, oracle.exhaustive_p(statistic, labels, [0] * 7))


def test_on_the_line_it_is_scipys():
    x, y = rng.normal(size=9), rng.normal(size=6)
    found = inference.two_sample(x, y, n_permutations=9)
    assert_allclose(found.statistic, energy_distance(x, y))
    sliced = inference.two_sample(x, y, divergences.SlicedWasserstein(p=1), n_permutations=9)
    assert_allclose(sliced.statistic, wasserstein_distance(x, y))


def test_energy_p_value():
    pool = np.concatenate([X, Y])
    D = np.linalg.norm(pool[:, None] - pool[None], axis=2)

    def statistic(labels):
        a, b = (np.flatnonzero(np.equal(labels, which)) for which in (0, 1))
        return oracle.energy(D, a, b)

    assert_allclose(inference.two_sample(X, Y).p_value, oracle.exhaustive_p(statistic, [0] * 4 + [1] * 3, [0] * 7))


@pytest.mark.parametrize("divergence", ["energy", "mmd", divergences.SlicedWasserstein(n_slices=20)], ids=str)
def test_power_and_silence(divergence):
    x, y = rng.normal(size=(40, 2)), rng.normal(size=(30, 2))
    same = inference.two_sample(x, y, divergence, n_permutations=299, random_state=0)
    other = inference.two_sample(x, y + 1.5, divergence, n_permutations=299, random_state=0)
    assert same.p_value > 0.05
    assert other.p_value == 1 / 300
    assert "test of two clouds" in repr(other)
    moved = inference.two_sample(y + 1e6, x + 1e6, divergence, n_permutations=299, random_state=0)
    assert_allclose(moved.statistic, same.statistic, rtol=1e-6)


def test_forms_of_clouds():
    measures = Measures.from_samples([X, Y])
    wanted = inference.two_sample(X, Y).statistic
    assert inference.two_sample(measures[0], measures[1]).statistic == wanted
    assert inference.two_sample(measures[:1], measures[1:]).statistic == wanted
    halves = Measures.from_samples([X], [np.full(4, 0.25)])
    assert inference.two_sample(halves, Y).statistic == wanted
    with pytest.raises(InvalidParameterError, match="`mu` must be one measure; got 2"):
        inference.two_sample(measures, Y)


def test_weights():
    weighted = Measures.from_samples([X], [[1, 2, 1, 3]])
    with pytest.raises(InvalidMeasureError, match=r"unequal weights, 1 to 3.*pass counts=True"):
        inference.two_sample(weighted, Y)
    found = inference.two_sample(weighted, Y, counts=True, random_state=0)
    assert found.statistic == inference.two_sample(np.repeat(X, [1, 2, 1, 3], axis=0), Y).statistic
    with pytest.raises(InvalidMeasureError, match=r"whole weights if they are counts; atom 1 has 2\.5"):
        inference.two_sample(Measures.from_samples([X], [[1, 2.5, 1, 3]]), Y, counts=True)
    with pytest.raises(UnsuitableDataError, match="too many to permute"):
        inference.two_sample(Measures.from_samples([X], [[1, 1e9, 1, 3]]), Y, counts=True)


@pytest.mark.parametrize(
    ("x", "y", "options", "message"),
    [
        (X[:1], Y, {}, "`mu` must have at least two atoms; got 1"),
        (X, Y[:, :1], {}, "`mu` has points of dimension 2 and `nu` of dimension 1"),
        (X, Y, {"divergence": divergences.Wasserstein()}, "of other divergences the pairs"),
        (X, Y, {"divergence": "energie"}, "Did you mean 'energy'"),
        (X, [[np.nan, 1.0]], {}, "nan|finite"),
        (X, Y, {"n_permutations": 0}, "of at least 1"),
    ],
)
def test_bad_input(x, y, options, message):
    with pytest.raises((InvalidMeasureError, InvalidParameterError, UnsuitableDataError), match=f"(?i){message}"):
        inference.two_sample(x, y, **options)


@pytest.mark.parametrize("divergence", ["energy", "mmd", *CASES], ids=str)
def test_equal_atoms(divergence):
    with pytest.warns(DegenerateDataWarning, match="every permutation gives the same statistic"):
        found = inference.two_sample(np.ones((5, 2)), np.ones((4, 2)), divergence)
    assert (found.statistic, found.p_value) == (0.0, 1.0)


def test_many_atoms(monkeypatch):
    monkeypatch.setattr(_two_sample, "MOST_ATOMS", 6)
    with pytest.raises(UnsuitableDataError, match="the clouds have 7 atoms together"):
        inference.two_sample(X, Y)
    assert inference.two_sample(X, Y, divergences.SlicedWasserstein()).p_value > 0


LINEAR = divergences.MMD(ground.Linear())


@pytest.mark.parametrize("divergence", ["energy", "mmd", *CASES[1:], LINEAR], ids=repr)
@pytest.mark.parametrize("scale", [1e-300, 1e-170, 1e170, 1e299])
def test_the_scale_of_the_points_does_not_matter(divergence, scale):
    """Distances are in units of the points (energy: of their root), p-values are numbers."""
    wanted = inference.two_sample(X, Y, divergence)
    found = inference.two_sample(scale * X, scale * Y, divergence, keep_distribution=True)
    factor = {"energy": scale**0.5, "mmd": 1.0}.get(divergence, scale)
    assert_allclose(found.statistic, factor * wanted.statistic, rtol=1e-9)
    assert found.p_value == wanted.p_value < 1.0
    assert (found.distribution > 0.0).any()


def test_points_too_far_apart_are_refused():
    with pytest.raises(UnsuitableDataError, match="more than 1e300 apart"):
        inference.two_sample([-1e308, 0.0], [1.0, 1e308])


@pytest.mark.parametrize("kernel", [ground.Linear(), ground.Polynomial(1), ground.Polynomial(2)], ids=repr)
@pytest.mark.parametrize("offset", [1e4, 1e8])
def test_means_of_features_far_from_the_origin(kernel, offset):
    """In fractions; kernel values lost the difference of the means, and p-values with it."""
    x, y = np.array([0.5, -1.25, 2.0, 0.25]) + offset, np.array([1.0, 3.5, 0.75]) + offset
    pool = list(map(Fraction, [*x.tolist(), *y.tolist()]))

    def squared(first):
        a = [Fraction(1, 4) if i in first else Fraction(-1, 3) for i in range(7)]
        power = getattr(kernel, "degree", 1)
        shift = 0 if isinstance(kernel, ground.Linear) else 1
        return sum(a[i] * a[j] * (pool[i] * pool[j] + shift) ** power for i in range(7) for j in range(7))

    values = [squared(set(first)) for first in itertools.combinations(range(7), 4)]
    found = inference.two_sample(x, y, divergences.MMD(kernel))
    assert found.exhaustive
    assert_allclose(found.statistic, float(values[0]) ** 0.5, rtol=1e-5)
    assert found.p_value == pytest.approx(np.mean([value >= values[0] for value in values]))
