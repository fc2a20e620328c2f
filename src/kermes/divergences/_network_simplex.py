"""Exact transport of one pair by POT's network simplex (the extra ``exact``)."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._checks import missing
from .._typing import FloatArray
from ..core import status

#: Pivots after which the solver gives up; thousands of atoms need far fewer.
MAX_PIVOTS = 10_000_000
_OPTIMAL, _OUT_OF_PIVOTS = 1, 3


def network_simplex() -> Any:
    """Return POT's compiled solver, or explain how to install it.

    The compiled function itself, not ``ot.emd``: the checks around it take 60 us a pair under the
    interpreter's lock, as much as the solution of a 30 x 30 problem.
    """
    try:
        from ot.lp.emd_wrap import emd_c
    except ImportError:
        raise missing("POT", "exact", "Exact transport in more than one dimension") from None
    return emd_c


def transport(solver: Any, a: FloatArray, b: FloatArray, cost: FloatArray) -> tuple[FloatArray, float, np.uint8]:
    """Return an optimal plan (n, m), its cost and a status for probabilities a, b and costs (n, m)."""
    plan, value, _, _, code = _solve(solver, a, b, cost)
    if code == _OPTIMAL:
        return plan, value, status.OK
    return plan, value, status.UNCONVERGED if code == _OUT_OF_PIVOTS else status.FAILED


def transport_with_duals(
    solver: Any, a: FloatArray, b: FloatArray, cost: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, np.uint8]:
    """Return an optimal plan, optimal dual potentials (n,) and (m,), and a status; a and b are positive."""
    plan, _, u, v, code = _solve(solver, a, b, cost)
    return plan, u, v, status.OK if code == _OPTIMAL else status.FAILED


def _solve(solver: Any, a: FloatArray, b: FloatArray, cost: FloatArray) -> tuple[Any, ...]:
    """Return plan, value, potentials and code.

    The solver takes reduced costs above -2e-15 or so for optimal, whatever the costs are: those of points 1e-7 apart
    would be solved wrongly. Costs below 1 are multiplied by a power of 2, which changes no digit, and the answer is
    divided by it. Totals have to agree to the last bit.
    """
    exponent = min(int(np.frexp(cost.max())[1]), 0)
    if exponent:
        cost = np.ldexp(cost, -exponent)
    plan, value, u, v, code = solver(a, b * (a.sum() / b.sum()), cost, MAX_PIVOTS, 1)[:5]
    if exponent:
        value, u, v = (np.ldexp(part, exponent) for part in (value, u, v))
    return plan, value, u, v, code
