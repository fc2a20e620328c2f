"""Geometry between points: costs c(x, y) for transport, point kernels k(x, y) for everything else.

Frozen objects with an integer ``code`` and an array ``params`` for the compiled cores, callable on two
arrays of points for everybody else. Imports ``core`` (at call time), ``_checks`` and ``exceptions``.

Costs: :class:`Euclidean`, :class:`SqEuclidean`, :class:`Binary`, :class:`Torus`, :class:`Matrix`.
Point kernels: :class:`Linear`, :class:`Gaussian`, :class:`Polynomial`, :class:`Laplacian`.
"""

from __future__ import annotations

from .costs import Binary, Cost, Euclidean, Matrix, SqEuclidean, Torus, as_cost
from .kernels import Gaussian, Laplacian, Linear, PointKernel, Polynomial

__all__ = [
    "Binary",
    "Cost",
    "Euclidean",
    "Gaussian",
    "Laplacian",
    "Linear",
    "Matrix",
    "PointKernel",
    "Polynomial",
    "SqEuclidean",
    "Torus",
    "as_cost",
]
