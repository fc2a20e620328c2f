"""A logarithm that vectorises, the companion of ``exp``.

LLVM cannot vectorise calls to libm's ``log``; this one is straight-line arithmetic, with a relative error below
4e-16 for every normal number. Like ``exp`` it saturates and never returns inf or nan for x >= 0, so that
``x * log(x)`` is 0 at 0 without a branch. It is compiled on its own terms, since a caller may reorder sums.
"""

from __future__ import annotations

import numpy as np

from .jit import strict_core

#: Smallest normal number; all below it, 0 included, count as it.
SMALLEST = 2.2250738585072014e-308
# ln 2 in two parts: k * LN2_HIGH is exact for |k| < 2**20.
LN2_HIGH = 6.93147180369123816490e-01
LN2_LOW = 1.90821492927058770002e-10
# Bit patterns. Numbers are cut at sqrt(1/2), so that the mantissa comes out in [sqrt(1/2), sqrt(2)).
CUT = np.uint64(0x3FE6A09E667F3BCD)
ONE_LESS_CUT = np.uint64(0x3FF0000000000000 - 0x3FE6A09E667F3BCD)
MANTISSA = np.uint64(0x000FFFFFFFFFFFFF)
SHIFT = np.uint64(52)
# An integer below 2**52 written into the mantissa of 2**52 is that integer, plus 2**52, as a float: the conversion
# that AVX2 lacks.
TWO_52 = np.uint64(0x4330000000000000)
BIAS = 4503599627370496.0 + 1023.0


@strict_core
def log(x):
    """Return ln(x) for one float64 x >= 0; below 2.2e-308 (also at 0) that of 2.2e-308, -708.4."""
    bits = np.float64(max(x, SMALLEST)).view(np.uint64) + ONE_LESS_CUT
    k = np.uint64((bits >> SHIFT) | TWO_52).view(np.float64) - BIAS
    f = np.uint64((bits & MANTISSA) + CUT).view(np.float64) - 1.0  # x = 2**k (1 + f)
    s = f / (2.0 + f)  # ln(1 + f) = 2 artanh(s), |s| < 0.172
    z = s * s
    # Taylor series of 2 artanh(s) / s - 2; the next term is below 1e-17.
    p = 2.0 / 21.0
    p = p * z + 2.0 / 19.0
    p = p * z + 2.0 / 17.0
    p = p * z + 2.0 / 15.0
    p = p * z + 2.0 / 13.0
    p = p * z + 2.0 / 11.0
    p = p * z + 2.0 / 9.0
    p = p * z + 2.0 / 7.0
    p = p * z + 2.0 / 5.0
    p = p * z + 2.0 / 3.0
    # 2 s = f - f**2 / 2 + s f**2 / 2 keeps the leading term f exact.
    half = 0.5 * f * f
    return k * LN2_HIGH - ((half - (s * (half + p * z) + k * LN2_LOW)) - f)
