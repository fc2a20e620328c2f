"""Entropic transport: Newton's method on the dual in mpmath, to the last digit."""

from functools import cache

from mpmath import mp, mpf

from .entropies import entropy
from .linear_algebra import solve
from .numbers import long, working
from .transport import program

#: Marginal error at which the potentials are final.
CONVERGED = mpf(10) ** -30


def plan(a, b, C, epsilon):
    """Return the coupling P = exp((f + g - C) / epsilon) a b' of the probabilities a and b, and f and g.

    Alternating updates first, then Newton steps with halving: the dual is concave.
    """
    f, g = [mpf(0)] * len(a), [mpf(0)] * len(b)
    for _ in range(20):
        f = [-epsilon * _log_sum([(w, (t - c) / epsilon) for w, t, c in zip(b, g, row, strict=True)]) for row in C]
        g = [-epsilon * _log_sum([(w, (s - row[j]) / epsilon) for w, s, row in zip(a, f, C, strict=True)])
             for j in range(len(b))]  # fmt: skip
    for _ in range(2000):  # where mass must shrink by exp(-x), x steps
        P = _coupling(a, b, C, epsilon, f, g)
        if _gap(P, a, b) < CONVERGED:
            return P, f, g
        f, g = _newton(a, b, C, epsilon, f, g, P)
    raise ArithmeticError("no convergence")


def _log_sum(terms):
    top = max(t for _, t in terms)
    return top + mp.log(sum(w * mp.exp(t - top) for w, t in terms))


def _coupling(a, b, C, epsilon, f, g):
    return [[u * w * mp.exp((s + t - c) / epsilon) for w, t, c in zip(b, g, row, strict=True)]
            for u, s, row in zip(a, f, C, strict=True)]  # fmt: skip


def _gap(P, a, b):
    rows = sum(abs(sum(row) - w) / w for row, w in zip(P, a, strict=True))
    return rows + sum(abs(sum(col) - w) / w for col, w in zip(zip(*P, strict=True), b, strict=True))


def _dual(a, b, f, g, P, epsilon):
    return sum(w * s for w, s in zip([*a, *b], [*f, *g], strict=True)) - epsilon * sum(map(sum, P))


def _newton(a, b, C, epsilon, f, g, P):
    n, m = len(a), len(b)
    rows, cols = [sum(row) for row in P], [sum(col) for col in zip(*P, strict=True)]
    # The Hessian of the dual without its last row and column: constants may be shifted between f and g.
    H = [[(rows[i] if i == k else 0) for k in range(n)] + P[i][: m - 1] for i in range(n)]
    H += [[P[i][j] for i in range(n)] + [(cols[j] if j == k else 0) for k in range(m - 1)] for j in range(m - 1)]
    gradient = [w - r for w, r in zip(a, rows, strict=True)] + [w - c for w, c in zip(b, cols, strict=True)][: m - 1]
    step = [epsilon * x for (x,) in solve(H, [[x] for x in gradient])[0]] + [mpf(0)]
    best, size = _dual(a, b, f, g, P, epsilon), mpf(1)
    best -= 1000 * mp.eps * (abs(best) + epsilon)  # near the maximum steps of full length change no digit of it
    while size > mpf(2) ** -400:
        f_new = [s + size * d for s, d in zip(f, step[:n], strict=True)]
        g_new = [t + size * d for t, d in zip(g, step[n:], strict=True)]
        if _dual(a, b, f_new, g_new, _coupling(a, b, C, epsilon, f_new, g_new), epsilon) >= best:
            break
        size /= 2
    return f_new, g_new


#: Largest cost in units of epsilon up to which the dual is solved: digits of its Hessian.
SOLVED = 300


@cache
def values(mu, nu, distance, epsilon):
    """Return the largest cost, and each value of ``divergences.Sinkhorn`` or two ends between which it is, by name."""
    pooled = [*mu.points, *nu.points]
    reach = max(long(distance(x, y)) for x in pooled for y in pooled)
    if reach > SOLVED * epsilon:
        return reach, between(mu, nu, distance, epsilon)
    with mp.workdps(40 + int(reach / epsilon)), working(*mu.weights, *nu.weights, least=mp.dps):
        return reach, solved(mu, nu, distance, mpf(epsilon))


def solved(mu, nu, distance, epsilon):
    """Return the values by name, of couplings that are known to the last digit."""
    a, b = ([long(w) for w in m.weights] for m in (mu, nu))

    def table(x, y):
        return [[long(distance(s, t)) for t in y.points] for s in x.points]

    C = table(mu, nu)
    P, f, g = plan(a, b, C, epsilon)
    cost = sum(p * c for row, costs in zip(P, C, strict=True) for p, c in zip(row, costs, strict=True))
    own = sum(_minimum(w, w, table(m, m), epsilon) for w, m in ((a, mu), (b, nu))) / 2
    return {
        "transport": [cost],
        "regularized": [cost + epsilon * sum(p * mp.log(p) for row in P for p in row)],
        "debiased": [_attained(a, b, f, g) - own],
    }


def _minimum(a, b, C, epsilon):
    """Return the minimum of <P, C> + epsilon KL(P | a b')."""
    _, f, g = plan(a, b, C, epsilon)
    return _attained(a, b, f, g)


def _attained(a, b, f, g):
    return sum(w * s for w, s in zip([*a, *b], [*f, *g], strict=True))


def between(mu, nu, distance, epsilon):
    """Return two ends between which each value is: 0 <= KL(P | a b') <= H(a), H(b)."""
    W = long(program(mu, nu, distance, 1))
    a, b = (entropy(m.weights) for m in (mu, nu))
    most = epsilon * min(a, b)
    own = epsilon * (a + b)
    return {"transport": [W, W + most], "regularized": [W - own, W + most - own], "debiased": [W - own / 2, W + most]}
