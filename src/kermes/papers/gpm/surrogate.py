"""The equivalent Wasserstein process as the surrogate of an optimisation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ... import EquivalentWassersteinGP, Measures
from ...optimization import Posterior, Surrogate
from .._paper import FloatArray

__all__ = ["EquivalentSurrogate"]


@dataclass(frozen=True)
class EquivalentSurrogate(Surrogate):
    r"""The equivalent Wasserstein process of Theorem 4 of `gpm`, :class:`kermes.EquivalentWassersteinGP`.

    Parameters
    ----------
    cost : 'binary', 'euclidean', ground cost, or array of shape (m, m)
        Of the interpretation; *the search does not depend on it.*
    isotropic : bool, optional
        One length scale, or one for each weight; see :class:`kermes.EquivalentWassersteinGP`.
    n_restarts : int
        Searches for hyperparameters from random ones, beside the one from the median distance.

    Notes
    -----
    The kernel is the squared exponential of the weights, value for value. With one length scale this is
    :class:`kermes.optimization.EuclideanSurrogate` under another name.
    """

    cost: Any = "binary"
    isotropic: bool | None = None
    n_restarts: int = 1

    def regress(self, A: FloatArray, y: FloatArray, points: FloatArray | None, noise: bool, seed: int) -> Posterior:
        """Fit the process of the estimator."""
        support = np.arange(float(A.shape[1])) if points is None else points
        process = EquivalentWassersteinGP(self.cost, self.isotropic, noise, self.n_restarts, random_state=seed)
        return Posterior.of_weights(A, process.fit(Measures.from_histograms(A, support), y).gp_)
