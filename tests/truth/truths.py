"""Which divergence goes with which oracle, over which measures, and how far off it may be by its documentation."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from mpmath import mp, mpf
from tests import strategies
from tests.strategies import MILD, WEIGHTS, pairs

from kermes import divergences, ground

from .oracles import entropic, entropies, feature_space, measures, transport
from .oracles.numbers import long, working

EPS = 2.0**-52
MODERATE = tuple(name for name in WEIGHTS if name != "wide")


@dataclass(frozen=True)
class Truth:
    """A divergence, what d**power is and how far off it may be, and the pairs to try.

    ``answer(mu, nu, pair)`` returns both; or two ends between which it is, and how far outside; None: it has no value.
    """

    name: str
    divergence: Any
    answer: Callable[..., Any]
    pairs: Any
    power: float = 2.0

    def of(self, pair):
        """Return the answer for a pair."""
        return self.answer(*measures(pair), pair)

    def on(self, size):
        """Return the divergence for histograms of so many bins: a cost matrix has one row for each."""
        return self.divergence(size) if isinstance(self.divergence, OnSupport) else self.divergence


# -- transport ---------------------------------------------------------------------------------


def _weights_and_roots(value, spread, p, rounding):
    """Return W_p^p and its bound: rounded weights cost at most the plan a b', a root and its power p digits."""
    return value, 4 * rounding * long(spread) + mpf(p) * 2e-14 * long(value)


def _moved(value, moved, p):
    """Return how much W_p^p changes if W_p does by so much."""
    return (value ** (1 / mpf(p)) + moved) ** p - value


def line(p, **options):
    def answer(mu, nu, pair):
        value = transport.on_the_line(mu, nu, p)
        return _weights_and_roots(value, transport.independent(mu, nu, transport.euclidean, p), p, 4e-15)

    return Truth(f"Wasserstein p={p} on the line", divergences.Wasserstein(p), answer, pairs(1, **options), p)


def program(name, p, cost, distance, dim, wraps=False, **options):
    """Return exact transport elsewhere; on what ``wraps``, differences are rounded before periods are taken off."""

    def answer(mu, nu, pair):
        value = long(transport.program(mu, nu, distance, p))
        _, bound = _weights_and_roots(value, transport.independent(mu, nu, distance, p), p, 4e-15)
        moved = 2 * EPS * sum(transport.norm(m, p) ** (1 / mpf(p)) for m in (mu, nu)) if wraps else 0
        return value, bound + _moved(value, moved, p)

    return Truth(f"Wasserstein p={p}, {name}", divergences.Wasserstein(p, cost), answer, pairs(dim, **options), p)


def sliced(p, dim, **options):
    divergence = divergences.SlicedWasserstein(p, n_slices=5, seed=3)
    directions = divergence.directions(dim)

    def answer(mu, nu, pair):
        value = long(transport.sliced(mu, nu, p, directions))
        spread = long(transport.independent(mu, nu, transport.euclidean, p))
        _, bound = _weights_and_roots(value, spread, p, 4e-15)
        # Projections are rounded: both measures move, by that much in W_p.
        moved = dim * EPS * sum(transport.norm(m, p) ** (1 / mpf(p)) for m in (mu, nu))
        return value, bound + _moved(value, moved, p)

    return Truth(f"SlicedWasserstein p={p}", divergence, answer, pairs(dim, **options), p)


def _off_diagonal(pair, symmetric):
    values = symmetric[: len(pair.support), : len(pair.support)]
    return transport.table([tuple(map(Fraction, point)) for point in pair.support.tolist()], values.tolist())


@dataclass(frozen=True)
class OnSupport:
    """Pairs of histograms come with supports of several sizes, and so must their cost matrix."""

    make: Callable[[np.ndarray], Any]
    values: np.ndarray

    def __call__(self, size):
        return self.make(self.values[:size, :size])


def not_a_metric():
    """Return a symmetric matrix that breaks the triangle inequality by six digits."""
    values = 10.0 ** np.random.default_rng(0).integers(-3, 4, (8, 8))
    values = np.triu(values, 1)
    return values + values.T


NOT_A_METRIC = not_a_metric()


def matrix(p):
    """Return exact transport under no metric: what rounding leaves over of an atom may cost the largest cost."""

    def answer(mu, nu, pair):
        value = transport.program(mu, nu, _off_diagonal(pair, NOT_A_METRIC), p)
        return _weights_and_roots(value, NOT_A_METRIC.max() ** p, p, EPS)

    divergence = OnSupport(lambda C: divergences.Wasserstein(p, C), NOT_A_METRIC)
    return Truth(f"Wasserstein p={p}, no metric", divergence, answer, pairs(2, shared=True, kinds=MILD), p)


LINE = [line(p) for p in (1, 1.5, 2, 3, 10)]
PLANE = [
    *(program("plane", p, ground.Euclidean(), transport.euclidean, 2) for p in (1, 2, 3)),
    program("space", 2, ground.Euclidean(), transport.euclidean, 5, kinds=MILD),
    *(program("binary", p, ground.Binary(1.5), transport.binary(1.5), 2) for p in (1, 2, 3)),
    *(program("torus", p, ground.Torus(2.0), transport.torus(2.0), 2, True, kinds=MILD) for p in (1, 2)),
    program("cityblock", 1, "cityblock", transport.cityblock, 2),
    matrix(1),
    matrix(2),
]


@dataclass(frozen=True)
class AgainstOne(Truth):
    """Thousands of atoms against one: there is one plan, and fractions would take a hundred times as long."""

    def of(self, pair):
        value = long(transport.to_one_point(pair.points[0], pair.weights[0], pair.points[1][0], self.power))
        return _weights_and_roots(value, value, self.power, 4e-15)


MANY = [
    AgainstOne(
        truth.name + ", many against one", truth.divergence, truth.answer, strategies.many_against_one(dim), truth.power
    )
    for truth, dim in ((LINE[0], 1), (LINE[2], 1), (PLANE[0], 2), (PLANE[1], 2))
]
SLICED = [sliced(p, 2) for p in (1, 2, 3)]


# -- entropic transport ------------------------------------------------------------------------

#: The rounding of weights at which measures count as equal, and are at 0.
TWINS = 1e-12


def apart(mu, nu):
    """Return the largest relative difference of the weights of two measures; infinite if their points differ."""
    q = dict(zip(nu.points, nu.weights, strict=True))
    if len(q) != len(mu.points) or any(x not in q for x in mu.points):
        return np.inf
    return max(abs(w - q[x]) / w for x, w in zip(mu.points, mu.weights, strict=True))


def sinkhorn(value, cost, distance, epsilon, tol, dim=2, **options):
    divergence = divergences.Sinkhorn(epsilon, cost, value, tol=tol)

    def answer(mu, nu, pair):
        gap = apart(mu, nu)
        if gap <= Fraction(TWINS) / 2:
            return 0, 0
        reach, ends = entropic.values(mu, nu, distance, epsilon)
        ends = ends[value]
        if gap <= 2 * Fraction(TWINS):  # rounding decides whether they are equal, and then at 0
            ends = min(0, *ends), max(0, *ends)
        size = reach if value != "debiased" else abs(ends[-1]) + mpf(1e-4) * epsilon
        entropy = 0 if value == "transport" else epsilon
        return *ends, 10 * mpf(tol) * size + mpf(1e-14) * (reach + entropy)

    name = f"Sinkhorn {value}, {cost}, epsilon={epsilon}, tol={tol}"
    return Truth(name, divergence, answer, pairs(dim, most=3, **options), divergence.power)


SINKHORN = [
    sinkhorn(value, cost, distance, epsilon, tol, kinds=MILD)
    for value in ("transport", "regularized", "debiased")
    for cost, distance in (("sqeuclidean", transport.squared), ("euclidean", transport.euclidean))
    for epsilon, tol in ((0.5, 1e-3), (0.5, 1e-9), (0.05, 1e-6))
]


# -- feature space -----------------------------------------------------------------------------

KERNELS = {
    "linear": (ground.Linear(), feature_space.linear),
    "polynomial": (ground.Polynomial(2, 0.5, 0.25), feature_space.polynomial(2, 0.5, 0.25)),
    "cubic": (ground.Polynomial(3, 0.5, 0.25), feature_space.polynomial(3, 0.5, 0.25)),
    "gaussian": (ground.Gaussian(gamma=0.5), feature_space.gaussian(0.5)),
    "laplacian": (ground.Laplacian(0.75), feature_space.laplacian(0.75)),
}
BOUNDED = ("gaussian", "laplacian")
RIDGE = 0.125


features = lru_cache(4096)(feature_space.Features)  # of the divergences that have a kernel and its pairs in common


def in_features(mu, nu, kernel):
    """Set the digits that inner products of features need."""
    degree = {"linear": 1, "polynomial": 2, "cubic": 3}.get(kernel, 0)
    return working(*mu.weights, *nu.weights, RIDGE, *(abs(x) ** degree for m in (mu, nu) for p in m.points for x in p))


def _in_features(name, make, formula, bound, kernel, dim, **options):
    point_kernel, k = KERNELS[kernel]

    def answer(mu, nu, pair):
        with in_features(mu, nu, kernel):
            f = features(mu, nu, k, dim)
            value = formula(f)
            ends = (value,) if apart(mu, nu) > 2 * Fraction(TWINS) else (min(0, value), max(0, value))
            return *ends, bound(f, value, kernel)

    return Truth(f"{name}, {kernel}", make(point_kernel), answer, pairs(dim, most=3, **options))


def _mmd_bound(f, value, kernel):
    # Of the embedding norm where means are exact; of its square where kernel values are added up.
    norm = sum(w * k for w, k in zip([*f.a, *f.b], f.diagonal, strict=True))
    rounding = 8 * EPS * mp.sqrt(norm)
    return 2 * mp.sqrt(abs(value)) * rounding + rounding**2 if kernel not in BOUNDED else 8 * EPS * norm


#: What rounding moves the standard deviations of two measures by that are pooled, in parts of the largest.
POOLED = 1e-14


def _wasserstein_bound(f, value, kernel):
    return mpf(1e-13) * (f.traces + f.gap if kernel == "linear" else f.largest)


def _rounding(f, kernel, part=1e-15):
    """Return by how much rounding moves a standard deviation, and the smallest ones, in units of the root of the ridge.

    A part of the largest feature of a polynomial; of coordinates, of the largest standard deviation and of the
    distance of the means: axes are turned by so much. Ten times as much where two measures are pooled.
    """
    sizes = {"polynomial": f.largest, "cubic": f.largest, "linear": f.traces + f.gap}
    moved = part * mp.sqrt(sizes.get(kernel, mpf(0)) / RIDGE)
    return moved, [mp.sqrt(v / RIDGE) for v in f.least_variances] if kernel == "linear" else [mpf(0)]


def _kl_bound(f, value, kernel):
    """Return 1e-9 below 1e4 ridge, and what rounding does to d.

    H = I + s^2 becomes H + 2 s e + e^2, which is within (1 + x)^2 of H, x = e / sqrt(1 + s^2) for the smallest s. Then
    d moves by at most x (1 + d). Above 1e4 ridge polynomials know s to 1e-4 of itself or are refused.
    """
    moved, least = _rounding(f, kernel)
    d = mp.sqrt(abs(value))
    moved *= (1 + d) / mp.sqrt(1 + min(least) ** 2)
    bound = 2 * d * moved + moved**2
    if f.traces <= 1e4 * RIDGE:
        return bound + mpf(1e-9) * max(abs(value), 1)
    bound += mpf(1e-12) * max(abs(value), 1)
    return bound if kernel == "linear" else bound + 4e-4 * d + 4e-8


def directed_bound(f, value, kernel):
    """Return what rounding does to 2 KL, tr H'^-1 H - l + log |H'| / |H| + d'H'^-1 d: each H moves by 2 x of it."""
    logs = sum(map(abs, feature_space.log_dets(f, mpf(RIDGE))))
    size = 2 * abs(value) + 6 + logs  # at most the trace and the form
    if kernel in BOUNDED:
        return mpf(1e-9) * size
    moved, least = _rounding(f, kernel)
    x = moved / mp.sqrt(1 + min(least) ** 2)
    steep = mpf(0) if kernel == "linear" or f.largest <= 1e4 * RIDGE else mpf(4e-4)
    return (4 * x + 2 * x**2 + mpf(1e-14) + steep) * size


def _log_det_bound(f, value, kernel, steep=2e7):
    """Return 1e-9 where both covariances add up to at most ``steep`` ridge, and what rounding does to
    log(1 + s^2): (2 s e + e^2) / (1 + s^2) a direction.

    By atoms it is 2e-16 k(x, x) / ridge, as documented: coincident atoms leave a pivot of 1 from two numbers k / ridge.
    """
    moved, least = _rounding(f, kernel, POOLED)
    if kernel == "linear":
        bound = sum((2 * s * moved + moved**2) / (1 + s**2) for s in least)
    else:
        bound = 2 * mp.sqrt(abs(value)) * moved + moved**2 + 2e-16 * f.largest / RIDGE
    if f.traces <= (steep if kernel == "linear" else 1e4) * RIDGE:
        return bound + mpf(1e-9) * max(abs(value), 1)
    return bound + (mpf(1e-12) * max(abs(value), 1) if kernel == "linear" else mpf(1e-3) * abs(value) + mpf(3e-4))


def _bhattacharyya_bound(f, value, kernel):
    """Return that of log-determinants; and, of the quadratic form of the means, the share by which rounding moves H.

    Standard deviations are known to 1e-14 of the largest, in the direction of the smallest too.
    """
    bound = _log_det_bound(f, value, kernel, steep=1e4)
    if kernel != "linear":
        return bound
    moved, (_, least) = POOLED * mp.sqrt(f.traces / RIDGE), _rounding(f, kernel)
    return bound + max((2 * s * moved + moved**2) / (1 + s**2) for s in least) * abs(value)


FEATURES = {
    "MMD": (divergences.MMD, feature_space.mmd, _mmd_bound),
    "GaussianWasserstein": (divergences.GaussianWasserstein, feature_space.wasserstein, _wasserstein_bound),
    "GaussianKL": (
        lambda k: divergences.GaussianKL(k, RIDGE), lambda f: feature_space.kl(f, mpf(RIDGE)), _kl_bound
    ),
    "GeneralizedVariance": (
        lambda k: divergences.GeneralizedVariance(RIDGE, k),
        lambda f: feature_space.generalized_variance(f, mpf(RIDGE)),
        _log_det_bound,
    ),
    "Bhattacharyya": (
        lambda k: divergences.Bhattacharyya(k, RIDGE),
        lambda f: feature_space.bhattacharyya(f, mpf(RIDGE)),
        _bhattacharyya_bound,
    ),
}  # fmt: skip
FEATURE_SPACE = [
    _in_features(name, *parts, kernel, 3 if kernel == "cubic" else 2)  # with more monomials than atoms
    for name, parts in FEATURES.items()
    for kernel in KERNELS
]
FEATURE_SPACE += [_in_features(name + " on the line", *parts, "linear", 1) for name, parts in FEATURES.items()]


# -- histograms and densities --------------------------------------------------------------------


def _histograms(name, divergence, formula, rounding=4.0, absolute=0.0, **options):
    """Roots of J and l2 distances are metrics: rounded weights move them by about as much."""

    def answer(mu, nu, pair):
        with working(*mu.weights, *nu.weights):
            value = long(formula(mu, nu, pair))
            d = mp.sqrt(max(value, 0))
            return value, mpf(1e-12) * value + 2 * d * rounding * EPS + (rounding * EPS) ** 2 + mpf(absolute)

    return Truth(name, divergence, answer, pairs(2, **{"shared": True, "kinds": MILD, **options}))


def _gaussian_family(diagonal, dim):
    name = "gaussian-diagonal" if diagonal else "gaussian"

    def answer(mu, nu, pair):
        value = entropies.gaussian_family(mu, nu, diagonal)
        if value is None:
            return None
        rounding = mpf(1e-14)
        if not diagonal and dim > 1:
            # Entropies are rounded by 2^-53 of themselves; with their logarithms, two roundings of J.
            rounding = 2e-14 + 1e-15 / min(map(entropies.determination, (mu, nu)))
            rounding += 2 * EPS * max(map(entropies.logarithms, (mu, nu)))
        return value, 1e-12 * value + rounding

    divergence = divergences.ExponentialFamily(name)
    # Mixed scales leave nothing but singular covariances, which are refused.
    kinds = ("coarse", "plain", "offset", "scaled", "outlier")
    drawn = pairs(dim, kinds, MODERATE, most=6, least=dim + 2, company=False)
    return Truth(f"ExponentialFamily {name}, dim {dim}", divergence, answer, drawn)


HISTOGRAMS = [
    _histograms("Euclidean", divergences.Euclidean(), lambda mu, nu, _: entropies.euclidean(mu, nu)),
    _histograms("Euclidean, clouds", divergences.Euclidean(), lambda mu, nu, _: entropies.euclidean(mu, nu),
                shared=False, kinds=tuple(strategies.COORDINATES)),
    _histograms("JensenShannon", divergences.JensenShannon(), lambda mu, nu, _: entropies.jensen_shannon(mu, nu)),
    _histograms("JensenShannon, whole numbers", divergences.JensenShannon(),
                lambda mu, nu, _: entropies.jensen_shannon(mu, nu), shared=False, kinds=("whole",)),
    _histograms("ExponentialFamily multinomial", divergences.ExponentialFamily("multinomial", 1.5),
                lambda mu, nu, _: 3 * entropies.jensen_shannon(mu, nu)),
    _histograms("ExponentialFamily multinomial-exact", divergences.ExponentialFamily("multinomial-exact", 1.5),
                lambda mu, nu, pair: entropies.dirichlet(mu, nu, len(pair.support), 1.5, 0.5), absolute=4e-15),
]  # fmt: skip
FAMILIES = [_gaussian_family(diagonal, dim) for diagonal, dim in ((False, 1), (True, 2), (False, 2))]

ALL = [*LINE, *PLANE, *MANY, *SLICED, *SINKHORN, *FEATURE_SPACE, *HISTOGRAMS, *FAMILIES]
