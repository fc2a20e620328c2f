"""Plans between weight vectors: in order on the line, in place for the uniform cost, simplex elsewhere, entropic."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._typing import FloatArray, IndexArray
from ..core import status
from ..core.sinkhorn.structs import Options
from ..exceptions import NumericalError
from ._base import TINY
from ._cores import core

#: A remainder below this fraction of the atom it is left of is rounding, not mass to ship.
ROUNDING = 8 * float(np.finfo(np.float64).eps)
#: A cell belongs to some optimal plan if its reduced cost is below this fraction of the largest cost.
TIGHT = 1e-12


class Optimum(NamedTuple):
    """A plan (n, m), its cost, potentials (u_i + v_j <= C_ij, equal where mass moves), and whether that is proved."""

    plan: FloatArray
    value: float
    u: FloatArray
    v: FloatArray
    proved: bool


def transport(a: FloatArray, b: FloatArray, cost: FloatArray) -> Optimum:
    """Return the optimum for positive masses a (n,), b (m,) of equal totals, and costs (n, m)."""
    best = search(a, b, cost)
    if not best.proved:
        raise NumericalError(
            f"no plan between {len(a)} and {len(b)} atoms was proved optimal: potentials have 31 digits, and costs or "
            "masses span more. Leave out atoms lighter than 1e-31 of the mass."
        )
    return best


def search(a: FloatArray, b: FloatArray, cost: FloatArray) -> Optimum:
    """Return the best plan that was found, proved to be optimal or not; arguments as of ``transport``."""
    simplex, (n, m) = core.transport.network_simplex, cost.shape
    C = np.array(cost, dtype=np.float64, order="C")
    tree, plan = simplex.make_tree(n + m), np.zeros((n, m))
    exponent, top = simplex.scale_costs(C)
    if not top < np.inf:
        raise NumericalError("costs to the power p overflow. Divide the points by their scale.")
    a, b = np.array(a), np.array(b)
    value, _, _, proved = simplex.transport(C, a, b, tree, simplex.make_bench(n, m), simplex.MAX_PIVOTS)
    simplex.write_plan(tree, n, m, plan)
    value, u, v = (np.ldexp(part, exponent) for part in (value, tree.high[:n], -tree.high[n:]))
    return Optimum(plan, value, u, v, proved)


def raised(costs: FloatArray, p: float) -> FloatArray:
    """Return costs**p; refuse them where the largest is no normal number."""
    with np.errstate(over="ignore"):
        powers = np.asarray(costs**p)
    if np.isfinite(costs).all() and costs.any() and not TINY <= powers.max() < np.inf:
        raise NumericalError(
            f"costs to the power p = {p:g} {'overflow' if powers.max() > 1 else 'underflow'}: the largest is "
            f"{costs.max():.3g}. Divide the points by their scale."
        )
    return powers


def in_order(a: FloatArray, b: FloatArray) -> FloatArray:
    """Ship a to b, of equal totals, in the order given (the north-west corner rule).

    From both ends up to the heaviest atom, which takes what is left: small masses would be lost in its rounding.
    """
    if not len(a) or not len(b):
        return np.zeros((len(a), len(b)))
    if b.max() > a.max():
        return in_order(b, a).T
    heaviest = int(np.argmax(a))
    before = _until_used_up(a[:heaviest], b)
    after = _until_used_up(a[heaviest + 1 :][::-1], b[::-1])[::-1, ::-1]
    return np.vstack([before, np.maximum(b - before.sum(axis=0) - after.sum(axis=0), 0.0), after])


def _until_used_up(a: FloatArray, b: FloatArray) -> FloatArray:
    """Ship a to b in the order given, until one side is used up."""
    plan = np.zeros((len(a), len(b)))
    i = j = 0
    left, room = (float(a[0]), float(b[0])) if len(a) and len(b) else (0.0, 0.0)
    while i < len(a) and j < len(b):
        moved = min(left, room)
        plan[i, j] += moved
        left, room = left - moved, room - moved
        i_done, j_done = left <= ROUNDING * a[i], room <= ROUNDING * b[j]
        if i_done:
            i += 1
            left = float(a[i]) if i < len(a) else 0.0
        if j_done:
            j += 1
            room = float(b[j]) if j < len(b) else 0.0
    return plan


def on_the_line(x: FloatArray, a: FloatArray, y: FloatArray, b: FloatArray) -> FloatArray:
    """Return the increasing plan; optimal for |x - y|^p, p >= 1, and the only one for p > 1."""
    rows, cols = np.argsort(x, kind="stable"), np.argsort(y, kind="stable")
    plan = np.zeros((len(a), len(b)))
    plan[np.ix_(rows, cols)] = in_order(a[rows], b[cols])
    return plan


def in_place(a_ids: IndexArray, a: FloatArray, b_ids: IndexArray, b: FloatArray) -> FloatArray:
    """Return an optimal plan for the cost c (1 - I), between atoms at the places ``a_ids`` and ``b_ids`` (distinct).

    In every optimal plan min(a_i, b_i) stays where it is. The rest costs c wherever it goes; a rest that is rounding of
    the weights stays, too.
    """
    plan = np.zeros((len(a), len(b)))
    _, rows, cols = np.intersect1d(a_ids, b_ids, assume_unique=True, return_indices=True)
    stays = np.minimum(a[rows], b[cols])
    plan[rows, cols] = stays
    surplus, deficit = a.copy(), b.copy()
    equal = np.abs(a[rows] - b[cols]) <= ROUNDING * stays
    surplus[rows] = np.where(equal, 0.0, a[rows] - stays)
    deficit[cols] = np.where(equal, 0.0, b[cols] - stays)
    heaviest = int(np.argmax(stays)) if len(stays) else -1
    # Where more mass stays than anywhere moves, the difference is that of all others.
    if heaviest >= 0 and stays[heaviest] >= max(surplus.max(), deficit.max()):
        i, j = rows[heaviest], cols[heaviest]
        surplus[i] = deficit[j] = 0.0
        balance = surplus.sum() - deficit.sum()
        if abs(balance) <= ROUNDING * (a[surplus > 0].sum() + b[deficit > 0].sum()):
            balance = 0.0
        surplus[i], deficit[j] = max(-balance, 0.0), max(balance, 0.0)
        plan[i, j] = min(a[i] - surplus[i], b[j] - deficit[j])
    sources, sinks = np.flatnonzero(surplus), np.flatnonzero(deficit)
    plan[np.ix_(sources, sinks)] += in_order(surplus[sources], deficit[sinks])
    return plan


def entropic(a: FloatArray, b: FloatArray, cost: FloatArray, options: Options) -> FloatArray:
    """Return the entropic plan; its rows are exact, its columns within tol if it converged."""
    plan = np.empty((len(a), len(b)))
    code = core.sinkhorn.stabilised.fill_plan(np.array(cost, order="C"), a, b, options, plan)
    if code == status.FAILED or not np.isfinite(plan).all():
        raise NumericalError("no finite entropic plan was found. Check the scale of the points, weights and epsilon.")
    return plan


def weighted_cost_range(a: FloatArray, b: FloatArray, cost: FloatArray, weights: FloatArray) -> tuple[float, float]:
    """Return the least and the largest sum_i w_i S_i over all optimal plans, with S_i = sum_j C_ij T_ij.

    By complementary slackness the optimal plans are those that use cells of reduced cost 0 only. Among them
    two more transport problems give both ends.
    """
    plan, _, u, v, _ = transport(a, b, cost)
    tight = (cost - u[:, None] - v[None] <= TIGHT * max(float(cost.max()), 1e-300)) | (plan > 0)
    weighted = weights[:, None] * cost
    top = float(weighted.max()) or 1.0
    ends = []
    for price in (weighted, top - weighted):
        # Leaving the optimal cells costs more than any plan inside them.
        best = transport(a, b, np.where(tight, price, 1e3 * top)).plan
        ends.append(float((best * weighted).sum()))
    return ends[0], ends[1]
