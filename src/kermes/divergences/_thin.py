"""Gaussians by the singular values and axes of their centred points, for covariances that dwarf the regularisation.

``Sigma + ridge I`` formed in double precision loses the ridge, and all small variances, below 1e-16 of the largest one.
Here covariances are never formed: F / sqrt(ridge) = U diag(s) V' for the factor F of Sigma = F'F, so that
H / ridge = I + V diag(s^2) V' keeps exactly 1 on the null space. Rounding acts as if it had moved the points by 1e-15
of the spread of their measure: s is off by 1e-15 of the largest s.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .._typing import AnyArray, FloatArray, IndexArray
from ..measures import Measures
from ._features import Centred, FeatureMap, Features, centred_features, moments

if TYPE_CHECKING:
    from ..core.moments import Moments

#: Traces of covariances in units of the ridge up to which Cholesky factors give log-determinants to 1e-9.
STEEP = 1e7
#: Relative error of a singular value, in parts of the largest.
ROUNDING = 1e-15
#: Largest relative error of a regularised variance; beyond it rounding decides and no value is returned.
DETERMINED = 1e-4
#: Squares beyond which their logarithm is taken of the root.
LARGE = 1e8


@dataclass(frozen=True, eq=False)
class Thin:
    """Means + tails (n, r) as they are; in units of the root of the ridge, ``scale`` times theirs, s and V.

    Spreads s (n, p) and axes V' (n, p, r) of measures of fewer than p axes have zeros in their place. They are computed
    when a pair first needs them: most collections have no steep pair. A measure whose Gaussian rounding leaves
    undetermined has nan for a mean, and so have the values of its pairs.
    """

    X: Measures
    features: Features
    scale: float
    means: FloatArray
    tails: FloatArray
    traces: FloatArray  # of Sigma / ridge, (n,)

    @classmethod
    def of(cls, X: Measures, features: Features, ridge: float, centred: Sequence[Centred] | None = None) -> Thin:
        """Centre the features of each measure; refuse what rounding leaves undetermined."""
        centred = list(centred_features(X, features)) if centred is None else centred
        scale, r = float(1 / np.sqrt(ridge)), features.rank
        means, tails = np.array([item.mean for item in centred]), np.array([item.tail for item in centred])
        with np.errstate(over="ignore"):
            traces = np.array([((scale * item.factor) ** 2).sum() for item in centred])
        for i, (_, _, factor, rounding) in enumerate(centred):
            # Below both limits noise * (s + noise) <= DETERMINED * (1 + s^2) for every s.
            if traces[i] <= STEEP and scale * rounding <= 0.1 * DETERMINED:
                continue
            if not np.isfinite(scale * factor).all():
                means[i] = np.nan
                continue
            spreads: FloatArray = np.linalg.svd(scale * factor, compute_uv=False).astype(np.float64)
            if not _determined(spreads, r, scale * rounding):
                means[i] = np.nan
        return cls(X, features, scale, means, tails, traces)

    @cached_property
    def _decomposed(self) -> tuple[FloatArray, FloatArray]:
        n, r = self.means.shape
        p = min(r, int(self.X.sizes.max()))
        spreads, axes = np.zeros((n, p)), np.zeros((n, p, r))
        for i, item in enumerate(centred_features(self.X, self.features)):
            if not np.isnan(self.means[i, 0]):
                _, s, V = np.linalg.svd(self.scale * item.factor, full_matrices=False)
                spreads[i, : len(s)], axes[i, : len(V)] = s, V
        return spreads, axes

    @property
    def spreads(self) -> FloatArray:
        """Singular values, (n, p)."""
        return self._decomposed[0]

    @property
    def axes(self) -> FloatArray:
        """Principal axes, (n, p, r)."""
        return self._decomposed[1]

    @property
    def half_log_dets(self) -> FloatArray:
        """The values h = log det(I + Sigma / ridge) / 2, (n,)."""
        return 0.5 * _log_dets(self.spreads)

    def gaps(self, i: int, other: Thin, cols: IndexArray) -> FloatArray:
        """Return the scaled differences of the means of measure i and of ``cols`` of the other collection, (m, r)."""
        return np.asarray(self.scale * ((self.means[i] - other.means[cols]) + (self.tails[i] - other.tails[cols])))


#: Values between one measure of a collection and some of another.
RowFunction = Callable[[Thin, int, Thin, IndexArray], FloatArray]


def kl_row(A: Thin, i: int, B: Thin, cols: IndexArray) -> FloatArray:
    """Return the symmetrised divergence of measure i of A and ``cols`` of B, (m,).

    4 d^2 = |H^-1/2 (H - H') H'^-1/2|^2 + d'(H^-1 + H'^-1) d, in the axes of both a sum of squares: of
    <v_k, v'_l> (s_k^2 - s'_l^2) / sqrt((1 + s_k^2)(1 + s'_l^2)), with s = 0 on what is left of the space.
    """
    s, V, t, W = A.spreads[i], A.axes[i], B.spreads[cols], B.axes[cols]
    roots, others = np.hypot(1.0, s), np.hypot(1.0, t)
    Q = V @ W.transpose(0, 2, 1)
    with np.errstate(over="ignore", invalid="ignore"):  # the engine refuses what is not finite
        ratio = ((s[:, None] - t[:, None, :]) / roots[:, None]) * ((s[:, None] + t[:, None, :]) / others[:, None, :])
        total = ((Q * ratio) ** 2).sum(axis=(1, 2))
        total += ((s * (s / roots)) ** 2 * _squares(V - Q @ W)).sum(axis=1)
        total += ((t * (t / others)) ** 2 * _squares(W - Q.transpose(0, 2, 1) @ V)).sum(axis=1)
        delta = A.gaps(i, B, cols)
        total += _form(np.broadcast_to(V, (len(cols), *V.shape)), roots, delta) + _form(W, others, delta)
    return np.asarray(0.25 * total)


def pooled_row(A: Thin, i: int, B: Thin, cols: IndexArray) -> tuple[FloatArray, FloatArray]:
    """Return log det H and d'H^-1 d with H = I + (S + S') / 2 for measure i of A and each of ``cols`` of B."""
    half = np.sqrt(0.5)
    own = np.broadcast_to(half * A.spreads[i][:, None] * A.axes[i], (len(cols), *A.axes[i].shape))
    stacked = np.concatenate([own, half * B.spreads[cols][:, :, None] * B.axes[cols]], axis=1)
    finite = np.isfinite(stacked).all(axis=(1, 2))
    _, s, V = np.linalg.svd(np.where(finite[:, None, None], stacked, 0.0), full_matrices=False)
    with np.errstate(over="ignore", invalid="ignore"):
        form = _form(V, np.hypot(1.0, s), A.gaps(i, B, cols))
    return np.where(finite, _log_dets(s), np.nan), form


def half_log_det_row(A: Thin, i: int, B: Thin, cols: IndexArray) -> FloatArray:
    """Return log det(I + S'') / 2, S'' = (S + S') / 2 + d d' / 4 the covariance of the mean of two measures."""
    log_dets, form = pooled_row(A, i, B, cols)
    return np.asarray(0.5 * (log_dets + np.log1p(0.25 * form)))


def bhattacharyya_row(A: Thin, i: int, B: Thin, cols: IndexArray) -> FloatArray:
    """Return -ln int sqrt(p q) of measure i of A and each of ``cols`` of B."""
    log_dets, form = pooled_row(A, i, B, cols)
    own = 0.5 * (_log_dets(A.spreads[i]) + _log_dets(B.spreads[cols]))
    return np.asarray(0.5 * (log_dets - own) + 0.125 * form)


def _determined(spreads: FloatArray, rank: int, rounding: float) -> bool:
    """Return whether each 1 + s^2 is known to DETERMINED of itself, s being off by rounding and 1e-15 of the largest.

    Directions without variance count, where there are any.
    """
    noise = rounding + ROUNDING * spreads[0]
    known = np.append(spreads, 0.0) if len(spreads) < rank else spreads
    with np.errstate(over="ignore"):
        return bool((noise * (known + noise) <= DETERMINED * (1.0 + known**2)).all())


def _log_dets(spreads: FloatArray) -> FloatArray:
    """Return sum_k log(1 + s_k^2) along the last axis."""
    large = spreads > LARGE
    squares = np.where(large, 0.0, spreads) ** 2
    return np.asarray((np.log1p(squares) + 2.0 * np.log(np.where(large, spreads, 1.0))).sum(axis=-1))


def _squares(vectors: FloatArray) -> FloatArray:
    """Return the squared norms of vectors along the last axis."""
    return np.asarray((vectors**2).sum(axis=-1))


def _form(axes: FloatArray, roots: FloatArray, delta: FloatArray) -> FloatArray:
    """Return d'(I + V diag(s^2) V')^-1 d for vectors d (m, r), axes V' (m, p, r) and roots sqrt(1 + s^2)."""
    along = (axes @ delta[:, :, None])[:, :, 0]
    rest = delta - (along[:, None] @ axes)[:, 0]
    return _squares(along / roots) + _squares(rest)


def steep_pairs(A: Thin, B: Thin, rows: IndexArray, cols: IndexArray, triangle: bool, limit: float) -> AnyArray:
    """Return which pairs have covariances, in units of the ridge, whose traces add up to more than ``limit``."""
    with np.errstate(over="ignore"):
        steep = ~(A.traces[rows][:, None] + B.traces[cols][None] <= limit)
    return np.asarray(np.triu(steep, 1) if triangle else steep)


def steep_means(A: Thin, B: Thin, rows: IndexArray, cols: IndexArray, triangle: bool, limit: float) -> AnyArray:
    """Return which pairs have a mean whose covariance, in units of the ridge, has a trace of more than ``limit``."""
    steep = steep_pairs(A, B, rows, cols, triangle, limit)
    pooled = A.scale * np.concatenate([A.means[rows], B.means[cols]])
    with np.errstate(over="ignore", invalid="ignore"):
        if _squares(np.ptp(pooled, axis=0)) <= limit:
            return steep
        gaps = np.stack([_squares(A.gaps(int(row), B, cols)) for row in rows])
    return steep | (np.triu(~(gaps <= limit), 1) if triangle else ~(gaps <= limit))


def fill(
    row_of: RowFunction, A: Thin, B: Thin, rows: IndexArray, cols: IndexArray, where: AnyArray, out: FloatArray
) -> None:
    """Write the values of the pairs ``where`` to ``out``, row by row."""
    for i in np.flatnonzero(where.any(axis=1)):
        chosen = np.flatnonzero(where[i])
        out[i, chosen] = row_of(A, int(rows[i]), B, cols[chosen])


class Scaled(NamedTuple):
    """Covariances in units of the ridge: as ``Moments`` for the cores, and thin if the features are exact."""

    moments: Moments
    thin: Thin | None

    @classmethod
    def of(cls, X: Measures, features: Features, ridge: float) -> Scaled:
        """Return the moments m and S / ridge, and h = log det(I + S / ridge) / 2."""
        from ..core.moments import Moments, half_log_dets

        centred: Iterable[Centred] = centred_features(X, features)
        thin, values = None, np.empty(len(X))
        if not isinstance(features, FeatureMap):  # whose error bound leaves no steep pair
            centred = list(centred)
            thin = Thin.of(X, features, ridge, centred)
        means, tails, covariances = moments(centred, len(X), features.rank)
        covariances /= ridge
        half_log_dets(covariances, 1.0, values)
        if thin is not None:
            steep = ~(thin.traces <= STEEP)
            if steep.any():
                values[steep] = thin.half_log_dets[steep]
            means, values = thin.means, np.where(np.isnan(thin.means[:, 0]), np.nan, values)
        return cls(Moments(means, tails, covariances, values, float(1 / np.sqrt(ridge))), thin)
