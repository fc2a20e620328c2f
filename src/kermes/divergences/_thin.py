"""Gaussians by the singular values and axes of their centred points, for covariances that dwarf the regularisation.

``Sigma + ridge I`` formed in double precision loses the ridge, and all small variances, below 1e-16 of the largest one.
Here covariances are never formed: F / sqrt(ridge) = U diag(s) V' for the factor F of Sigma = F'F, so that
H / ridge = I + V diag(s^2) V' keeps exactly 1 on the null space. Rounding acts as if it had moved the points by 1e-15
of the spread of their measure: s is off by 1e-15 of the largest s, and the s of two measures that are pooled, which are
decomposed twice, by up to 6e-15 (seen in 4,500 pairs at scales up to 1e14 roots of the ridge).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np

from .._typing import AnyArray, FloatArray, IndexArray
from ..ground import Linear, PointKernel
from ..measures import Measures
from ._base import Route, empty_tile, n_prepared
from ._cores import core
from ._features import (
    PREPARED_BYTES,
    Centred,
    Coordinates,
    FeatureMap,
    Features,
    centred_features,
    exact_features,
    moments,
)

#: Traces of covariances in units of the ridge up to which Cholesky factors give log-determinants to 1e-9.
STEEP = 1e7
#: Error of a singular value, in parts of the largest: between those of one measure and of two that are pooled, so that
#: regularised variances of the latter are known to 6e-4, and d^2 to about 1e-3 (1 + d^2).
ROUNDING = 2.5e-15
#: Largest relative error of a regularised variance; beyond it rounding decides and no value is returned.
DETERMINED = 1e-4
#: Squares beyond which their logarithm is taken of the root.
LARGE = 1e8

Batches: TypeAlias = list[tuple[slice, Centred]]


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
    def of(cls, X: Measures, features: Features, ridge: float, centred: Batches | None = None) -> Thin:
        """Centre the features of each measure; refuse what rounding leaves undetermined."""
        centred = list(centred_features(X, features)) if centred is None else centred
        scale = float(1 / np.sqrt(ridge))
        means = np.concatenate([part.means for _, part in centred])
        tails = np.concatenate([part.tails for _, part in centred])
        traces = np.empty(len(X))
        for rows, part in centred:
            with np.errstate(over="ignore", invalid="ignore"):
                squares = _squares(scale * part.packed)
                traces[rows] = np.add.reduceat(squares, part.offsets[:-1])
            # Below both limits noise * (s + noise) <= DETERMINED * (1 + s^2) for every s.
            doubtful = ~((traces[rows] <= STEEP) & (scale * part.rounding <= 0.1 * DETERMINED))
            for i in np.flatnonzero(doubtful):
                factor = scale * part.packed[part.offsets[i] : part.offsets[i + 1]]
                if not _determined(factor, scale * part.rounding[i]):
                    means[rows.start + i] = np.nan
        return cls(X, features, scale, means, tails, traces)

    @cached_property
    def _decomposed(self) -> tuple[FloatArray, FloatArray]:
        n, r = self.means.shape
        p = min(r, int(self.X.sizes.max()))
        spreads, axes = np.zeros((n, p)), np.zeros((n, p, r))
        for rows, part in centred_features(self.X, self.features):
            for i, factor in enumerate(part.factors, rows.start):
                if not np.isnan(self.means[i, 0]):
                    _, s, V = np.linalg.svd(self.scale * factor, full_matrices=False)
                    spreads[i, : len(s)], axes[i, : len(V)] = s, V
        return spreads, axes

    @cached_property
    def reach(self) -> tuple[float, FloatArray, FloatArray]:
        """The largest trace, and the corners of the box around all scaled means."""
        means = self.scale * self.means
        return float(self.traces.max()), np.nanmin(means, axis=0, initial=0.0), np.nanmax(means, axis=0, initial=0.0)

    @property
    def spreads(self) -> FloatArray:
        """Singular values, (n, p)."""
        return self._decomposed[0]

    @property
    def axes(self) -> FloatArray:
        """Principal axes, (n, p, r)."""
        return self._decomposed[1]

    @property
    def values(self) -> FloatArray:
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
        total += ((s * (s / roots)) ** 2 * _squares(_rest(V, Q, W))).sum(axis=1)
        total += ((t * (t / others)) ** 2 * _squares(_rest(W, Q.transpose(0, 2, 1), V))).sum(axis=1)
        delta = A.gaps(i, B, cols)
        total += _form(np.broadcast_to(V, (len(cols), *V.shape)), roots, delta) + _form(W, others, delta)
    return np.asarray(0.25 * total)


def directed_kl_row(A: Thin, i: int, B: Thin, cols: IndexArray) -> FloatArray:
    """Return the divergence of measure i of A from each of ``cols`` of B, (m,): tr H'^-1 H - l + log |H'| / |H| and
    d'H'^-1 d, halved, where tr H'^-1 H - l = sum_k s_k^2 v_k'H'^-1 v_k - sum_l t_l^2 / (1 + t_l^2).
    """
    s, V, t, W = A.spreads[i], A.axes[i], B.spreads[cols], B.axes[cols]
    others = np.hypot(1.0, t)
    Q = V @ W.transpose(0, 2, 1)
    with np.errstate(over="ignore", invalid="ignore"):  # the caller refuses what is not finite
        total = ((s[:, None] * Q / others[:, None, :]) ** 2).sum(axis=(1, 2))
        total += _squares(s[:, None] * _rest(V, Q, W)).sum(axis=1)
        total += _log_dets(t) - _log_dets(s) - ((t / others) ** 2).sum(axis=1)
        total += _form(W, others, A.gaps(i, B, cols))
    return np.asarray(np.maximum(0.5 * total, 0.0))  # nan stays nan


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


def _determined(factor: FloatArray, rounding: float) -> bool:
    """Return whether each 1 + s^2 is known to DETERMINED of itself: s is off by rounding and ROUNDING of the largest.

    Directions without variance count, where there are any.
    """
    if not np.isfinite(factor).all():
        return False
    spreads: FloatArray = np.linalg.svd(factor, compute_uv=False).astype(np.float64)
    noise = rounding + ROUNDING * spreads[0]
    known = np.append(spreads, 0.0) if len(spreads) < factor.shape[1] else spreads
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
    return _squares(along / roots) + _squares(_rest(delta[:, None], along[:, None], axes)[:, 0])


def _rest(vectors: FloatArray, inner: FloatArray, axes: FloatArray) -> FloatArray:
    """Return what axes (m, p, r) leave of vectors (m, k, r), given their inner products (m, k, p).

    Nothing, if they span the space: rounding of large vectors would dwarf the ridge, which is the scale here.
    """
    spans = axes.any(axis=-1).sum(axis=-1) == axes.shape[-1]
    return np.asarray(np.where(spans[..., None, None], 0.0, vectors - inner @ axes))


def steep_pairs(
    A: Thin | None, B: Thin | None, rows: IndexArray, cols: IndexArray, triangle: bool, limit: float, pooled: bool
) -> AnyArray:
    """Return which pairs have covariances, in units of the ridge, whose traces add up to more than ``limit``.

    With ``pooled`` also those of means that are further apart, squared: they count in the covariance of the mean.
    """
    steep = np.zeros((len(rows), len(cols)), dtype=bool)
    if A is None or B is None:
        return steep
    (largest, low, high), (other_largest, other_low, other_high) = A.reach, B.reach
    with np.errstate(over="ignore", invalid="ignore"):
        if not largest + other_largest <= limit:
            steep |= ~(A.traces[rows][:, None] + B.traces[cols][None] <= limit)
        if pooled and not _squares(np.maximum(high, other_high) - np.minimum(low, other_low)) <= limit:
            steep |= ~(np.stack([_squares(A.gaps(int(row), B, cols)) for row in rows]) <= limit)
    return np.triu(steep, 1) if triangle else steep


def thin_tile(row_of: RowFunction, A: Thin, B: Thin, rows: IndexArray, cols: IndexArray, triangle: bool) -> FloatArray:
    """Return the values of all pairs by their axes."""
    out = empty_tile(rows, cols)
    where = np.ones(out.shape, dtype=bool)
    _fill(row_of, A, B, rows, cols, np.triu(where, 1) if triangle else where, out)
    return out


def _fill(
    row_of: RowFunction, A: Thin, B: Thin, rows: IndexArray, cols: IndexArray, where: AnyArray, out: FloatArray
) -> None:
    """Write the values of the pairs ``where`` to ``out``, row by row."""
    for i in np.flatnonzero(where.any(axis=1)):
        chosen = np.flatnonzero(where[i])
        out[i, chosen] = row_of(A, int(rows[i]), B, cols[chosen])


def features_of_axes(ground: PointKernel, X: Measures, Y: Measures) -> Features | None:
    """Return exact features, coordinates or monomials, if means and axes in them fit the memory."""
    if isinstance(ground, Linear):
        return Coordinates(X.dim)
    axes = 2 + int(max(X.sizes.max(), Y.sizes.max()))
    return exact_features(ground, X.dim, PREPARED_BYTES / 8 / (n_prepared(X, Y) * axes))


@dataclass(frozen=True, eq=False)
class ThinRoute(Route):
    """Base of routes by the axes of the covariances: more dimensions than atoms."""

    features: Features
    ridge: float

    def prepare(self, X: Measures) -> Thin:
        return Thin.of(X, self.features, self.ridge)


class Prepared(NamedTuple):
    """Measures for a compiled core and, if their features are exact, by the axes of their covariances."""

    core: Any
    thin: Thin | None


@dataclass(frozen=True, eq=False)
class ScaledMoments(Route):
    """Base of routes by means and covariances in an explicit feature space, in units of the ridge.

    Pairs whose covariances add up to more than ``steep`` go by the factors of these.
    """

    features: Features
    ridge: float
    steep: ClassVar[float] = STEEP

    def prepare(self, X: Measures) -> Prepared:
        """Return the moments, and h = log det(I + S / ridge) / 2."""
        thin, steep, means, tails, covariances = thin_moments(X, self.features, self.ridge, STEEP)
        covariances /= self.ridge
        values = np.empty(len(X))
        core.moments.half_log_dets(covariances, 1.0, values)
        if thin is not None and steep.any():
            values[steep] = thin.values[steep]
        values[np.isnan(means[:, 0])] = np.nan
        scale = float(1 / np.sqrt(self.ridge))
        return Prepared(core.moments.Moments(means, tails, covariances, values, scale, 1.0), thin)

    def pairs(
        self, core: Callable[..., None], row_of: RowFunction, A: Prepared, B: Prepared, rows: IndexArray,
        cols: IndexArray, triangle: bool, pooled: bool = False,
    ) -> FloatArray:  # fmt: skip
        """Return the values of all pairs: of those up to ``steep`` by the core, of steeper ones by their axes."""
        out, steep = empty_tile(rows, cols), steep_pairs(A.thin, B.thin, rows, cols, triangle, self.steep, pooled)
        core(A.core, rows, B.core, cols, triangle, steep, out)
        if A.thin is not None and B.thin is not None:
            _fill(row_of, A.thin, B.thin, rows, cols, steep, out)
        return out

    def rounding(self, A: Prepared, B: Prepared, rows: IndexArray, cols: IndexArray) -> float:
        """What the accuracy of the moments leaves: of pairs up to ``steep``, or of steeper ones."""
        largest = sum(0.0 if Z.thin is None else Z.thin.reach[0] for Z in (A, B))
        return 1e-8 if largest <= self.steep else 10.0 * DETERMINED


def thin_moments(
    X: Measures, features: Features, ridge: float, limit: float
) -> tuple[Thin | None, AnyArray, FloatArray, FloatArray, FloatArray]:
    """Return the measures thin, which are steeper than ``limit``, means, tails and covariances: 0 for those."""
    centred = list(centred_features(X, features)) if not isinstance(features, FeatureMap) else None
    if centred is None:  # the error bound of its features leaves no steep pair
        return None, np.zeros(len(X), dtype=bool), *moments(centred_features(X, features), len(X), features.rank)
    thin = Thin.of(X, features, ridge, centred)
    _, tails, covariances = moments(centred, len(X), features.rank)
    steep = ~(thin.traces <= limit)
    covariances[steep] = 0.0
    return thin, steep, thin.means, tails, covariances
