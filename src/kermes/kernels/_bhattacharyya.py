"""The Bhattacharyya kernel: the affinity of the Gaussians with the moments of two measures."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._typing import FloatArray
from ..divergences import Bhattacharyya as Distance
from ..engine import Engine
from ..ground import PointKernel
from ..measures import Measures
from ._base import MeasureKernel, number


@dataclass(eq=False, repr=False)
class Bhattacharyya(MeasureKernel):
    r"""Bhattacharyya kernel; with a point kernel as ground, the kernelised one (k-B).

    .. math:: k(\mu, \nu) = \int \sqrt{p_\mu \, p_\nu} = |S_\mu|^{1/4} |S_\nu|^{1/4} |H|^{-1/2}
              \exp\left(-\tfrac18 (m_\mu - m_\nu)' H^{-1} (m_\mu - m_\nu)\right), \qquad
              H = \tfrac12 (S_\mu + S_\nu)

    for Gaussians :math:`p_\mu = N(m_\mu, S_\mu)` with the mean m and the regularised covariance
    :math:`S = \Sigma + \eta I` of a measure in the feature space of the ground kernel.

    Parameters
    ----------
    ground, eta
        As in :class:`~kermes.divergences.Bhattacharyya`.
    engine : Engine, optional
        How distances are computed and remembered.

    Notes
    -----
    *Positive definite*: an inner product of square roots of densities, on the span of any finite set of atoms (where
    each integral has the value it has on a larger one). 1 on the diagonal. Unlike ``kernels.IGV``, covariances are
    centred separately and means compared; the measures are not pooled. *Cost*: see ``divergences.Bhattacharyya``.

    References
    ----------
    R. Kondor and T. Jebara, "A kernel between sets of vectors", ICML 2003.

    Examples
    --------
    >>> from kermes import Measures, ground, kernels
    >>> X = Measures.from_samples([[-1.0, 1.0], [3.0, 5.0]])
    >>> kernels.Bhattacharyya(ground.Linear(), eta=1.0)(X).round(3)
    array([[1.   , 0.368],
           [0.368, 1.   ]])
    """

    ground: PointKernel
    eta: float
    engine: Engine | None = None

    def _gram(self, X: Measures, Y: Measures | None, gradient: bool) -> tuple[FloatArray, FloatArray | None]:
        return np.exp(-self._squares(X, Y, Distance(self.ground, self.eta))), None

    def is_positive_definite(self, dim: int) -> bool:
        """Return True: an inner product of square roots of densities."""
        return True

    def __repr__(self) -> str:
        return f"Bhattacharyya({self.ground!r}, eta={number(self.eta)})"
