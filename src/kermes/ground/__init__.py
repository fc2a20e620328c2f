"""Geometry between points: costs c(x, y) for transport, point kernels k(x, y) for everything else.

Both are frozen values, callable on two arrays of points, with one base: built-in ones have a ``code`` and ``params``
for the compiled cores, those of your own define ``between(x, y)`` or are plain functions. Imports ``measures``,
``_frozen`` and, at call time, ``core``. Start reading at ``_base``.

Costs: :class:`Euclidean`, :class:`SqEuclidean`, :class:`Binary`, :class:`Torus`, :class:`Matrix`, :class:`Metric`
(SciPy's distances), :class:`CostFunction`.
Point kernels: :class:`Linear`, :class:`Gaussian`, :class:`Polynomial`, :class:`Laplacian`, :class:`Table`
(on a finite set), :class:`KernelFunction`.
"""

from __future__ import annotations

from .._names import public_dir
from ._base import Ground
from ._costs import COSTS, Binary, Cost, CostFunction, Euclidean, Matrix, Metric, SqEuclidean, Torus, as_cost
from ._kernels import Gaussian, KernelFunction, Laplacian, Linear, PointKernel, Polynomial, Table, as_point_kernel

__all__ = [
    "COSTS",
    "Binary",
    "Cost",
    "CostFunction",
    "Euclidean",
    "Gaussian",
    "Ground",
    "KernelFunction",
    "Laplacian",
    "Linear",
    "Matrix",
    "Metric",
    "PointKernel",
    "Polynomial",
    "SqEuclidean",
    "Table",
    "Torus",
    "as_cost",
    "as_point_kernel",
]
__dir__ = public_dir(__all__)
