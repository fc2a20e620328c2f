"""What an iteration does with a block, by instructions on vectors: products of eight rows, relaxed updates.

Sides are padded to whole vectors. A row is a place in memory: taken as an array, its references would be counted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import config, types
from numba.core.cgutils import ir
from numba.extending import intrinsic

from ..writer import Writer

GROUP = 8  # rows at a time: as many sums hide the latency of multiply-adds


def dots8(K: Any, ids: Any, v: Any, s: Any, r: Any) -> None:
    """s[r + q] = K[ids[r + q]] . v for q = 0..7; v has a multiple of 8 entries, and K as many columns or more."""
    with np.errstate(all="ignore"):  # as compiled: scalings of pairs that diverge are inf, and seen by the loop
        s[r : r + GROUP] = K[ids[r : r + GROUP], : v.size] @ v


def axpy8(K: Any, ids: Any, u: Any, t: Any, r: Any) -> None:
    """Add sum_q u[r + q] K[ids[r + q]], q = 0..7, to t, which has a multiple of 8 entries; K may have more columns."""
    with np.errstate(all="ignore"):
        t += u[r : r + GROUP] @ K[ids[r : r + GROUP], : t.size]


def relax(a: Any, u: Any, s: Any, lo: Any, hi: Any, theta: Any) -> Any:
    """Over-relaxed scaling u <- u q^(1 + theta), q = a / (u s), on [lo, hi); returns sum |u s - a| before it.

    The power q^theta is replaced by ((1 + theta) q + 1 - theta) / ((1 - theta) q + 1 + theta): same derivative at q = 1
    and same symmetry under q -> 1/q, positive, and bounded far from 1. It needs the same number of iterations as the
    power (25.1 against 25.1 on MNIST at theta = 0.7) and no pow. theta = 0 is the plain update u = a / s. In double
    precision, where others end, a / s is a quotient of its own: the square of a weight below 1e-162 is 0.
    ``lo`` and ``hi`` are multiples of 8.
    """
    p, q = np.float32(1) + theta, np.float32(1) - theta
    x, t = a[lo:hi], u[lo:hi] * s[lo:hi]
    with np.errstate(all="ignore"):
        if x.dtype == np.float64:
            new = x / s[lo:hi] * ((p * x + q * t) / (q * x + p * t))
        else:
            new = x * (p * x + q * t) / (s[lo:hi] * (q * x + p * t))
    u[lo:hi] = np.where(x > 0, new, 0)
    return np.abs(t - x).sum()


def _write_dots(w: Writer) -> None:
    r, zero = w.arguments[4], w.whole(0)
    rows, v = _rows(w), w.place(2, zero)

    def step(k: Any, sums: list[Any]) -> list[Any]:
        x = w.load(v, k)
        return [w.call("fmuladd", w.load(row, k), x, total) for row, total in zip(rows, sums, strict=True)]

    sums = w.loop(zero, w.size(2), [w.nothing] * GROUP, step)
    for q in range(0, GROUP, w.lanes):
        w.store(w.totals(sums[q : q + w.lanes]), w.place(3, r), w.whole(q))


def _write_axpy(w: Writer) -> None:
    rows, t, scalings = _rows(w), w.place(3, w.whole(0)), w.place(2, w.arguments[4])
    u = [w.spread(w.entry(scalings, w.whole(q))) for q in range(GROUP)]

    def step(k: Any, _: list[Any]) -> list[Any]:
        parts = [w.load(t, k), w.nothing]  # two sums: one would wait for itself
        for q in range(GROUP):
            parts[q % 2] = w.call("fmuladd", u[q], w.load(rows[q], k), parts[q % 2])
        w.store(w.builder.fadd(*parts), t, k)
        return []

    w.loop(w.whole(0), w.size(3), [], step)


def _rows(w: Writer) -> list[Any]:
    """Return where the eight rows of K begin."""
    ids = w.place(1, w.arguments[4])
    return [w.place(0, w.entry(ids, w.whole(q)), w.whole(0)) for q in range(GROUP)]


def _write_relax(w: Writer) -> Any:
    lo, hi, theta = w.arguments[3:]
    a, u, s = (w.place(which, w.whole(0)) for which in range(3))
    builder, one = w.builder, ir.Constant(w.number, 1.0)
    theta = theta if theta.type == w.number else builder.fpext(theta, w.number)
    p, q = w.spread(builder.fadd(one, theta)), w.spread(builder.fsub(one, theta))

    def step(k: Any, sums: list[Any]) -> list[Any]:
        x, scale = w.load(a, k), w.load(s, k)
        t = builder.fmul(w.load(u, k), scale)
        above = w.call("fmuladd", p, x, builder.fmul(q, t))
        below = w.call("fmuladd", q, x, builder.fmul(p, t))
        if isinstance(w.number, ir.DoubleType):
            quotient = w.call("arithmetic.fence", builder.fdiv(x, scale))  # or LLVM would join both
            found = builder.fmul(quotient, builder.fdiv(above, below))
        else:
            found = builder.fdiv(builder.fmul(x, above), builder.fmul(scale, below))
        new = builder.select(builder.fcmp_ordered(">", x, w.nothing), found, w.nothing)
        w.store(new, u, k)
        return [builder.fadd(sums[0], w.call("fabs", builder.fsub(t, x)))]

    [errors] = w.loop(lo, hi, [w.nothing], step)
    return w.first(w.totals([errors] + [w.nothing] * (w.lanes - 1)))


def _product(write: Callable[[Writer], None]) -> Any:
    """Return what calls of a function of (K, ids, x, y, r) are compiled to."""

    def define(typing_context: Any, K: Any, ids: Any, x: Any, y: Any, r: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            write(Writer(context, builder, signature, arguments))
            return context.get_dummy_value()

        return (types.none(K, ids, x, y, types.intp), generate) if _alike(K, x, y) else None

    return intrinsic(define)


@intrinsic  # type: ignore[misc]
def _relax(typing_context: Any, a: Any, u: Any, s: Any, lo: Any, hi: Any, theta: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _write_relax(Writer(context, builder, signature, arguments))

    signature = a.dtype(a, u, s, types.intp, types.intp, types.float32)
    return (signature, generate) if _alike(a, u, s) else None


def _alike(*arrays: Any) -> bool:
    """Whether arrays are what is written for: contiguous, and of one type. Others are an error of Numba's."""
    return all(array.layout == "C" and array.dtype == arrays[0].dtype for array in arrays)


if not config.DISABLE_JIT:
    dots8, axpy8, relax = _product(_write_dots), _product(_write_axpy), _relax
