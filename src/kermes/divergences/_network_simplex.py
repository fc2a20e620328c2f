"""Exact transport of one pair: plan, cost and potentials."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._typing import FloatArray
from ..exceptions import NumericalError

__all__ = ["Optimum", "transport"]


class Optimum(NamedTuple):
    """An optimal plan (n, m), its cost, and potentials: u_i + v_j <= C_ij, with equality where mass moves."""

    plan: FloatArray
    value: float
    u: FloatArray
    v: FloatArray


def transport(a: FloatArray, b: FloatArray, cost: FloatArray) -> Optimum:
    """Return the optimum for positive masses a (n,), b (m,) of equal totals, and costs (n, m)."""
    from ..core.transport import network_simplex as core

    n, m = cost.shape
    C = np.array(cost, dtype=np.float64, order="C")
    tree, plan = core.make_tree(n + m), np.zeros((n, m))
    exponent = core.scale_costs(C)
    a, b = np.array(a), np.array(b)
    value, _, pivots = core.transport(C, a, b, tree, np.empty(m), np.empty(m), core.MAX_PIVOTS)
    if pivots < 0:
        raise NumericalError(f"no optimal plan between {n} and {m} atoms was found in {core.MAX_PIVOTS} pivots.")
    core.write_plan(tree, n, plan)
    return Optimum(plan, *(np.ldexp(part, exponent) for part in (value, tree.high[:n], tree.high[n:])))
