"""What cores take: a ground and the atoms of measures; rows of ground costs and point kernels between atoms.

Points are laid out coordinate by coordinate, (d, N), so that the innermost loop runs over atoms and
vectorises whatever the dimension.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .._typing import FloatArray, IndexArray
from .exp import exp
from .ground_codes import BINARY, EUCLIDEAN, GAUSSIAN, LAPLACIAN, POLYNOMIAL, TORUS
from .jit import inline_core, shared_core, tile_core, uncached_core

#: In place of a code: values are looked up in a table by the numbers of the points.
TABLE = -1


class CoreGround(NamedTuple):
    """A ground cost or point kernel: its code and parameters, or TABLE and values (m, m) between numbered points."""

    code: int
    params: FloatArray
    table: FloatArray


class Atoms(NamedTuple):
    """Measures as weighted points: coordinates (d, N), weights (N,); measure i owns offsets[i]:offsets[i + 1].

    ``ids`` (N,) number the points where the ground is a table.
    """

    coordinates: FloatArray
    weights: FloatArray
    offsets: IndexArray
    ids: IndexArray


@inline_core
def squared(a, b, period):
    """Return (a - b)^2: by differences, nothing cancels."""
    return (a - b) * (a - b)


@inline_core
def absolute(a, b, period):
    """Return |a - b|."""
    return abs(a - b)


@inline_core
def product(a, b, period):
    """Return a b."""
    return a * b


@inline_core
def wrapped(a, b, period):
    """Return the squared distance on a circle of length ``period``."""
    gap = abs(a - b)
    gap = gap - period * np.floor(gap / period)
    gap = min(gap, period - gap)
    return gap * gap


@inline_core
def sum_row(term, x, i, y, start, stop, period, out):
    """out[j] = sum over the coordinates of term(x_i, y_(start + j), period), two at a time.

    Four at a time are 6 % faster in 10-D, and take longer to compile. Indices without a sign vectorise, and slices of
    some coordinates would be counted: 100 ns for a row of 20 points in 3-D, not 30.
    """
    first, size, odd = np.uint64(start), np.uint64(stop - start), x.shape[0] % 2
    x0 = x[0, i]
    for j in range(size):
        out[j] = term(x0, y[0, first + j], period) if odd else 0.0
    for k in range(odd, x.shape[0], 2):
        x0, x1 = x[k, i], x[k + 1, i]
        for j in range(size):
            out[j] += term(x0, y[k, first + j], period) + term(x1, y[k + 1, first + j], period)


@tile_core
def kernel_row(code, params, x, i, y, start, stop, out):
    """out[j] = k(x_i, y_(start + j)) for the point kernel ``code``; what kinds share is compiled once."""
    n = stop - start
    if code == GAUSSIAN:
        sum_row(squared, x, i, y, start, stop, 0.0, out)
    elif code == LAPLACIAN:
        sum_row(absolute, x, i, y, start, stop, 0.0, out)
    else:
        sum_row(product, x, i, y, start, stop, 0.0, out)
    if code in (GAUSSIAN, LAPLACIAN):  # exp(-gamma |x - y|^2), exp(-gamma |x - y|_1)
        for j in range(n):
            out[j] = exp(-params[0] * out[j])
    elif code == POLYNOMIAL:  # (gamma <x, y> + coef0)^degree
        for j in range(n):
            base = params[0] * out[j] + params[1]
            power = 1.0
            for _ in range(np.int64(params[2])):
                power *= base
            out[j] = power


@inline_core
def values_row(ground, x, x_ids, a, y, y_ids, start, stop, out):
    """out[b] = k(x_a, y_(start + b)) between numbered atoms: computed, or read from the table of the ground.

    Callers take structs apart before they loop: a field read in a loop is counted each time, which took 15 %.
    """
    code, params, table = ground
    if code == TABLE:
        for b in range(stop - start):
            out[b] = table[x_ids[a], y_ids[start + b]]
    else:
        kernel_row(code, params, x, a, y, start, stop, out)


@inline_core
def longest(offsets, rows):
    """Return the largest number of atoms among the measures ``rows``, at least 1."""
    size = 1
    for i in rows:
        size = max(size, offsets[i + 1] - offsets[i])
    return size


def padded_size(size: Any) -> Any:
    """Return the size, or sizes, rounded up to a multiple of four."""
    return (size + 3) // 4 * 4


#: The same inside cores.
padded = inline_core(padded_size)


@inline_core
def finish_costs(code, params, out):
    """Make costs of the squared distances in ``out``."""
    if code in (EUCLIDEAN, TORUS):
        for j in range(len(out)):
            out[j] = np.sqrt(out[j])
    elif code == BINARY:
        for j in range(len(out)):
            out[j] = params[0] if out[j] > 0.0 else 0.0


@tile_core
def kernel_block(code, params, x, y, out):
    """out[i, j] = k(x_i, y_j) between all points of (d, n) and (d, m)."""
    for i in range(x.shape[1]):
        kernel_row(code, params, x, i, y, 0, y.shape[1], out[i])


@shared_core
def cost_block(code, params, x, y, out):
    """out[i, j] = c(x_i, y_j) between the first n points of x and the first m of y; contiguous.

    The row loop is in here: as calls, rows of 20 points took 2.3 us instead of 0.3.
    """
    n, m = out.shape
    if code == TORUS:
        for i in range(n):
            sum_row(wrapped, x, i, y, 0, m, params[0], out[i])
    else:
        for i in range(n):
            sum_row(squared, x, i, y, 0, m, 0.0, out[i])
    finish_costs(code, params, out.reshape(n * m))


@uncached_core
def pair_block(function, x, y, out):
    """out[i, j] = function(x_i, y_j), a compiled function of two points, between all points of (n, d) and (m, d)."""
    for i in range(x.shape[0]):
        for j in range(y.shape[0]):
            out[i, j] = function(x[i], y[j])
