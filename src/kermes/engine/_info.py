"""``Info``: how a matrix of distances came about."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._typing import FloatArray, StatusArray
from ..core.status import UNCONVERGED
from ._stored import StoredMatrix


@dataclass(frozen=True)
class Info:
    """How a matrix of distances came about.

    Parameters
    ----------
    status : ndarray of uint8, of the shape of the distances (a stored matrix if they are stored)
        0 = fine, 1 = the tolerance was not reached.
    n_evaluated : int
        Pairs computed in this call; the others were known already.
    seconds : float
        Wall time of the call.
    error : ndarray of the shape of the distances, or None
        Estimated absolute error of d**power, where the divergence is an integral (of J = d**2 for ``JensenShannon``
        with smoothing).
    """

    status: StatusArray | StoredMatrix
    n_evaluated: int
    seconds: float
    error: FloatArray | StoredMatrix | None = None

    @property
    def n_unconverged(self) -> int:
        """Number of entries whose tolerance was not reached."""
        if isinstance(self.status, StoredMatrix):
            return self.status.n_unconverged
        return int(np.count_nonzero(self.status == UNCONVERGED)) if self.status.any() else 0
