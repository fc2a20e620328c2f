"""Jensen differences of entropies: of histograms, of Gaussian densities, of Dirichlet integrals; l2 of histograms."""

from fractions import Fraction

from mpmath import mp, mpf

from .linear_algebra import det
from .numbers import long


def masses(mu, nu):
    """Return the probabilities of both measures at every point of either."""
    p, q = (dict(zip(m.points, m.weights, strict=True)) for m in (mu, nu))
    return [(p.get(z, Fraction(0)), q.get(z, Fraction(0))) for z in dict.fromkeys([*p, *q])]


def euclidean(mu, nu):
    return sum((a - b) ** 2 for a, b in masses(mu, nu))


def entropy(weights):
    return -sum(long(w) * mp.log(long(w)) for w in weights if w)


def jensen_shannon(mu, nu):
    """Return J term by term: a ln(2a / (a + b)) / 2 + b ln(2b / (a + b)) / 2."""
    return sum(long(u) * mp.log(long(2 * u / (a + b))) for a, b in masses(mu, nu) for u in (a, b) if u) / 2


def moments(mu):
    """Return mean and covariance as fractions."""
    axes = list(zip(*mu.points, strict=True))
    mean = [sum(w * x for w, x in zip(mu.weights, axis, strict=True)) for axis in axes]
    centred = [[x - m for x in axis] for axis, m in zip(axes, mean, strict=True)]
    S = [[sum(w * x * y for w, x, y in zip(mu.weights, r, s, strict=True)) for s in centred] for r in centred]
    return mean, S


def gaussian_family(mu, nu, diagonal, share=Fraction(1, 2)):
    """Return ln |S''| - (ln |S| + ln |S'|) / 2, None if a covariance is singular; ``share`` is that of mu."""
    (m, S), (n, T) = moments(mu), moments(nu)
    r, p, q = range(len(m)), share, 1 - share
    pooled = [[p * S[i][j] + q * T[i][j] + p * q * (m[i] - n[i]) * (m[j] - n[j]) for j in r] for i in r]
    dets = []
    for A in (pooled, S, T):
        A = [[x if i == j or not diagonal else Fraction(0) for j, x in enumerate(row)] for i, row in enumerate(A)]
        minors = [_det(A, k) for k in range(1, len(A) + 1)]
        if not all(minors):
            return None
        dets.append(mp.log(long(minors[-1])))
    return dets[0] - long(p) * dets[1] - long(q) * dets[2]


def determination(mu):
    """Return the determinant of the correlation matrix: at most its least eigenvalue, but for two axes half of it."""
    _, S = moments(mu)
    product = Fraction(1)
    for k in range(len(S)):
        product *= S[k][k]
    return long(_det(S, len(S)) / product)


def logarithms(mu):
    """Return sum_k |ln S_kk|: what entropies of Gaussians add up, and round."""
    _, S = moments(mu)
    return sum(abs(mp.log(long(S[k][k]))) for k in range(len(S)))


def _det(A, k):
    try:
        return det([row[:k] for row in A[:k]])
    except ZeroDivisionError:
        return 0


def dirichlet(mu, nu, size, beta, prior):
    """Return J of h = -ln phi(2 beta mu) on ``size`` points."""
    h = [_negative_log_phi(w, size, 2 * Fraction(beta), Fraction(prior)) for w in zip(*masses(mu, nu), strict=True)]
    mean = [(a + b) / 2 for a, b in masses(mu, nu)]
    return _negative_log_phi(mean, size, 2 * Fraction(beta), Fraction(prior)) - (h[0] + h[1]) / 2


def _negative_log_phi(weights, size, mass, prior):
    total = size * prior
    terms = sum(mp.loggamma(long(mass * w + prior)) - mp.loggamma(long(prior)) for w in weights)
    return mp.loggamma(long(mass + total)) - mp.loggamma(long(total)) - terms


def truncated_exponential(mu, nu, low, high):
    """Return J of the entropy of densities c exp(theta x) on [low, high]^d with the means of the measures."""
    middle, half = Fraction(low + high) / 2, Fraction(high - low) / 2

    def entropies(mean):
        return sum(_exponential_entropy(long((m - middle) / half)) for m in mean) + len(mean) * mp.log(2 * long(half))

    (m, _), (n, _) = moments(mu), moments(nu)
    mean = [(x + y) / 2 for x, y in zip(m, n, strict=True)]
    return entropies(mean) - (entropies(m) + entropies(n)) / 2


def _exponential_entropy(mean):
    """Return min_t ln(sinh t / t) - t mean for a mean in (-1, 1), which is the entropy less ln 2."""
    mean = abs(mean)
    if not mean:
        return mpf(0)
    start = 3 * mean if mean < mpf("0.6") else 1 / (1 - mean)
    t = mp.findroot(lambda t: mp.coth(t) - 1 / t - mean, start)
    return mp.log(mp.sinh(t) / t) - t * mean
