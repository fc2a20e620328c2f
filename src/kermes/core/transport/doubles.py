"""Sums of two doubles: about 32 digits. The parts are compiled into callers that allow no rearrangement of sums."""

from __future__ import annotations

from ..jit import part_core

EPS = 2.0**-52
#: Splits a double into two halves of 26 bits.
SPLIT = 2.0**27 + 1.0


@part_core
def two_sum(a, b):
    """Return the rounded sum of two doubles, and what rounding left out."""
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


@part_core
def add(high, low, other_high, other_low):
    """Return the sum of two numbers of two parts each."""
    s, e = two_sum(high, other_high)
    return two_sum(s, e + (low + other_low))


@part_core
def two_product(a, b):
    """Return the rounded product of two doubles, and what rounding left out (Dekker; numbers up to 1e290)."""
    p = a * b
    s, t = SPLIT * a, SPLIT * b
    a_high, b_high = s - (s - a), t - (t - b)
    a_low, b_low = a - a_high, b - b_high
    return p, ((a_high * b_high - p) + a_high * b_low + a_low * b_high) + a_low * b_low
