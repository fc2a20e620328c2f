"""Transport: quantiles on the line, a linear program in fractions elsewhere."""

import math
from fractions import Fraction

from mpmath import mp, mpf
from tests.oracles.rational import transport_cost

from .numbers import long, power


def squared(x, y):
    return sum((s - t) ** 2 for s, t in zip(x, y, strict=True))


def euclidean(x, y):
    """Return the distance of two points: a fraction on the line, otherwise a root to the working precision."""
    return abs(x[0] - y[0]) if len(x) == 1 else root(squared(x, y))


def root(x):
    return mp.sqrt(long(x)) if x else mpf(0)


def cityblock(x, y):
    return sum(abs(s - t) for s, t in zip(x, y, strict=True))


def binary(scale):
    return lambda x, y: Fraction(scale) * (x != y)


def torus(period):
    period = Fraction(period)

    def distance(x, y):
        gaps = [abs(s - t) % period for s, t in zip(x, y, strict=True)]
        return root(sum(min(gap, period - gap) ** 2 for gap in gaps))

    return distance


def table(points, values):
    """Return a cost matrix between the points of a support as a function of two points."""
    number = {point: i for i, point in enumerate(points)}
    return lambda x, y: Fraction(values[number[x]][number[y]])


def on_the_line(mu, nu, p):
    """Return W_p^p by the quantile functions."""
    left, right = (sorted(zip(m.points, m.weights, strict=True)) for m in (mu, nu))
    total, i, j, a, b = Fraction(0), 0, 0, left[0][1], right[0][1]
    while i < len(left) and j < len(right):
        moved = min(a, b)
        total += moved * power(abs(left[i][0][0] - right[j][0][0]), p)
        a, b = a - moved, b - moved
        if not a:
            i, a = i + 1, left[i + 1][1] if i + 1 < len(left) else 0
        if not b:
            j, b = j + 1, right[j + 1][1] if j + 1 < len(right) else 0
    return total


def costs(mu, nu, distance, p):
    return [[power(distance(x, y), p) for y in nu.points] for x in mu.points]


def program(mu, nu, distance, p):
    """Return W_p^p by the linear program; with a single atom on one side there is one plan."""
    if 1 in (len(mu.points), len(nu.points)):
        return independent(mu, nu, distance, p)
    C = costs(mu, nu, distance, p)
    return transport_cost([[_fraction(c) for c in row] for row in C], mu.weights, nu.weights)


def independent(mu, nu, distance, p):
    """Return the cost of the plan a b', which says what a relative error of the weights can cost."""
    C = costs(mu, nu, distance, p)
    pairs = ((a, row) for a, row in zip(mu.weights, C, strict=True))
    return sum(_times(a * b, c) for a, row in pairs for b, c in zip(nu.weights, row, strict=True))


#: Bits of roots of integers.
ROOT = 160


def to_one_point(points, weights, point, p):
    """Return W_p^p, p = 1 or 2, of atoms of integer weights and a single point: integers over one power of two."""
    ratios = [[float(x).as_integer_ratio() for x in row] for row in [*points.tolist(), point.tolist()]]
    one = max(d for row in ratios for _, d in row)
    *cloud, centre = ([n * (one // d) for n, d in row] for row in ratios)
    squares = [sum((s - t) ** 2 for s, t in zip(x, centre, strict=True)) for x in cloud]
    lengths = squares if p == 2 else [math.isqrt(s << 2 * ROOT) for s in squares]
    total = sum(w * s for w, s in zip(weights.tolist(), lengths, strict=True))
    return Fraction(total, int(weights.sum()) * one**p << (0 if p == 2 else ROOT))


def sliced(mu, nu, p, directions):
    """Return SW_p^p: the mean over exact projections."""
    values = [on_the_line(*(projected(m, theta) for m in (mu, nu)), p) for theta in directions]
    return sum(values) / len(values)


def projected(mu, theta):
    theta = [Fraction(t) for t in theta]
    points = [(sum(s * t for s, t in zip(x, theta, strict=True)),) for x in mu.points]
    return type(mu)(points, mu.weights)


def norm(mu, p):
    """Return the p-th moment of the Euclidean norm, as a float exponent of two is too short: a long number."""
    return sum(long(a) * power(root(squared(x, [0] * len(x))), p) for x, a in zip(mu.points, mu.weights, strict=True))


def _times(a, c):
    return a * c if isinstance(c, Fraction) else long(a) * c


def _fraction(c):
    if isinstance(c, (Fraction, int)):
        return Fraction(c)
    sign, mantissa, exponent, _ = c._mpf_
    assert not sign
    return Fraction(int(mantissa)) * Fraction(2) ** exponent if c else Fraction(0)
