"""What moves where between two measures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .._checks import integer
from .._typing import FloatArray, IndexArray
from ..divergences import Sinkhorn, Wasserstein
from ..exceptions import InvalidParameterError
from ..measures import Measure


class Moves(NamedTuple):
    """Moves of mass, the largest first: atoms of the source and of the target (k,), the mass and its cost (k,)."""

    source: IndexArray
    target: IndexArray
    mass: FloatArray
    cost: FloatArray


@dataclass(frozen=True, eq=False, repr=False)
class TransportPlan:
    """A plan between two measures.

    Parameters
    ----------
    source, target : Measure
    plan : ndarray of shape (n_atoms of source, n_atoms of target)
        Mass moved; both measures have the mass 1.
    costs : ndarray of the same shape
        What moving a unit of mass costs.
    divergence : Divergence
        Whose plan it is.
    """

    source: Measure
    target: Measure
    plan: FloatArray
    costs: FloatArray
    divergence: Any

    @property
    def cost(self) -> float:
        """What the plan costs in all: W_p^p for ``Wasserstein``."""
        return float((self.plan * self.costs).sum())

    def moves(self, k: int | None = None) -> Moves:
        """Return the k largest moves of mass, or all; equal ones in order of the atoms."""
        rows, cols = np.nonzero(self.plan)
        mass = self.plan[rows, cols]
        order = np.argsort(-mass, kind="stable")
        order = order if k is None else order[: integer(k, "k", low=1)]
        rows, cols = rows[order], cols[order]
        return Moves(rows, cols, mass[order], self.costs[rows, cols])

    def __repr__(self) -> str:
        n, m = self.plan.shape
        return f"TransportPlan({n} to {m} atoms, {np.count_nonzero(self.plan)} moves, cost {self.cost:.3g})"


def transport_plan(mu: Measure, nu: Measure, divergence: Wasserstein | Sinkhorn | None = None) -> TransportPlan:
    """Return what moves where between two measures.

    Parameters
    ----------
    mu, nu : Measure
        Members of collections, such as ``X[0]`` and ``X[3]``.
    divergence : Wasserstein or Sinkhorn, optional
        Exact, ``Wasserstein(p=2)`` by default, or entropic, where mass of one atom spreads over many.

    See Also
    --------
    kermes.plot.TransportPlanDisplay : the picture.

    Examples
    --------
    >>> from kermes import Measures, inspection
    >>> X = Measures.from_samples([[0.0, 1.0], [1.0, 5.0]])
    >>> found = inspection.transport_plan(X[0], X[1])
    >>> found
    TransportPlan(2 to 2 atoms, 2 moves, cost 8.5)
    >>> found.moves(1).cost
    array([1.])
    """
    divergence = Wasserstein(p=2) if divergence is None else divergence
    if not isinstance(divergence, (Wasserstein, Sinkhorn)):
        raise InvalidParameterError(
            f"`divergence` must be Wasserstein or Sinkhorn, which have plans; got {divergence!r}."
        )
    for measure, name in ((mu, "mu"), (nu, "nu")):
        if not isinstance(measure, Measure):
            raise InvalidParameterError(f"`{name}` must be one measure, such as X[0]; got {type(measure).__name__}.")
    return TransportPlan(mu, nu, divergence.plan(mu, nu), divergence.plan_costs(mu, nu), divergence)
