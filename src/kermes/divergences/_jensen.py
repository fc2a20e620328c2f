"""Jensen differences: how much less concentrated the mean of two measures is than each of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from .._frozen import Frozen
from .._typing import FloatArray, IndexArray
from ..exceptions import InvalidParameterError, NumericalError
from ..measures import Measures
from ._base import Claims, Divergence, Route, Tile, empty_tile, pair_sums


class JensenRoute(Route):
    """A route to Jensen differences: ``prepare``, h of each measure, and h of the mean of two.

    Where a formula for the difference rounds better than the difference of two values, a route defines ``tile``
    instead of :meth:`mean_values`.
    """

    def values(self, A: Any) -> FloatArray:
        """Return h of each prepared measure, (n,): by default the array that ``prepare`` returned as its ``values``."""
        found = getattr(A, "values", None)
        if not isinstance(found, np.ndarray):
            raise self._lacking()
        return found

    def mean_values(self, A: Any, B: Any, rows: IndexArray, cols: IndexArray, triangle: bool) -> FloatArray:
        """Return h((mu + nu) / 2) between prepared measures ``rows`` of A and ``cols`` of B."""
        raise self._lacking()

    def tile(self, A: Any, B: Any, rows: IndexArray, cols: IndexArray, triangle: bool) -> Tile:
        """Return J = d^2."""
        return Tile(self.mean_values(A, B, rows, cols, triangle) - self.half_sums(A, B, rows, cols))

    def rounding(self, A: Any, B: Any, rows: IndexArray, cols: IndexArray) -> FloatArray | float:
        """A part of h, of which values are differences."""
        return 1e-9 + 1e-12 * pair_sums(np.abs(self.values(A)), np.abs(self.values(B)), rows, cols)

    def half_sums(self, A: Any, B: Any, rows: IndexArray, cols: IndexArray) -> FloatArray:
        """Return (h(mu) + h(nu)) / 2 of all pairs."""
        return 0.5 * pair_sums(self.values(A), self.values(B), rows, cols)

    def _lacking(self) -> TypeError:
        return TypeError(
            f"{type(self).__name__} must define prepare(X), values(A) and mean_values(A, B, rows, cols, triangle), or "
            "route."
        )


class Jensen(JensenRoute, Divergence):
    r"""Base of the divergences that are Jensen differences of a functional h of measures.

    .. math:: d(\mu, \nu)^2 = J(\mu, \nu) = h\left(\tfrac{\mu + \nu}{2}\right) - \tfrac12 \left(h(\mu) + h(\nu)\right)

    where h grows as a measure spreads out (an entropy, a log-determinant of the covariance). Semigroup
    kernels are :math:`\exp(-t J)`, or :math:`\exp(-t h((\mu + \nu)/2))` itself.

    A subclass is its own route and implements :meth:`prepare`, :meth:`values` and :meth:`mean_values`; or it chooses a
    :class:`JensenRoute` in :meth:`route`.
    """

    def route(self, X: Measures, Y: Measures) -> JensenRoute:
        """Return how the pairs of X and Y are computed: by default by this divergence itself."""
        return self

    def concentration(self, X: Measures) -> FloatArray:
        """Return h of each measure of X, (n,), masses normalised to 1; one without a finite value is refused."""
        self.check(X)
        route = self.route(X, X)
        values = np.asarray(route.values(route.prepare(X)))
        if not np.isfinite(values).all():
            row = X.rows[~np.isfinite(values)][0]
            raise NumericalError(
                f"{self!r} found no finite value of h for measure {row} (row of the collection it was sliced from). "
                "Check the scale of its points and weights."
            )
        return values

    def semigroup_definite(self, t: float, dim: int) -> bool | None:
        """Return whether exp(-t J) is proved positive definite for measures on R^dim; None if unknown."""
        negative_type = self.claims(dim).negative_type
        return True if negative_type is not None and negative_type >= self.power else None


class Functional(Frozen, ABC):
    """A functional h of probability measures, to be written by users of :class:`JensenDifference`.

    Make it a frozen dataclass with hashable fields. Only :meth:`value` is needed.
    """

    @abstractmethod
    def value(self, points: FloatArray, weights: FloatArray) -> float:
        """Return h of the measure with atoms ``points`` (n, d) and ``weights`` (n,) that sum to 1."""

    def of_mean(
        self, points: FloatArray, weights: FloatArray, other_points: FloatArray, other_weights: FloatArray
    ) -> float:
        """Return h of the mean of two measures: by default of their pooled atoms, with weights halved."""
        return self.value(np.concatenate([points, other_points]), np.concatenate([weights, other_weights]) / 2)


class _Atoms(NamedTuple):
    measures: list[tuple[FloatArray, FloatArray]]
    values: FloatArray


@dataclass(frozen=True)
class JensenDifference(Jensen):
    r"""Jensen difference of a functional of your own.

    .. math:: d(\mu, \nu)^2 = h\left(\tfrac{\mu + \nu}{2}\right) - \tfrac12 \left(h(\mu) + h(\nu)\right)

    Parameters
    ----------
    functional : Functional
        The functional h: the value of one measure and, where it is cheaper than pooling atoms, of the mean of two.

    Notes
    -----
    *Returned*: d, the square root of the Jensen difference; a negative difference (h is not concave) raises an error,
    and ``squared=True`` returns it as it is. *Metric, negative type*: unknown.
    *Cost*: one Python call per pair, whatever it takes. *Accuracy*: that of the functional, less what cancels in the
    difference.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> from kermes import Measures, pairwise
    >>> from kermes.divergences import Functional, JensenDifference
    >>> @dataclass(frozen=True)
    ... class Variance(Functional):
    ...     def value(self, points, weights):
    ...         return weights @ (points**2).sum(axis=1) - ((weights @ points) ** 2).sum()
    >>> X = Measures.from_samples([[0.0], [4.0]])
    >>> pairwise(X, divergence=JensenDifference(Variance()))  # half the distance of the means
    array([[0., 2.],
           [2., 0.]])
    """

    functional: Functional
    signed: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not all(callable(getattr(self.functional, name, None)) for name in ("value", "of_mean")):
            raise InvalidParameterError(
                "`functional` must be an object with the methods value and of_mean, such as an instance of a subclass "
                f"of divergences.Functional; got {self.functional!r}."
            )

    def claims(self, dim: int) -> Claims:
        return Claims(None, None, "depends on the functional")

    def prepare(self, X: Measures) -> _Atoms:
        cuts = X.offsets[1:-1]
        measures = list(zip(np.split(X.points, cuts), np.split(X.probabilities, cuts), strict=True))
        return _Atoms(measures, np.array([float(self.functional.value(*measure)) for measure in measures]))

    def mean_values(self, A: _Atoms, B: _Atoms, rows: IndexArray, cols: IndexArray, triangle: bool) -> FloatArray:
        out = empty_tile(rows, cols)
        for i, row in enumerate(rows):
            for j in range(i + 1 if triangle else 0, len(cols)):
                out[i, j] = self.functional.of_mean(*A.measures[row], *B.measures[cols[j]])
        return out

    def work(self, X: Measures, Y: Measures) -> float:
        """A Python call costs about as much as 20,000 operations, and an unknown functional 100 per atom."""
        return 2e4 + 100.0 * float(X.sizes.mean() + Y.sizes.mean())
