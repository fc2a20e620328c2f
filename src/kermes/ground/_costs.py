"""Ground costs: how much it takes to move a unit of mass from x to y."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from .._checks import as_distances, choice, positive, real
from .._frozen import FrozenArray
from .._typing import ArrayLike, FloatArray
from ..core import ground_codes
from ..exceptions import InvalidParameterError
from ._base import FromFunction, Ground


class Cost(Ground):
    """Base of the ground costs; one of your own defines ``between(x, y)``.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> import numpy as np
    >>> from kermes import ground
    >>> @dataclass(frozen=True)
    ... class Hours(ground.Cost):
    ...     day: float = 24.0
    ...
    ...     def between(self, x, y):
    ...         gap = np.abs(x - y.T) % self.day
    ...         return np.minimum(gap, self.day - gap)
    >>> Hours()([1.0, 12.0], [23.0])
    array([[ 2.],
           [11.]])
    """

    #: Whether it is a metric; None if that is not known.
    metric: ClassVar[bool | None] = None
    #: Whether it is the square of a distance.
    squared: ClassVar[bool] = False
    _noun: ClassVar[str] = "cost"
    _block: ClassVar[str] = "cost_block"

    @property
    def absolute(self) -> bool:
        """Whether it is ``|x - y|`` on the line, where transport then has a closed form."""
        return False

    @property
    def uniform(self) -> float | None:
        """The cost between any two different points if it is the same for all of them, otherwise None."""
        return None

    def largest(self, low: FloatArray, high: FloatArray) -> float:
        """Return an upper estimate of the costs between points of the box between ``low`` and ``high``, (d,)."""
        return float(self(low[None], high[None])[0, 0])

    def table(self, points: FloatArray) -> FloatArray:
        """Return the (m, m) costs between the points of a support; refuse one that is not symmetric or 0 at home."""
        table = super().table(points)
        if self.code is not None:
            return table
        home = np.diagonal(table)
        if home.max() > 1e-9 * table.max():
            i = int(home.argmax())
            raise InvalidParameterError(
                f"the cost {self!r} must be 0 between equal points; at point {i} of the support it is {home[i]:g}."
            )
        np.fill_diagonal(table, 0.0)
        return table

    def _checked(self, values: Any, shape: tuple[int, int]) -> FloatArray:
        array = super()._checked(values, shape)
        if array.size and array.min() < -1e-9 * np.abs(array).max():
            i, j = np.unravel_index(int(array.argmin()), shape)
            raise InvalidParameterError(
                f"the cost {self!r} must be at least 0; between x[{i}] and y[{j}] it is {array[i, j]:g}."
            )
        return np.maximum(array, 0.0)


@dataclass(frozen=True)
class Euclidean(Cost):
    """``c(x, y) = |x - y|``. A metric."""

    code: ClassVar[Any] = ground_codes.EUCLIDEAN
    metric: ClassVar[bool | None] = True
    absolute: ClassVar[bool] = True

    def between(self, x: FloatArray, y: FloatArray) -> FloatArray:
        """Return the distances; those whose squares are not normal numbers in units of their largest coordinate."""
        values = super().between(x, y)
        odd = np.nonzero(~((values > 1e-150) & (values < 1e150)))
        gaps = np.abs(x[odd[0]] - y[odd[1]])
        unit = np.where(gaps.max(axis=1) > 0, gaps.max(axis=1), 1.0)
        values[odd] = unit * np.sqrt(((gaps / unit[:, None]) ** 2).sum(axis=1))
        return values


@dataclass(frozen=True)
class SqEuclidean(Cost):
    """``c(x, y) = |x - y|^2``. Not a metric; the cost of W_2."""

    code: ClassVar[Any] = ground_codes.SQEUCLIDEAN
    metric: ClassVar[bool | None] = False
    squared: ClassVar[bool] = True


@dataclass(frozen=True)
class Binary(Cost):
    """``c(x, y) = scale`` if ``x != y``, else 0. A metric; transport under it is total variation.

    Parameters
    ----------
    scale : float
        Distance of any two different points. ``Wasserstein(p, cost=Binary(scale))`` raises it to the power p: the
        cost of a move is ``scale**p``. For the cost matrix C = c (1 - I) of papers, already raised, see
        :meth:`from_cost`.
    """

    scale: float = 1.0
    code: ClassVar[Any] = ground_codes.BINARY
    metric: ClassVar[bool | None] = True

    def __post_init__(self) -> None:
        positive(self.scale, "scale")

    @classmethod
    def from_cost(cls, c: float, p: float = 2.0) -> Binary:
        """Return the distance whose p-th power is c, so that W_p^p has the cost matrix c (1 - I).

        Examples
        --------
        >>> from kermes import ground
        >>> ground.Binary.from_cost(4.0, p=2)
        Binary(scale=2.0)
        """
        return cls(positive(c, "c") ** (1.0 / real(p, "p", low=1.0)))

    @property
    def params(self) -> FloatArray:
        return np.array([float(self.scale)])

    @property
    def uniform(self) -> float:
        return float(self.scale)


@dataclass(frozen=True)
class Torus(Cost):
    """Geodesic distance on the torus [0, period)^d: angles, times of day. A metric.

    Coordinates may lie outside; their differences, rounded to 1e-16 of the coordinates, are taken modulo the period.

    Parameters
    ----------
    period : float
        Length after which every coordinate repeats.
    """

    period: float = 1.0
    code: ClassVar[Any] = ground_codes.TORUS
    metric: ClassVar[bool | None] = True

    def __post_init__(self) -> None:
        positive(self.period, "period")

    @property
    def params(self) -> FloatArray:
        return np.array([float(self.period)])

    def largest(self, low: FloatArray, high: FloatArray) -> float:
        """Return half a period along every axis."""
        return 0.5 * float(self.period) * float(np.sqrt(len(low)))


@dataclass(frozen=True)
class Matrix(Cost):
    """Costs given as a table between the points of a shared support.

    Parameters
    ----------
    values : array of shape (m, m)
        Non-negative, symmetric, zero on the diagonal; entry (i, j) is the cost from bin i to bin j.
        Kept as a read-only table that compares by content. For ``Wasserstein`` it is a *distance*, which is raised to
        the power p; for costs that are raised already see :meth:`from_costs`.
    """

    values: ArrayLike
    _noun: ClassVar[str] = "cost matrix"

    def __post_init__(self) -> None:
        if not isinstance(self.values, FrozenArray):
            object.__setattr__(self, "values", FrozenArray(as_distances(self.values, "cost matrix")))

    @classmethod
    def from_costs(cls, costs: ArrayLike, p: float = 2.0) -> Matrix:
        """Return the distances whose p-th powers are ``costs``, so that W_p^p = min <costs, T>.

        Examples
        --------
        >>> import numpy as np
        >>> from kermes import ground
        >>> np.array(ground.Matrix.from_costs([[0.0, 4.0], [4.0, 0.0]], p=2).values)
        array([[0., 2.],
               [2., 0.]])
        """
        values = as_distances(costs, "cost matrix")
        return cls(np.sqrt(values) if p == 2 else values ** (1.0 / real(p, "p", low=1.0)))

    @property
    def size(self) -> int:
        return len(np.asarray(self.values))

    @property
    def uniform(self) -> float | None:
        values = np.asarray(self.values)
        apart = values[~np.eye(len(values), dtype=bool)]
        return float(apart[0]) if len(apart) and apart[0] > 0 and (apart == apart[0]).all() else None

    def largest(self, low: FloatArray, high: FloatArray) -> float:
        return float(np.asarray(self.values).max())

    def between(self, x: FloatArray, y: FloatArray) -> FloatArray:
        """Refuse: costs are given between bins."""
        raise InvalidParameterError(
            "a cost matrix holds costs between the bins of a support, not between points; look them up in `values`."
        )

    def table(self, points: FloatArray) -> FloatArray:
        return np.array(self.values)

    def pick(self, points: FloatArray, rows: Any, cols: Any) -> FloatArray:
        return np.asarray(self.values)[np.ix_(rows, cols)]


@dataclass(frozen=True)
class Metric(Cost):
    """A distance of :mod:`scipy.spatial.distance` by its name: ``'cityblock'``, ``'chebyshev'``, ``'cosine'``, ...

    Parameters
    ----------
    name : str
        ``'cosine'``, ``'correlation'``, ``'braycurtis'`` and ``'jensenshannon'`` are not metrics; the others are.
        (The last one is the distance of vectors divided by their sums: 0 between multiples of one vector.)
    """

    name: str

    def __post_init__(self) -> None:
        choice(self.name, "name", _SCIPY)

    @property
    def metric(self) -> bool:  # type: ignore[override]
        """Whether the distance satisfies the triangle inequality and is 0 between equal points only."""
        return self.name not in ("cosine", "correlation", "braycurtis", "jensenshannon")

    @property
    def absolute(self) -> bool:
        return self.name in ("cityblock", "chebyshev")

    def between(self, x: FloatArray, y: FloatArray) -> FloatArray:
        from scipy.spatial.distance import cdist

        return np.asarray(cdist(x, y, self.name))


@dataclass(frozen=True)
class CostFunction(FromFunction, Cost):
    """A cost from a function.

    Parameters
    ----------
    function : callable
        Takes points x (n, d) and y (m, d), and returns the (n, m) costs between them. One compiled by ``numba.njit``
        takes two points (d,) and returns their cost. Costs compare by the identity of their functions.
    """


#: SciPy's distances of two vectors alone, whatever the data.
_SCIPY = ("braycurtis", "canberra", "chebyshev", "cityblock", "correlation", "cosine", "hamming", "jensenshannon")
#: What makes the cost of a name, with defaults for its parameters.
COSTS: dict[str, Callable[..., Cost]] = {
    "euclidean": Euclidean,
    "sqeuclidean": SqEuclidean,
    "binary": Binary,
    "torus": Torus,
    **{name: partial(Metric, name) for name in _SCIPY},
}


def as_cost(cost: Any) -> Cost:
    """Return a cost object from a cost, a name, a square array or a function of two arrays of points."""
    if isinstance(cost, Cost):
        return cost
    if isinstance(cost, (np.ndarray, list, FrozenArray)):
        return Matrix(cost)
    if callable(cost) and not isinstance(cost, (Ground, type)):
        return CostFunction(cost)
    return COSTS[choice(cost, "cost", COSTS)]()
