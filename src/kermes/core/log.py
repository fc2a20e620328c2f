"""A logarithm that vectorises, the companion of ``exp``.

LLVM cannot vectorise calls to libm's ``log``; this one is straight-line arithmetic, with a relative error below
5e-16 for every normal number. Like ``exp`` it saturates and never returns inf or nan for x >= 0, so that
``x * log(x)`` is 0 at 0 without a branch. It is compiled on its own terms, since a caller may reorder sums.
"""

from __future__ import annotations

import numpy as np

from .jit import strict_core

#: Smallest normal number; all below it, 0 included, count as it.
SMALLEST = 2.2250738585072014e-308
LN2 = 0.6931471805599453
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
    # (2 artanh(s) / s - 2) / z, interpolated at seven Chebyshev points of [0, 0.02945]: off by 3e-16.
    p = 0.1461703754879165
    p = p * z + 0.1533167403016786
    p = p * z + 0.18182890556695602
    p = p * z + 0.2222221111514416
    p = p * z + 0.2857142862609589
    p = p * z + 0.3999999999989924
    p = p * z + 0.666666666666667
    return k * LN2 + s * (2.0 + p * z)
