"""Exponential families given by their sufficient statistics."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .._checks import integer, positive, real
from .._frozen import Frozen
from .._quantities import counted
from .._typing import FloatArray, IndexArray
from ..core.status import OK, UNCONVERGED
from ..exceptions import InvalidParameterError, UnsuitableDataError
from ..measures import Measures
from ._base import Tile, empty_tile
from ._cores import core
from ._jensen import JensenRoute

Statistics: TypeAlias = int | Callable[[FloatArray], Any] | tuple[Callable[[FloatArray], Any], ...]

#: Intervals per axis unless given, by dimension.
INTERVALS = {1: 256, 2: 96, 3: 32}
#: Grid points above which memory and time are out of hand.
LARGEST_GRID = 1 << 19
#: Statistics and their products on all grid points (256 MB).
LARGEST_TABLE = 1 << 25
#: A statistic that the others explain up to this part of its norm is not a new one.
DEPENDENT = 1e-8


class _Basis(NamedTuple):
    """The grid of a family in orthonormal statistics, and how to make those: (f - centre) @ transform."""

    grid: Any
    centre: FloatArray
    transform: FloatArray


@dataclass(frozen=True)
class Family(Frozen):
    r"""Exponential family on a box, by its sufficient statistics.

    .. math:: p_\theta(x) = \exp\left(\langle \theta, f(x) \rangle - \psi(\theta)\right), \qquad
              \psi(\theta) = \ln \int_{box} e^{\langle \theta, f(x) \rangle} dx

    To be used as ``divergences.ExponentialFamily(Family(...))``.

    Parameters
    ----------
    statistics : int, callable or tuple of callables
        The functions f: all monomials of the coordinates up to this degree (2 gives Gaussians cut off at the box); or
        one function that maps points (n, d) to values (n, s); or several that map them to values (n,). They must be
        linearly independent of each other and of constants. Functions are compared by identity: keep one
        object, so that distances are remembered, and define it in a module if it is to be pickled.
    low, high : float or tuple of float
        Corners of the box, one number for all axes or one for each. All atoms must lie inside.
    intervals : int, optional
        Intervals of the grid along each axis, divisible by 4; by default 256, 96 and 32 in 1, 2 and 3 dimensions.
    tol : float
        Largest error of an entropy that the grid may leave, estimated from every second grid point.

    Notes
    -----
    Integrals are Clenshaw-Curtis sums, which are exact to rounding for smooth densities that are wide compared with the
    grid, and estimated pessimistically from half the intervals. A measure whose density does not exist (a single atom
    has no Gaussian density) or is too narrow for the grid is refused; a pair of measures whose mean has such a density
    is computed and reported as not converged.

    Examples
    --------
    >>> from kermes.divergences import Family
    >>> Family(2, low=-5.0, high=5.0)
    Family(statistics=2, low=-5.0, high=5.0, intervals=None, tol=1e-05)
    """

    statistics: Statistics
    low: float | tuple[float, ...]
    high: float | tuple[float, ...]
    intervals: int | None = None
    tol: float = 1e-5

    def __post_init__(self) -> None:
        if isinstance(self.statistics, list):
            object.__setattr__(self, "statistics", tuple(self.statistics))
        if isinstance(self.statistics, tuple):
            valid = bool(self.statistics) and all(callable(f) for f in self.statistics)
        else:
            valid = callable(self.statistics)
        if not valid:
            remedy = "Or a function of points, or a tuple of functions."
            object.__setattr__(self, "statistics", integer(self.statistics, "statistics", low=1, remedy=remedy))
        for name in ("low", "high"):
            value = getattr(self, name)
            many = np.ndim(value) > 0
            corner = tuple(real(v, name) for v in np.ravel(value).tolist()) if many else real(value, name)
            object.__setattr__(self, name, corner)
        lengths = {len(corner) for corner in (self.low, self.high) if isinstance(corner, tuple)}
        if len(lengths) > 1:
            raise InvalidParameterError(
                f"`low` and `high` must have one number per axis; got {self.low} and {self.high}."
            )
        self._box(max(lengths, default=1))
        positive(self.tol, "tol")
        if self.intervals is not None and integer(self.intervals, "intervals", low=8) % 4:
            raise InvalidParameterError(f"`intervals` must be divisible by 4; got {self.intervals}.")

    def check(self, X: Measures) -> None:
        """Refuse atoms outside the box."""
        low, high = self._box(X.dim)
        outside = ((X.points < low) | (X.points > high)).any(axis=1)
        if outside.any():
            atom = int(np.argmax(outside))
            row = X.rows[np.searchsorted(X.offsets, atom, side="right") - 1]
            raise UnsuitableDataError(
                f"measure {row} has an atom at {X.points[atom].tolist()}, outside the box of the family; widen `low` "
                "and `high`."
            )

    def evaluate(self, points: FloatArray) -> FloatArray:
        """Return the statistics at points (n, d), an array (n, s)."""
        if isinstance(self.statistics, int):
            low, high = self._box(points.shape[1])
            return _polynomials((2.0 * points - low - high) / (high - low), self.statistics)
        functions = self.statistics if isinstance(self.statistics, tuple) else (self.statistics,)
        columns = [np.asarray(f(points), dtype=np.float64) for f in functions]
        if any(c.ndim not in (1, 2) or len(c) != len(points) for c in columns):
            raise InvalidParameterError(
                "`statistics` must map points of shape (n, d) to values of shape (n,) or (n, s); got shapes "
                f"{[c.shape for c in columns]} for {len(points)} points."
            )
        values = np.column_stack(columns)
        if not np.isfinite(values).all():
            raise InvalidParameterError("`statistics` must be finite on the whole box; got nan or inf.")
        return values

    def basis(self, dim: int) -> _Basis:
        """Return the grid on R^dim with orthonormal statistics; the densities depend on their span only."""
        points, weights = core.exponential_family.box(*self._box(dim), self._intervals(dim))
        values = self.evaluate(points)
        if values.size * (values.shape[1] + 3) / 2 > LARGEST_TABLE:
            raise InvalidParameterError(
                f"`statistics` or `intervals` must be fewer: {values.shape[1]} statistics and their products on "
                f"{len(points)} grid points do not fit into memory."
            )
        uniform = weights[:, 0] / weights[:, 0].sum()
        centre = uniform @ values
        scaled = np.sqrt(uniform)[:, None] * (values - centre)
        norms = np.linalg.norm(scaled, axis=0)
        constant = norms <= DEPENDENT * (np.abs(centre) + np.finfo(float).tiny)
        R = np.linalg.qr(scaled / np.where(constant, 1.0, norms), mode="r")
        if constant.any() or len(R) < len(norms) or (np.abs(np.diagonal(R)) <= DEPENDENT).any():
            raise InvalidParameterError(
                "`statistics` must be linearly independent of each other and of constants on the box; leave out those "
                "that the others give."
            )
        transform = np.linalg.inv(R * norms)
        return _Basis(core.exponential_family.grid((values - centre) @ transform, weights), centre, transform)

    def _intervals(self, dim: int) -> int:
        n = self.intervals or INTERVALS.get(dim)
        if n is None:
            raise InvalidParameterError(
                f"`intervals` must be given for measures on R^{dim}; the grid has (intervals + 1)^{dim} points."
            )
        if (n + 1) ** dim > LARGEST_GRID:
            raise InvalidParameterError(
                f"`intervals` must be smaller: a grid of {n + 1}^{dim} points is above the limit of {LARGEST_GRID}."
            )
        return n

    def _box(self, dim: int) -> tuple[FloatArray, FloatArray]:
        corners = []
        for name, value in (("low", self.low), ("high", self.high)):
            if isinstance(value, tuple) and len(value) != dim:
                raise UnsuitableDataError(f"`{name}` must have one number for each of {dim} axes; got {value!r}.")
            corners.append(np.broadcast_to(np.asarray(value, dtype=np.float64), (dim,)))
        low, high = corners
        if not (low < high).all():
            raise InvalidParameterError(f"`low` must be below `high` on every axis; got {self.low} and {self.high}.")
        return low, high


class _Densities(NamedTuple):
    """Moments and parameters (n, s) in the orthonormal statistics, and h (n,)."""

    moments: FloatArray
    theta: FloatArray
    values: FloatArray


@dataclass(frozen=True, eq=False)
class OnGrid(JensenRoute):
    """h is 2 beta times the entropy of the most likely density of a family, by convex optimisation over its grid."""

    family: Family
    beta: float
    basis: _Basis

    def prepare(self, X: Measures) -> _Densities:
        """Fit each measure, and refuse those that no density of the family fits."""
        moments = X.expectation((self.family.evaluate(X.points) - self.basis.centre) @ self.basis.transform)
        fit = core.exponential_family.fit(self.basis.grid, moments, np.zeros_like(moments))
        self._refuse(X, fit.status != OK, fit.error)
        return _Densities(moments, fit.theta, 2.0 * self.beta * fit.entropy)

    def _refuse(self, X: Measures, missing: NDArray[np.bool_], error: FloatArray) -> None:
        """Name the first measure without a density, or with one that the grid does not resolve."""
        intervals = self.family._intervals(X.dim)
        rough = ~(error <= self.family.tol)
        if not (missing | rough).any():
            return
        i = int(np.argmax(missing | rough))
        atoms = counted(X.sizes[i], "atom")
        if missing[i]:
            raise UnsuitableDataError(
                f"measure {X.rows[i]} ({atoms}) has no density in the family, as few atoms often have none, or one too "
                f"narrow for {intervals} intervals. Use fewer statistics, more `intervals` or a smaller box; or leave "
                "the measure out."
            )
        raise UnsuitableDataError(
            f"the entropy of measure {X.rows[i]} ({atoms}) is uncertain by {error[i]:.0e} on a grid of {intervals} "
            f"intervals, above `tol` = {self.family.tol:g}: its density is narrow, does not exist, or the statistics "
            "are not smooth. Use more `intervals`, a smaller box, fewer statistics or a larger `tol`."
        )

    def tile(self, A: _Densities, B: _Densities, rows: IndexArray, cols: IndexArray, triangle: bool) -> Tile:
        """Fit the mean of the moments of each pair, starting from the mean of the parameters.

        The status says which densities the grid does not resolve.
        """
        n, m = len(rows), len(cols)
        i, j = np.triu_indices(n, 1, m) if triangle else np.indices((n, m)).reshape(2, -1)
        values, status = empty_tile(rows, cols), np.full((n, m), OK)
        if len(i):
            p, q = rows[i], cols[j]
            moments, theta = 0.5 * (A.moments[p] + B.moments[q]), 0.5 * (A.theta[p] + B.theta[q])
            fit = core.exponential_family.fit(self.basis.grid, moments, theta)
            values[i, j] = 2.0 * self.beta * fit.entropy
            status[i, j] = np.where(fit.error <= self.family.tol, fit.status, UNCONVERGED)
        return Tile(values - self.half_sums(A, B, rows, cols), status)

    def rounding(self, A: _Densities, B: _Densities, rows: IndexArray, cols: IndexArray) -> float:
        """Twice the error of entropies that the grid may leave."""
        return 4.0 * self.beta * self.family.tol

    def work(self, X: Measures, Y: Measures) -> float:
        """About eight evaluations of the density, its moments and their covariance on the grid."""
        nodes, s = map(float, self.basis.grid.statistics.shape)
        return 8.0 * nodes * (20.0 + 2.0 * s + s * (s + 1.0))


def _polynomials(x: FloatArray, degree: int) -> FloatArray:
    """Products of Legendre polynomials of total degree 1 to ``degree``: they span what the monomials span."""
    tables = [np.polynomial.legendre.legvander(x[:, k], degree) for k in range(x.shape[1])]
    powers = [p for p in product(range(degree + 1), repeat=x.shape[1]) if 1 <= sum(p) <= degree]
    return np.stack([np.prod([t[:, k] for t, k in zip(tables, p, strict=True)], axis=0) for p in powers], axis=1)
