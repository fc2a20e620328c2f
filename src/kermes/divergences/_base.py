"""What a divergence is: parameters, claims, ``prepare`` once per measure, ``tile`` per block of pairs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._params import Frozen
from .._typing import FloatArray, IndexArray, StatusArray
from ..exceptions import InvalidParameterError, UnsuitableDataError
from ..ground import PointKernel
from ..measures import Measures

__all__ = ["Claims", "Divergence"]


@dataclass(frozen=True)
class Claims:
    """What is known about a divergence d, and why.

    Parameters
    ----------
    metric : bool or None
        Whether d satisfies the triangle inequality and separates measures; None = unknown.
    negative_type : float or None
        Largest known h such that d**h is conditionally negative definite, so that
        exp(-(d / l)**h' / 2) is positive definite for every l > 0 and 0 < h' <= h (Schoenberg).
        None = unknown, 0 = known to fail for every h that matters.
    reason : str
        The theorem or argument.
    fails_at : float or None
        A power h at which d**h is known not to be conditionally negative definite, for measures on R^dim; then no
        greater power is either. None = unknown.
    """

    metric: bool | None
    negative_type: float | None
    reason: str
    fails_at: float | None = None


class Divergence(Frozen, ABC):
    """Base of all divergences: frozen values that compare and hash by their parameters.

    A subclass is a frozen dataclass. The engine calls, in this order, :meth:`context` once per run,
    :meth:`prepare` once per collection, and :meth:`tile` for every block of pairs, the latter from
    several threads at once. Masses are normalised to 1 by every divergence.

    Searches reach the parameters, ``divergence__ground__sigma``: :meth:`with_params` makes the changed value.
    """

    @property
    def power(self) -> float:
        """``tile`` returns d**power: 2 for a divergence that is naturally squared, p for W_p^p."""
        return 2.0

    @property
    def biased(self) -> bool:
        """Whether ``tile`` gives equal measures a value other than 0; the engine then sets it to 0."""
        return False

    @property
    def signed(self) -> bool:
        """Whether ``tile`` may return values below 0 that are not rounding."""
        return False

    @property
    def error_estimate(self) -> Divergence | None:
        """A divergence whose ``tile`` returns the estimated error of this one's; None where values are exact."""
        return None

    @abstractmethod
    def claims(self, dim: int) -> Claims:
        """Return what is known for measures on R^dim."""

    def check(self, X: Measures) -> None:
        """Raise :class:`UnsuitableDataError` if measures like these cannot be compared."""

    def context(self, X: Measures, Y: Measures) -> Any:
        """Return what all measures of one run share: a common support, a route; None by default."""
        return None

    @abstractmethod
    def prepare(self, X: Measures, context: Any) -> Any:
        """Do the work that belongs to each measure alone; the result is read by many threads."""

    @abstractmethod
    def tile(
        self, A: Any, B: Any, rows: IndexArray, cols: IndexArray, triangle: bool
    ) -> tuple[FloatArray, StatusArray | None]:
        """Return d**power between prepared measures ``rows`` of A and ``cols`` of B, and their status.

        With ``triangle`` only the entries above the diagonal are read. A status of None means that
        all went well.
        """

    def work(self, X: Measures, Y: Measures, context: Any) -> float:
        """Return the estimated cost of one pair in elementary operations; it sizes the tiles."""
        return float(X.sizes.mean() + Y.sizes.mean())

    def row_work(self, X: Measures, Y: Measures, context: Any) -> float:
        """Return what each row of a tile costs once, whatever its columns; with it tiles are wide strips.

        The tile with ``triangle`` then has more columns than rows: its first columns are its rows.
        """
        return 0.0


def require_same_dim(X: Measures, Y: Measures) -> None:
    """Refuse collections whose points have different dimensions."""
    if X.dim != Y.dim:
        raise UnsuitableDataError(
            f"`X` has points of dimension {X.dim}, `Y` of dimension {Y.dim}; distances need one common dimension."
        )


def check_ground(ground: object) -> None:
    """Refuse what is not a point kernel."""
    if not isinstance(ground, PointKernel):
        raise InvalidParameterError(
            f"`ground` must be a point kernel such as ground.Gaussian(sigma=1.0); got {ground!r}."
        )


def portions(work: FloatArray, limit: float = 1.5e8) -> list[IndexArray]:
    """Return row numbers in portions of about ``limit`` operations, so that an interrupt is heard between them."""
    return np.split(np.arange(len(work)), np.flatnonzero(np.diff(np.cumsum(work) // limit)) + 1)


def empty_tile(rows: IndexArray, cols: IndexArray) -> FloatArray:
    """Return the array a tile core fills; zeros, since a triangle leaves the rest untouched."""
    return np.zeros((len(rows), len(cols)))
