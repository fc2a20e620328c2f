"""The logarithm and the terms of the Jensen-Shannon divergence."""

import math
from fractions import Fraction

import numpy as np
import pytest
from mpmath import mp
from numpy.testing import assert_allclose, assert_array_equal

from kermes.core import jensen_shannon
from kermes.core.jit import tile_core
from kermes.core.log import log


@tile_core
def log_all(x, out):
    for i in range(len(x)):
        out[i] = log(x[i])


@tile_core
def divided_all(p, q, out):
    for i in range(len(p)):
        out[i] = jensen_shannon.divided(p[i], q[i])


def test_log_is_accurate_inside_a_reordering_loop():
    rng = np.random.default_rng(0)
    x = np.concatenate([np.exp(np.linspace(-708, 709, 4001)), 1 + rng.uniform(-0.6, 0.9, 4000),
                        1 + 10.0 ** -np.arange(1, 16), 1 - 10.0 ** -np.arange(1, 16),
                        2.0 ** np.arange(-1022, 1024), [np.finfo(float).max]])  # fmt: skip
    out = np.empty_like(x)
    log_all(x, out)
    assert_allclose(out, np.log(x), rtol=6e-16)


def test_log_saturates_at_the_smallest_normal_number():
    x = np.array([0.0, 5e-324, 1e-310, np.finfo(float).tiny])
    out = np.empty_like(x)
    log_all(x, out)
    assert_allclose(out, math.log(np.finfo(float).tiny), rtol=1e-15)
    assert_array_equal(x[0] * out[0], 0.0)


def exact_term(p, q):
    """(p+q)/4 g(x): by its series where that converges fast."""
    x = Fraction(p - q) / Fraction(p + q)
    if abs(x) > Fraction(1, 2):
        return sum(u * math.log(2 * u / (p + q)) for u in (p, q) if u) / 2
    return float((p + q) / 4 * sum(x ** (2 * n) / (n * (2 * n - 1)) for n in range(1, 30)))


@pytest.mark.parametrize("scale", [1.0, 1e-12, 1e-200])
def test_terms_keep_their_relative_accuracy(scale):
    gaps = [0.0, 1e-15, 1e-9, 1e-4, 0.1, 0.2499, 0.2501, 0.5, 0.9, 1 - 1e-9, 1.0]
    p = scale * np.array([1 + gap for gap in gaps])
    q = scale * np.array([1 - gap for gap in gaps])
    out = np.empty_like(p)
    divided_all(p, q, out)
    assert_allclose(out, [exact_term(Fraction(a), Fraction(b)) for a, b in zip(p, q, strict=True)], rtol=3e-15)
    swapped = np.empty_like(p)
    divided_all(q, p, swapped)
    assert_allclose(swapped, out, rtol=1e-15)


def test_terms_of_zero():
    out = np.empty(3)
    divided_all(np.array([0.0, 1.0, 0.0]), np.array([0.0, 0.0, 0.5]), out)
    assert_allclose(out, [0.0, math.log(2) / 2, math.log(2) / 4], rtol=1e-15)


def test_terms_where_the_series_ends():
    """At |p - q| = 0.35 (p + q) the next power of the series is 4e-14 of the term: logarithms take over before."""
    x = np.linspace(0.2, 0.36, 17)
    out = np.empty_like(x)
    divided_all(0.5 * (1.0 + x), 0.5 * (1.0 - x), out)
    with mp.workdps(40):
        terms = [(1 + t) * mp.log1p(t) + (1 - t) * mp.log1p(-t) for t in map(mp.mpf, x.tolist())]
        assert_allclose(out, [float(t / 4) for t in terms], rtol=8e-15)
