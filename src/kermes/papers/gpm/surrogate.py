"""The equivalent Wasserstein process as the surrogate of an optimisation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ... import EquivalentWassersteinGP, Measures
from ...optimization import Posterior, Surrogate
from .._paper import FloatArray


@dataclass(frozen=True)
class EquivalentSurrogate(Surrogate):
    """The equivalent Wasserstein process of Theorem 4 of `gpm`, :class:`kermes.EquivalentWassersteinGP`.

    The kernel is the squared exponential of the weights, value for value, so that *the search does not depend on the
    cost*; with one length scale it is :class:`kermes.optimization.EuclideanSurrogate` under another name.
    """

    cost: Any = "binary"
    isotropic: bool | None = None
    n_restarts: int = 1

    def regress(self, A: FloatArray, y: FloatArray, points: FloatArray | None, noise: bool, seed: int) -> Posterior:
        """Fit the process of the estimator."""
        support = np.arange(float(A.shape[1])) if points is None else points
        process = EquivalentWassersteinGP(self.cost, self.isotropic, noise, self.n_restarts, random_state=seed)
        return Posterior.of_weights(A, process.fit(Measures.from_histograms(A, support), y).gp_)
