"""Ground costs: how much it takes to move a unit of mass from x to y."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .._checks import as_distances, choice, positive, real
from .._frozen import Frozen, FrozenArray
from .._typing import ArrayLike, FloatArray
from ..core import codes
from ._base import point_blocks

__all__ = ["Binary", "Cost", "Euclidean", "Matrix", "SqEuclidean", "Torus", "as_cost"]


class Cost(Frozen):
    """Base of the costs that are functions of two points."""

    code: ClassVar[int]
    name: ClassVar[str]

    @property
    def params(self) -> FloatArray:
        """Parameters for the compiled cores."""
        return np.zeros(1)

    @property
    def uniform(self) -> float | None:
        """The cost between any two different points if it is the same for all of them, otherwise None."""
        return None

    def __call__(self, x: ArrayLike, y: ArrayLike | None = None) -> FloatArray:
        """Return the (n, m) costs between points x (n, d) and y (m, d)."""
        from ..core.points import cost_block

        a, b, block = point_blocks(x, y)
        cost_block(self.code, self.params, a, b, block)
        return block


@dataclass(frozen=True)
class Euclidean(Cost):
    """``c(x, y) = |x - y|``. A metric."""

    code: ClassVar[int] = codes.EUCLIDEAN
    name: ClassVar[str] = "euclidean"


@dataclass(frozen=True)
class SqEuclidean(Cost):
    """``c(x, y) = |x - y|^2``. Not a metric; the cost of W_2."""

    code: ClassVar[int] = codes.SQEUCLIDEAN
    name: ClassVar[str] = "sqeuclidean"


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
    code: ClassVar[int] = codes.BINARY
    name: ClassVar[str] = "binary"

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
        """``[scale]``."""
        return np.array([float(self.scale)])

    @property
    def uniform(self) -> float:
        """The scale."""
        return float(self.scale)


@dataclass(frozen=True)
class Torus(Cost):
    """Geodesic distance on the torus [0, period)^d: angles, times of day. A metric.

    Parameters
    ----------
    period : float
        Length after which every coordinate repeats.
    """

    period: float = 1.0
    code: ClassVar[int] = codes.TORUS
    name: ClassVar[str] = "torus"

    def __post_init__(self) -> None:
        positive(self.period, "period")

    @property
    def params(self) -> FloatArray:
        """``[period]``."""
        return np.array([float(self.period)])


@dataclass(frozen=True)
class Matrix(Frozen):
    """Costs given as a table between the points of a shared support.

    Parameters
    ----------
    values : array of shape (m, m)
        Non-negative, symmetric, zero on the diagonal; entry (i, j) is the cost from bin i to bin j.
        Kept as a read-only table that compares by content. For ``Wasserstein`` it is a *distance*, which is raised to
        the power p; for costs that are raised already see :meth:`from_costs`.
    """

    values: ArrayLike

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
        values = as_distances(np.array(costs, dtype=np.float64), "cost matrix")
        return cls(np.sqrt(values) if p == 2 else values ** (1.0 / real(p, "p", low=1.0)))

    @property
    def uniform(self) -> float | None:
        """The cost between any two different bins if it is the same for all of them, otherwise None."""
        values = np.asarray(self.values)
        apart = values[~np.eye(len(values), dtype=bool)]
        return float(apart[0]) if len(apart) and apart[0] > 0 and (apart == apart[0]).all() else None


_BY_NAME: dict[str, type[Cost]] = {cost.name: cost for cost in (Euclidean, SqEuclidean, Binary, Torus)}


def as_cost(cost: Any) -> Cost | Matrix:
    """Return a cost object from its name, a square array or a cost object."""
    if isinstance(cost, (Cost, Matrix)):
        return cost
    if isinstance(cost, (np.ndarray, list)):
        return Matrix(cost)
    return _BY_NAME[choice(cost, "cost", _BY_NAME)]()
