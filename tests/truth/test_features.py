"""Feature maps against their definitions, over hostile collections."""

from fractions import Fraction
from random import Random

import numpy as np
import pytest
from hypothesis import strategies as st
from mpmath import mp, mpf
from tests.strategies import MILD, SEEDS, collections
from tests.truth.judge import ENGINE, guarded, over
from tests.truth.oracles import exact, transport
from tests.truth.oracles.numbers import long

from kermes import KernelFeatures, Measures, divergences, ground, kernels, pairwise
from kermes.features import (
    LinearTransportFeatures,
    MixtureFeatures,
    QuantileFeatures,
    RandomFourierFeatures,
    SlicedFeatures,
)

EPS = 2.0**-52
#: What squares below the smallest normal number may hide in a norm.
GRAIN = 2.0**-500


def cell_means(measure, levels):
    """Return the means of the quantile function over the cells of (0, 1) that end at ``levels``, in fractions."""
    atoms = sorted(zip(measure.points, measure.weights, strict=True))
    ends = [sum(w for _, w in atoms[: i + 1]) for i in range(len(atoms))]
    means, low = [], Fraction(0)
    for high in levels:
        overlap = [max(Fraction(0), min(e, high) - max(e - w, low)) for e, (_, w) in zip(ends, atoms, strict=True)]
        means.append(sum(o * x[0] for o, (x, _) in zip(overlap, atoms, strict=True)) / (high - low))
        low = high
    return means


def reach(points):
    return max(float(np.abs(np.asarray(x, dtype=np.float64)).max()) for x in points)


def assert_near(found, expected, scale, rounding):
    """Assert that numbers are the expected ones up to ``rounding`` times ``scale``."""
    off = max(abs(mpf(float(f)) - long(e)) for f, e in zip(np.ravel(found), expected, strict=True))
    assert off <= rounding * mpf(scale) + mpf(2) ** -1060, f"off by {mp.nstr(off / mpf(scale or 1), 3)} of the scale"


@over(st.integers(1, 2).flatmap(lambda dim: st.tuples(collections(dim), st.integers(1, 7))))
def test_quantiles_are_means_over_cells(drawn):
    (points, weights), n = drawn
    X = Measures.from_samples(points, weights)
    features = QuantileFeatures(n).fit(X)
    found = guarded(lambda: features.transform(X).reshape(len(X), X.dim, n))
    if isinstance(found, str):
        assert "too large" in found
        return
    for i, (x, w) in enumerate(zip(points, weights, strict=True)):
        for axis in range(X.dim):
            measure = transport.projected(exact(x, w), np.eye(X.dim)[axis])
            expected = [long(m) / mp.sqrt(n) for m in cell_means(measure, [Fraction(k, n) for k in range(1, n + 1)])]
            assert_near(found[i, axis], expected, reach([x]), 8 * EPS * (len(x) + n))


@over(collections(1, least=2), st.sampled_from([None, 1, 4]))
def test_quantile_distances_are_within_their_bounds(drawn, n):
    """Never above W_2, below it by what ``error_bounds`` says at most; equal for training measures and all levels."""
    points, weights = drawn
    X = Measures.from_samples(points, weights)
    features = QuantileFeatures(n).fit(X)
    found = guarded(lambda: (features.transform(X), features.error_bounds(X)))
    if isinstance(found, str):
        return
    F, e = found
    scale = reach(points)
    measures = [exact(x, w) for x, w in zip(points, weights, strict=True)]
    with mp.workdps(40):
        for i in range(len(X)):
            for j in range(i):
                true = mp.sqrt(long(transport.on_the_line(measures[i], measures[j], 2)))
                near = mp.sqrt(sum((mpf(float(a)) - mpf(float(b))) ** 2 for a, b in zip(F[i], F[j], strict=True)))
                rest = mp.sqrt(mpf(float(e[i])) ** 2 + mpf(float(e[j])) ** 2)
                # Probabilities are rounded, which is relative to squares.
                slack = 1e-14 * mpf(scale) ** 2 + mpf(GRAIN) ** 2
                assert near**2 <= true**2 + slack
                assert true**2 <= near**2 + rest**2 + slack


@over(collections(2, least=2), st.integers(1, 4))
def test_sliced_features_are_quantiles_of_projections(drawn, n):
    points, weights = drawn
    X = Measures.from_samples(points, weights)
    features = SlicedFeatures(3, n, seed=1).fit(X)
    found = guarded(lambda: features.transform(X).reshape(len(X), 3, n))
    if isinstance(found, str):
        assert "too large" in found
        return
    levels = [Fraction(k, n) for k in range(1, n + 1)]
    for i, (x, w) in enumerate(zip(points, weights, strict=True)):
        for k, theta in enumerate(features.directions_):
            means = cell_means(transport.projected(exact(x, w), theta), levels)
            assert_near(found[i, k], [long(m) / mp.sqrt(3 * n) for m in means], reach([x]), 8 * EPS * (len(x) + n))


@over(
    collections(2, kinds=("coarse", "plain", "whole")),
    st.sampled_from([ground.Gaussian(sigma=0.7), ground.Laplacian(0.5)]),
)
def test_fourier_features_are_means_of_waves(drawn, kernel):
    points, weights = drawn
    X = Measures.from_samples(points, weights)
    features = RandomFourierFeatures(kernel, 4, random_state=0).fit(X)
    found = features.transform(X)
    for i, (x, w) in enumerate(zip(points, weights, strict=True)):
        measure = exact(x, w)
        for k in range(4):
            phases = [
                sum(c * Fraction(f) for c, f in zip(p, features.frequencies_[:, k], strict=True))
                for p in measure.points
            ]
            waves = [[f(long(t)) for t in phases] for f in (mp.cos, mp.sin)]
            expected = [sum(long(w) * v for w, v in zip(measure.weights, wave, strict=True)) / 2 for wave in waves]
            size = 1 + max(abs(float(t)) for t in phases)
            assert_near(found[i, [k, k + 4]], expected, size, 16 * EPS * len(x))


@over(collections(2))
def test_the_default_length_of_fourier_features_is_the_spread(drawn):
    points, weights = drawn
    X = Measures.from_samples(points, weights)
    features = RandomFourierFeatures(None, 2, random_state=0)
    found = guarded(lambda: features.fit(X).ground_.sigma)
    if isinstance(found, str):
        return
    measures = [exact(x, w) for x, w in zip(points, weights, strict=True)]
    centre = [
        sum(w * p[a] for m in measures for p, w in zip(m.points, m.weights, strict=True)) / len(X) for a in (0, 1)
    ]
    spread = sum(w * transport.squared(p, centre) for m in measures for p, w in zip(m.points, m.weights, strict=True))
    expected = float(mp.sqrt(long(spread / len(X)))) or 1.0
    assert found == pytest.approx(expected, rel=1e-10)


def are_distinct(drawn):
    """Whether no two atoms are equal: these may share their mass in any way."""
    x = np.ravel(drawn[0][0]).tolist()
    return len(set(x)) == len(x)


@over(collections(1), collections(1, kinds=("coarse", "whole"), most=1).filter(are_distinct))
def test_linear_transport_on_the_line_is_the_mean_over_the_cells_of_the_reference(drawn, reference):
    points, weights = drawn
    X, R = Measures.from_samples(points, weights), Measures.from_samples(*reference)
    features = LinearTransportFeatures(R).fit(X)
    found = guarded(lambda: features.transform(X))
    if isinstance(found, str):
        return
    x, w = np.asarray(reference[0][0], dtype=np.float64)[:, 0], [Fraction(v) for v in reference[1][0].tolist()]
    order = np.argsort(x, kind="stable")
    ends = [sum(w[k] for k in order[: i + 1]) / sum(w) for i in range(len(x))]
    for i, (p, v) in enumerate(zip(points, weights, strict=True)):
        means = cell_means(exact(p, v), ends)
        shares = [end - low for end, low in zip(ends, [0, *ends], strict=False)]
        expected = [long(m) * mp.sqrt(long(s)) for m, s in zip(means, shares, strict=True)]
        assert_near(found[i, order], expected, reach([p]), 1e-9)


@over(collections(2, least=2))
def test_linear_transport_keeps_means(drawn):
    points, weights = drawn
    X = Measures.from_samples(points, weights)
    features = LinearTransportFeatures(n_reference=4, random_state=0)
    F = guarded(lambda: features.fit(X).transform(X))
    if isinstance(F, str):
        return
    roots = np.sqrt(features.reference_.probabilities)
    for i, (x, w) in enumerate(zip(points, weights, strict=True)):
        measure = exact(x, w)
        for axis in range(2):
            mean = sum(p[axis] * v for p, v in zip(measure.points, measure.weights, strict=True))
            assert_near(roots @ F[i].reshape(-1, 2)[:, axis], [mean], reach([x]), 1e-13)


@over(collections(2, kinds=MILD, least=2, most=7))
def test_kernel_features_have_the_inner_products_of_the_kernel(drawn):
    """Up to the eigenvalues that are left out, those that rounding made negative among them."""
    X = Measures.from_samples(*drawn)
    D = guarded(lambda: pairwise(X, divergence=divergences.SlicedWasserstein(n_slices=5), engine=ENGINE))
    if isinstance(D, str):  # squares that are no normal numbers
        return
    kernel = kernels.Exponential(divergences.SlicedWasserstein(n_slices=5), float(D.max()) or 1.0, engine=ENGINE)
    features = KernelFeatures(kernel, tol=1e-9).fit(X)
    F, K = features.transform(X), kernel(X)
    values, vectors = np.linalg.eigh(K)
    kept = np.where(values > 1e-9, values, 0.0)
    np.testing.assert_allclose(F @ F.T, (vectors * kept) @ vectors.T, atol=1e-8)
    np.testing.assert_allclose(features.eigenvalues_, values[::-1], atol=1e-13)
    assert features.n_components_ == np.count_nonzero(features.eigenvalues_ > 1e-9)


@over(collections(1))
def test_mixture_features_are_exponentials_of_means(drawn):
    points, weights = drawn
    X = Measures.from_samples(points, weights)
    functions = [lambda x: np.abs(x[:, 0]), lambda x: x[:, 0] ** 2]
    features = MixtureFeatures(kernels.SemigroupMixture(functions, [1.0, 4.0]))
    found = guarded(lambda: features.fit(X).transform(X))
    if isinstance(found, str):
        return
    for i, (x, w) in enumerate(zip(points, weights, strict=True)):
        atoms = [(Fraction(v), Fraction(m)) for v, m in zip(np.ravel(x).tolist(), w.tolist(), strict=True)]
        sums = [sum(m * abs(v) for v, m in atoms), sum(m * v**2 for v, m in atoms)]
        expected = [c * mp.exp(-long(s)) for c, s in zip((1, 2), sums, strict=True)]
        for f, e, s in zip(found[i], expected, sums, strict=True):
            assert abs(mpf(float(f)) - e) <= 1e-13 * (1 + min(float(s), 1e3)) * e + mpf(2) ** -1060


MAPS = {
    "quantiles": QuantileFeatures(3),
    "sliced": SlicedFeatures(3, 2),
    "Fourier": RandomFourierFeatures(ground.Gaussian(sigma=0.7), 3, random_state=0),
    "mixture": MixtureFeatures(n_components=3, width=1.0, random_state=0),
}


@pytest.mark.parametrize("name", MAPS)
@over(collections(2, kinds=("coarse", "plain", "whole")), SEEDS)
def test_atoms_may_be_split_and_permuted(name, drawn, seed):
    random = Random(seed)
    points, weights = ([np.asarray(x, dtype=np.float64) for x in arrays] for arrays in drawn)
    features = MAPS[name].fit(Measures.from_samples(points, weights))
    orders = [random.sample(range(2 * len(x)), 2 * len(x)) for x in points]
    split = [np.repeat(x, 2, axis=0)[order] for x, order in zip(points, orders, strict=True)]
    halves = [np.repeat(w, 2)[order] / 2 for w, order in zip(weights, orders, strict=True)]
    F, G = (features.transform(Measures.from_samples(x, w)) for x, w in ((points, weights), (split, halves)))
    np.testing.assert_allclose(G, F, atol=1e-13 * (1 + reach(points)))


@over(collections(2), st.sampled_from([2.0**-400, 0.5, 2.0**30]))
def test_quantiles_scale_and_move_with_the_points(drawn, factor):
    points, weights = ([np.asarray(x, dtype=np.float64) for x in arrays] for arrays in drawn)
    features = QuantileFeatures(4).fit(Measures.from_samples(points, weights))
    scaled = [Measures.from_samples([c * x for x in points], weights) for c in (1.0, factor)]
    F, G = (guarded(lambda X=X: features.transform(X)) for X in scaled)
    if isinstance(F, str) or isinstance(G, str):
        return
    np.testing.assert_allclose(G, factor * F, atol=factor * (1e-14 * reach(points) + 2.0**-1070) + 2.0**-1070)
    if reach(points) < 1e3:
        moved = features.transform(Measures.from_samples([x + 8.0 for x in points], weights))
        np.testing.assert_allclose(moved, F + 8.0 / 2, atol=1e-12)  # cells have the width 1/4
