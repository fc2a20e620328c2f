"""Scalings of entropic barycentres: the passes between two applications of the kernel, each over the arrays once.

Arrays are (h, n, w): rows of the grid, measures, columns.
"""

from __future__ import annotations

import numpy as np

from .jit import tile_core

#: Steps are lengthened to r (1 + LONG r) / (LONG + r): as r^(7/4) near r = 1, and at most 7 times r far from it.
LONG = 7.0
#: Ratios beyond are no matter of convergence: the step is taken as it is.
FAR = 1e6
#: The bits of a double that are its mantissa, and that are 1.
MANTISSA, ONE = np.int64((1 << 52) - 1), np.int64(1023 << 52)


@tile_core
def scale(target, factor, sums, weights, longer, scalings):
    """Make the marginals ``scalings * factor * sums`` equal to ``target``, or go ``longer``; return how far they were.

    ``target`` and ``factor`` are (h, n, w), or (h, 1, w) for all measures. The distance is the sum over measures of
    ``weights`` (n,) times L1 distances.
    """
    gap = 0.0
    shared, same = target.shape[1] == 1, factor.shape[1] == 1
    for i in range(sums.shape[0]):
        for j in range(sums.shape[1]):
            wanted, lift = target[i, 0 if shared else j], factor[i, 0 if same else j]
            total, scaling = sums[i, j], scalings[i, j]
            distance = 0.0
            for k in range(len(total)):
                start = scaling[k] * lift[k]
                marginal = start * total[k]
                ratio = wanted[k] / marginal
                distance += abs(marginal - wanted[k])
                far = not (longer and ratio < FAR)  # also where nothing is wanted and nothing is there
                step = ratio * (1.0 + LONG * ratio) / (LONG + ratio)
                scaling[k] = wanted[k] / total[k] if far else start * step
            gap += weights[j] * distance
    return gap


@tile_core
def multiply(sums, exponents, mantissas):
    """Multiply the sums of all measures into mantissas 2^exponents, both (h, w): no product leaves the range."""
    bits = sums.view(np.int64)
    for i in range(sums.shape[0]):
        power, product = exponents[i], mantissas[i]
        for j in range(sums.shape[1]):
            row = bits[i, j]
            for k in range(len(row)):
                power[k] += (row[k] >> 52) - 1023
                product[k] *= np.int64((row[k] & MANTISSA) | ONE).view(np.float64)
