"""Distances of means and Gaussians in the feature space of a point kernel, by inner products alone.

With F the rows sqrt(a_i) (phi(x_i) - mean), covariances are F'F; inverses of ridge I + F'F go by Woodbury, and
det(I + F'F / ridge) = det(I + FF' / ridge).
"""

from fractions import Fraction

from mpmath import mp

from .linear_algebra import det, nuclear_norm, solve, times, trace, transposed
from .numbers import long


def linear(x, y):
    return long(sum(s * t for s, t in zip(x, y, strict=True)))


def polynomial(degree, coef0, gamma):
    return lambda x, y: long(
        (Fraction(gamma) * sum(s * t for s, t in zip(x, y, strict=True)) + Fraction(coef0)) ** degree
    )


def gaussian(rate):
    return lambda x, y: mp.exp(-long(Fraction(rate) * sum((s - t) ** 2 for s, t in zip(x, y, strict=True))))


def laplacian(rate):
    return lambda x, y: mp.exp(-long(Fraction(rate) * sum(abs(s - t) for s, t in zip(x, y, strict=True))))


class Features:
    """Inner products of the means and of the centred, weighted features of two measures of points in R^dim."""

    def __init__(self, mu, nu, kernel, dim=None):
        self.dim = dim
        self.a, self.b = ([long(w) for w in m.weights] for m in (mu, nu))
        n = len(self.a)
        pooled = [*mu.points, *nu.points]
        K = [[kernel(x, y) for y in pooled] for x in pooled]
        mean = [*self.a, *(-w for w in self.b)]
        # Every vector as a combination of the pooled features: the gap of the means, the rows of F and of G.
        rows = [mean]
        for i, w in enumerate(self.a):
            rows.append([mp.sqrt(w) * ((i == k) - v) for k, v in enumerate(self.a)] + [0] * len(self.b))
        for j, w in enumerate(self.b):
            rows.append([0] * n + [mp.sqrt(w) * ((j == k) - v) for k, v in enumerate(self.b)])
        inner = times(times(rows, K), transposed(rows))
        self.gap = inner[0][0]
        self.gap_f, self.gap_g = inner[0][1 : n + 1], inner[0][n + 1 :]
        self.FF = [row[1 : n + 1] for row in inner[1 : n + 1]]
        self.FG = [row[n + 1 :] for row in inner[1 : n + 1]]
        self.GG = [row[n + 1 :] for row in inner[n + 1 :]]
        self.norms = [sum(u * v * K[i + s][j + s] for i, u in enumerate(w) for j, v in enumerate(w))
                      for w, s in ((self.a, 0), (self.b, n))]  # fmt: skip
        self.diagonal = [K[i][i] for i in range(len(K))]
        self.largest = max(self.diagonal)

    @property
    def traces(self):
        return trace(self.FF) + trace(self.GG)

    @property
    def least_variances(self):
        """The least variance of either measure and of their mean, for linear features of one or two dimensions."""
        return [_least(A, self.dim) for A in (self.FF, self.GG, _pooled(self, 0.25)[0])]


def _least(FF, dim):
    """Return the variance, or the product of two variances over their sum: the smaller one or more than half of it."""
    total = trace(FF)
    return total if dim == 1 or not total else max(total**2 - trace(times(FF, FF)), 0) / (2 * total)


def mmd(f):
    """Return the squared distance of the means."""
    return f.gap


def wasserstein(f):
    """Return W_2^2 of the Gaussians."""
    return f.gap + f.traces - 2 * nuclear_norm(f.FG)


def _ridged(A, ridge):
    return [[x + (ridge if i == j else 0) for j, x in enumerate(row)] for i, row in enumerate(A)]


def _log_det(A, ridge):
    """Return log det(I + A / ridge)."""
    return mp.log(det(_ridged(A, ridge))) - len(A) * mp.log(ridge)


def _form(gap, inner, A, ridge):
    """Return gap' (ridge I + F'F)^-1 gap, given |gap|^2, F gap and A = FF'."""
    solved, _ = solve(_ridged(A, ridge), [[x] for x in inner])
    return (gap - sum(x * y[0] for x, y in zip(inner, solved, strict=True))) / ridge


def kl(f, ridge):
    """Return the symmetrised divergence, squared as ``GaussianKL`` squares it."""
    return (_across(f.gap_g, f.FF, f.FG, f.GG, f.gap, ridge)
            + _across(f.gap_f, f.GG, transposed(f.FG), f.FF, f.gap, ridge)) / 4  # fmt: skip


def directed_kl(f, ridge):
    """Return the divergence of the first Gaussian from the second."""
    logs = _log_det(f.GG, ridge) - _log_det(f.FF, ridge)
    return (_across(f.gap_g, f.FF, f.FG, f.GG, f.gap, ridge) + logs) / 2


def log_dets(f, ridge):
    """Return log det(I + A / ridge) of both covariances."""
    return _log_det(f.FF, ridge), _log_det(f.GG, ridge)


def _across(gap_g, FF, FG, GG, gap, ridge):
    """Return tr (ridge I + F'F)(ridge I + G'G)^-1 - rank, and the form of the gap of the means by the latter."""
    B = _ridged(GG, ridge)
    across = trace(times(FG, solve(B, transposed(FG))[0]))
    return (trace(FF) - across) / ridge - trace(solve(B, GG)[0]) + _form(gap, gap_g, GG, ridge)


def _pooled(f, gap_part):
    """Return inner products of the rows F / sqrt 2, G / sqrt 2, gap sqrt(gap_part), and those of the gap with them."""
    half = mp.sqrt(mp.mpf(1) / 2)
    A = [[x / 2 for x in (*r, *s)] for r, s in zip(f.FF, f.FG, strict=True)]
    A += [[x / 2 for x in (*r, *s)] for r, s in zip(transposed(f.FG), f.GG, strict=True)]
    inner = [half * x for x in (*f.gap_f, *f.gap_g)]
    if gap_part:
        part = mp.sqrt(mp.mpf(gap_part))
        A = [[*row, part * x] for row, x in zip(A, inner, strict=True)]
        A.append([*(part * x for x in inner), part * part * f.gap])
    return A, inner


def half_log_det(f, ridge, which):
    """Return h = log det(Sigma / ridge + I) / 2 of the first measure, the second, or their mean."""
    A = {"first": f.FF, "second": f.GG, "mean": _pooled(f, 0.25)[0]}[which]
    return _log_det(A, ridge) / 2


def generalized_variance(f, ridge):
    """Return the Jensen difference of h."""
    h = [half_log_det(f, ridge, which) for which in ("mean", "first", "second")]
    return h[0] - (h[1] + h[2]) / 2


def bhattacharyya(f, ridge):
    """Return -ln int sqrt(p q)."""
    A, inner = _pooled(f, 0)
    own = (_log_det(f.FF, ridge) + _log_det(f.GG, ridge)) / 2
    return (_log_det(A, ridge) - own) / 2 + _form(f.gap, inner, A, ridge) / 8
