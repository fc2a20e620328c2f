"""Measures as fractions, and fractions as long floating-point numbers."""

from collections import defaultdict
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from mpmath import mp, mpf

#: Decimal digits beyond those that the ranges of numbers take: 40, and as many as differences in the last bits of
#: coordinates cancel, 32 of an inner product and 64 of a determinant of two.
DIGITS = 104


class Exact(NamedTuple):
    """Distinct points, tuples of fractions, and their probabilities."""

    points: tuple[tuple[Fraction, ...], ...]
    weights: tuple[Fraction, ...]


def exact(points, weights):
    """Return the measure that arrays of any layout and type hold; atoms at one point are one atom."""
    masses = defaultdict(Fraction)
    for point, weight in zip(points.tolist(), weights.tolist(), strict=True):
        if weight:
            masses[tuple(Fraction(x) for x in point)] += Fraction(weight)
    total = sum(masses.values())
    return Exact(tuple(masses), tuple(w / total for w in masses.values()))


@lru_cache(4096)
def measures(pair):
    """Return both measures of a pair, which many truths share."""
    return tuple(exact(x, w) for x, w in zip(pair.points, pair.weights, strict=True))


def long(x):
    """Return a fraction as a number of the working precision."""
    return mpf(x.numerator) / x.denominator if isinstance(x, Fraction) else mpf(x)


def digits(*fractions):
    """Return the digits that numbers between these, all positive, may cancel, plus those we want."""
    sizes = [_log10(x) for x in fractions if x]
    return DIGITS + int(2 * (max(sizes, default=0) - min(sizes, default=0)))


def working(*fractions, least=0):
    """Set the precision for a calculation with these numbers."""
    return mp.workdps(max(least, digits(*fractions)))


def _log10(x):
    x = Fraction(x)
    return (abs(x.numerator).bit_length() - x.denominator.bit_length()) * 0.30103


def power(x, p):
    """Return x**p, a fraction where that is one, for x >= 0."""
    return x ** int(p) if p == int(p) and isinstance(x, Fraction) else (long(x) ** mpf(p) if x else mpf(0))
