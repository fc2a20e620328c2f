"""Kernels against their formulas in mpmath, and definite Gram matrices of hostile collections."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st
from mpmath import mp, mpf
from tests.strategies import COORDINATES, MILD, pairs
from tests.truth.judge import ENGINE, RECORDS, Record, check, each, for_cases, guarded, over
from tests.truth.oracles import entropies, feature_space, measures, transport
from tests.truth.oracles.numbers import long, working
from tests.truth.truths import EPS, KERNELS

from kermes import Measures, divergences, ground, kernels

ETA = 0.125


@dataclass(frozen=True)
class KernelTruth:
    """A kernel, its value between two measures (or two ends) and how far off it may be, and the pairs to try."""

    name: str
    kernel: Any
    answer: Callable[..., Any]
    pairs: Any


def _between(x, bound):
    """Return the ends of exp(-x) for an exponent that is off by ``bound``, but not below 0, and the rounding."""
    high = mp.exp(-max(x - bound, min(x, 0)))
    return mp.exp(-x - bound), high, 4e-16 * (2 + abs(x)) * high


def _exponential(power, length_scale=0.7):
    def answer(mu, nu, pair):
        W = long(transport.on_the_line(mu, nu, 2))
        spread = long(transport.independent(mu, nu, transport.euclidean, 2))
        d = mp.sqrt(W)
        error = mp.sqrt(W + 2e-14 * spread + 4e-14 * W) - d
        scale = mpf(length_scale)
        x = (d / scale) ** power / 2
        return _between(x, ((d + error) / scale) ** power / 2 - x)

    kernel = kernels.Exponential(divergences.Wasserstein(2), length_scale, power=power, engine=ENGINE)
    return KernelTruth(f"Exponential power={power}", kernel, answer, pairs(1))


def _features(mu, nu, name):
    ranges = [] if name in ("gaussian", "laplacian") else [abs(x) for m in (mu, nu) for p in m.points for x in p]
    with working(*mu.weights, *nu.weights, *ranges, *ranges):
        return feature_space.Features(mu, nu, KERNELS[name][1]), mp.dps


def _igv(name, normalized, power):
    def answer(mu, nu, pair):
        f, dps = _features(mu, nu, name)
        with mp.workdps(dps):
            h = [feature_space.half_log_det(f, mpf(ETA), which) for which in ("mean", "first", "second")]
            x = 2 * mpf(power) * (h[0] - ((h[1] + h[2]) / 2 if normalized else 0))
            steep = f.traces > 1e4 * ETA
            by_atoms = 2e-16 * f.largest / ETA  # as documented
            return _between(x, 2 * power * (mpf(1e-3) * (abs(x) + 1) if steep else 1e-8 + by_atoms))

    kernel = kernels.IGV(ETA, KERNELS[name][0], normalized=normalized, power=power, engine=ENGINE)
    drawn = pairs(2, MILD, most=3)
    return KernelTruth(f"IGV {name}, normalized={normalized}, power={power}", kernel, answer, drawn)


def _bhattacharyya(name):
    def answer(mu, nu, pair):
        f, dps = _features(mu, nu, name)
        with mp.workdps(dps):
            x = feature_space.bhattacharyya(f, mpf(ETA))
            return _between(x, mpf(1e-3) * (x + 1) if f.traces > 1e4 * ETA else mpf(1e-9) * (x + 1))

    kernel = kernels.Bhattacharyya(KERNELS[name][0], ETA, engine=ENGINE)
    return KernelTruth(f"Bhattacharyya kernel, {name}", kernel, answer, pairs(2, MILD, most=3))


def _entropy(normalized):
    def answer(mu, nu, pair):
        with working(*mu.weights, *nu.weights):
            x = 2 * entropies.jensen_shannon(mu, nu)
            if not normalized:
                x += entropies.entropy(mu.weights) + entropies.entropy(nu.weights)
            return _between(x, mpf(1e-11))

    kernel = kernels.Entropy(2.0, normalized=normalized, engine=ENGINE)
    return KernelTruth(f"Entropy normalized={normalized}", kernel, answer, pairs(2, MILD, shared=True))


def _total(weights):
    return sum(Fraction(float(w)) for w in weights.tolist())


def _mass_weighted():
    def answer(mu, nu, pair):
        low, high, bound = _exponential(2.0).answer(mu, nu, pair)
        masses = long(_total(pair.weights[0]) * _total(pair.weights[1]))
        return masses * low, masses * high, masses * (bound + 1e-15 * high)

    kernel = kernels.MassWeighted(_exponential(2.0).kernel)
    return KernelTruth("MassWeighted", kernel, answer, pairs(1, weights=("equal", "plain", "counts", "nearly equal")))


def _square(x):
    return (x**2).sum(axis=1)


def _one(x):
    return np.full(len(x), 0.3)


def _mixture():
    def answer(mu, nu, pair):
        value = error = mpf(0)
        masses = [long(_total(w)) for w in pair.weights]
        with mp.workdps(60):
            for w, f in ((0.5, lambda x: sum(s * s for s in x)), (2.0, lambda x: Fraction(0.3))):
                x = sum(
                    mass * long(sum(a * f(point) for a, point in zip(m.weights, m.points, strict=True)))
                    for mass, m in zip(masses, (mu, nu), strict=True)
                )
                value += w * mp.exp(-x)
                error += w * mp.exp(-x) * (1e-14 + 1e-14 * x)
        return value, error + mpf(2) ** -1000

    kernel = kernels.SemigroupMixture([_square, _one], [0.5, 2.0])
    return KernelTruth("SemigroupMixture", kernel, answer, pairs(2, MILD, weights=("equal", "plain", "counts")))


def _mass_laplace():
    def answer(mu, nu, pair):
        with working(*mu.weights, *nu.weights):
            a, b = (long(_total(w)) for w in pair.weights)
            n = len(pair.support) - 1
            pooled = [(a * long(p) + b * long(q)) / (a + b) for p, q in entropies.masses(mu, nu)]
            h = [entropies.entropy(m.weights) for m in (mu, nu)]
            mixed = -sum(p * mp.log(p) for p in pooled if p)
            x = (a + b) * mixed - a * h[0] - b * h[1]
            factor = (2 * mp.sqrt(a * b) / (a + b)) ** (mpf(n) / 2)
            return [factor * end for end in _between(x, 2e-14 * (a + b) * (1 + mixed) + 1e-15 * n)]

    kernel = kernels.MassLaplace("multinomial")
    weights = ("equal", "plain", "counts")
    return KernelTruth("MassLaplace", kernel, answer, pairs(2, MILD, shared=True, weights=weights))


def _mass_laplace_of_gaussians(diagonal, dim):
    name = "gaussian-diagonal" if diagonal else "gaussian"

    def answer(mu, nu, pair):
        a, b = (_total(w) for w in pair.weights)
        with working(*mu.weights, *nu.weights):
            value = entropies.gaussian_family(mu, nu, diagonal, a / (a + b))
            if value is None:
                return None
            n = 2 * dim if diagonal else dim + dim * (dim + 1) // 2
            rounding = 2e-14 + 2 * EPS * max(map(entropies.logarithms, (mu, nu)))
            rounding += 0 if diagonal else 1e-15 / min(map(entropies.determination, (mu, nu)))
            total, factor = long(a + b), (2 * mp.sqrt(long(a * b)) / long(a + b)) ** (mpf(n) / 2)
            ends = _between(total * value / 2, total * (1e-12 * value + rounding) / 2 + 1e-15 * n)
            return [factor * end for end in ends]

    kinds = ("coarse", "plain", "offset", "scaled", "outlier")
    drawn = pairs(dim, kinds, ("equal", "plain", "counts"), most=6, least=dim + 2, company=False)
    return KernelTruth(f"MassLaplace {name}, dim {dim}", kernels.MassLaplace(name), answer, drawn)


def _anisotropic():
    rho = np.array([0.5, 1.0, 2.0, 0.3, 0.7, 1.1])

    def answer(mu, nu, pair):
        p, q = (dict(zip(m.points, m.weights, strict=True)) for m in (mu, nu))
        points = [tuple(map(Fraction, point)) for point in pair.support.tolist()]
        x = sum(abs(p.get(z, 0) - q.get(z, 0)) / Fraction(r) ** 2 for z, r in zip(points, rho.tolist(), strict=False))
        x = long(Fraction(9, 16) * x)
        return _between(x, 1e-13)

    def kernel(size):
        return kernels.AnisotropicWasserstein(rho[:size], ground.Binary(1.5))

    return KernelTruth("AnisotropicWasserstein", kernel, answer, pairs(2, MILD, shared=True))


TRUTHS = [
    *(_exponential(power) for power in (1.0, 1.5, 2.0)),
    *(_igv(name, normalized, 1.0) for name in ("linear", "gaussian") for normalized in (True, False)),
    _igv("polynomial", True, 0.5),
    *(_bhattacharyya(name) for name in ("linear", "gaussian")),
    *(_entropy(normalized) for normalized in (True, False)),
    _mass_weighted(),
    _mixture(),
    _mass_laplace(),
    *(_mass_laplace_of_gaussians(diagonal, dim) for diagonal, dim in ((False, 1), (True, 2), (False, 2))),
    _anisotropic(),
]


def judge_kernel(truth, pair):
    """Compare a value of a kernel with its formula."""
    record = RECORDS.setdefault(truth.name, Record())
    record.cases += 1
    X, Y = pair.collections()
    kernel = truth.kernel(len(pair.support)) if truth.name == "AnisotropicWasserstein" else truth.kernel
    value = guarded(lambda: kernel(X, Y)[0, 0])
    if isinstance(value, str):
        record.refused[value] += 1
        return
    with mp.workdps(40):
        ends = truth.answer(*measures(pair), pair)
        if ends is None:  # it has no value, and rounding hides that
            return
        *ends, bound = ends
        check(record, mpf(float(value)), (*ends, bound + mpf(2) ** -1070), False, truth.name)


@each(TRUTHS)
def test_kernel(truth):
    for_cases(partial(judge_kernel, truth), truth.pairs)


# -- definite where that is claimed ----------------------------------------------------------------


@cache
@st.composite
def collections(draw, dim, finite):
    """Draw hostile measures, some of them twice."""
    scalars = draw(COORDINATES[draw(st.sampled_from(["coarse", "whole", "offset", "outlier", "scaled"]))])
    weights = st.sampled_from([1e-12, 0.1, 1.0, 3.0])
    if finite:
        size = draw(st.integers(2, 5))
        rows = st.lists(st.one_of(st.just(0.0), weights), min_size=size, max_size=size).filter(any)
        H = np.array(draw(st.lists(rows, min_size=3, max_size=8)))
        return Measures.from_histograms(np.vstack([H, H[:2]]), np.arange(float(size * dim)).reshape(size, dim))
    clouds = []
    for _ in range(draw(st.integers(3, 8))):
        n = draw(st.integers(1, 4))
        points = np.array(draw(st.lists(scalars, min_size=n * dim, max_size=n * dim))).reshape(n, dim)
        clouds.append((points, np.array(draw(st.lists(weights, min_size=n, max_size=n)))))
    clouds += clouds[:2]
    return Measures.from_samples([x for x, _ in clouds], [w for _, w in clouds])


CLAIMED = [row for row in divergences.claims() if row.claims.negative_type]
NAMES = [f"{row.divergence!r} dim {row.dim}" for row in CLAIMED]


@pytest.mark.parametrize("row", CLAIMED, ids=NAMES)
def test_claimed_kernels_are_definite(row):
    text = repr(row.divergence)
    finite = "multinomial" in text or text == "JensenShannon(smoothing=None)"
    for_cases(partial(is_definite, row), collections(row.dim, finite), st.sampled_from([0.1, 1.0, 10.0]))


def is_definite(row, X, scale):
    kernel = kernels.Exponential(row.divergence, scale, power=row.claims.negative_type, engine=ENGINE)
    assert kernel.is_positive_definite(row.dim)
    K = guarded(lambda: kernel(X))
    if not isinstance(K, str):
        assert np.linalg.eigvalsh(K)[0] >= -1e-7


@over(
    collections(2, False), st.sampled_from([ground.Linear(), ground.Gaussian(sigma=1.0)]), st.sampled_from([0.5, 1, 2])
)
def test_generalized_variance_kernels_are_definite(X, point_kernel, power):
    for kernel in (kernels.IGV(0.1, point_kernel, power=power, engine=ENGINE),
                   kernels.Bhattacharyya(point_kernel, 0.1, engine=ENGINE)):  # fmt: skip
        assert kernel.is_positive_definite(2)
        K = guarded(lambda kernel=kernel: kernel(X))
        if not isinstance(K, str):
            assert np.linalg.eigvalsh(K)[0] >= -1e-7
