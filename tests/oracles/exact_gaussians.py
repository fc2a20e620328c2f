"""Gaussians with the moments of measures, in rational arithmetic: nothing is rounded before the last logarithm.

Features of a polynomial kernel are monomials g times the roots of rational coefficients c. With f = C^(1/2) g,
tr (S_f + reg I)(T_f + reg I)^-1 = tr (S_g + R)(T_g + R)^-1 for R = reg C^-1, and so for the other terms: roots cancel.
"""

import itertools
import math
from fractions import Fraction


def monomials(dim, degree, coef0=1):
    """Return exponents and coefficients of (<x, y> + coef0)^degree; degree 1 and coef0 0 is the linear kernel."""
    found = {}
    for pick in itertools.combinations_with_replacement(range(dim + 1), degree):
        counts = [pick.count(k) for k in range(dim + 1)]
        c = Fraction(math.factorial(degree), math.prod(map(math.factorial, counts))) * Fraction(coef0) ** counts[-1]
        if c:
            found[tuple(counts[:-1])] = c
    return found


def moments(points, weights, exponents):
    """Return mean and covariance of the monomials."""
    points = [[Fraction(x) for x in point] for point in points.tolist()]
    weights = [Fraction(w) for w in weights.tolist()]
    total = sum(weights)
    rows = [[math.prod(x**e for x, e in zip(point, power, strict=True)) for power in exponents] for point in points]
    mean = [sum(w * row[k] for w, row in zip(weights, rows, strict=True)) / total for k in range(len(exponents))]
    centred = [[a - b for a, b in zip(row, mean, strict=True)] for row in rows]
    r = range(len(mean))
    covariance = [
        [sum(w * row[a] * row[b] for w, row in zip(weights, centred, strict=True)) / total for b in r] for a in r
    ]
    return mean, covariance


def solve(A, B):
    """Return A^-1 B and det A by elimination, for A symmetric positive definite."""
    n, rows, det = len(A), [[*a, *b] for a, b in zip(A, B, strict=True)], Fraction(1)
    for k in range(n):
        det *= rows[k][k]
        rows[k] = [x / rows[k][k] for x in rows[k]]
        for i in range(n):
            if i != k and rows[i][k]:
                rows[i] = [x - rows[i][k] * y for x, y in zip(rows[i], rows[k], strict=True)]
    return [row[n:] for row in rows], det


def log(x):
    """Return the logarithm of a rational number of any size."""
    shift = x.numerator.bit_length() - x.denominator.bit_length()
    return math.log(x / Fraction(2) ** shift) + shift * math.log(2)


def regularised(mu, nu, kernel, reg):
    """Return the difference of the means and both covariances with R = reg C^-1 added, and R itself."""
    exponents, coefficients = list(kernel), list(kernel.values())
    m, S = moments(mu.points, mu.weights, exponents)
    n, T = moments(nu.points, nu.weights, exponents)
    R = [Fraction(reg) / c for c in coefficients]
    for k, value in enumerate(R):
        S[k][k] += value
        T[k][k] += value
    return [a - b for a, b in zip(m, n, strict=True)], S, T, R


def combine(S, T, gap, part):
    """Return (S + T) / 2 + part gap gap'."""
    r = range(len(S))
    return [[(S[a][b] + T[a][b]) / 2 + part * gap[a] * gap[b] for b in r] for a in r]


def form(A, gap):
    """Return gap' A^-1 gap."""
    solved, _ = solve(A, [[x] for x in gap])
    return sum(x * y[0] for x, y in zip(gap, solved, strict=True))


def log_ratio(A, R):
    """Return log det A / det R for a diagonal R: R = reg I in the features themselves."""
    return log(solve(A, [[Fraction(0)]] * len(A))[1] / math.prod(R))


def kl(mu, nu, kernel, reg):
    """Return the symmetrised Kullback-Leibler divergence, squared as ``GaussianKL`` squares it."""
    gap, S, T, _ = regularised(mu, nu, kernel, reg)
    traces = sum(solve(A, B)[0][k][k] for A, B in ((S, T), (T, S)) for k in range(len(S)))
    return float((traces - 2 * len(S) + form(S, gap) + form(T, gap)) / 4)


def generalized_variance(mu, nu, kernel, eta):
    """Return the Jensen difference of log det(Sigma / eta + I) / 2."""
    gap, S, T, R = regularised(mu, nu, kernel, eta)
    mean = combine(S, T, gap, Fraction(1, 4))
    return 0.5 * (log_ratio(mean, R) - 0.5 * (log_ratio(S, R) + log_ratio(T, R)))


def bhattacharyya(mu, nu, kernel, eta):
    """Return the Bhattacharyya distance -ln int sqrt(p q)."""
    gap, S, T, R = regularised(mu, nu, kernel, eta)
    H = combine(S, T, gap, Fraction(0))
    return 0.5 * (log_ratio(H, R) - 0.5 * (log_ratio(S, R) + log_ratio(T, R))) + float(form(H, gap) / 8)
