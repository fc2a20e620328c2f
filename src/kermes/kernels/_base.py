"""The only place that names scikit-learn's ``Kernel``."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from .._typing import FloatArray
from ..engine import DEFAULT, Engine
from ..measures import as_measures

__all__ = ["MeasureKernel", "takes_measures"]


def takes_measures(kernel: object) -> bool:
    """Whether ``kernel`` is a scikit-learn kernel on measures, or sums and products of such."""
    return isinstance(kernel, Kernel) and not kernel.requires_vector_input


class MeasureKernel(Kernel):  # type: ignore[misc]
    """Base of the kernels on measures.

    They are scikit-learn kernels: ``SVC(kernel=k)``, ``GaussianProcessRegressor(kernel=k)``, sums and
    products with ``ConstantKernel`` and ``WhiteKernel``, and ``kernel__<parameter>`` in searches work
    on ``Measures``. Distances are remembered by the engine; every Gram matrix is a fresh array.
    """

    engine: Engine | None

    @property
    def requires_vector_input(self) -> bool:
        """False: scikit-learn passes the measures through untouched."""
        return False

    def is_stationary(self) -> bool:
        """Return False: measures have no translation that the kernel could ignore."""
        return False

    def diag(self, X: Any) -> FloatArray:
        """Return the diagonal of the Gram matrix of X: ones, unless a kernel says otherwise."""
        return np.ones(len(as_measures(X)))

    def _engine(self) -> Engine:
        return DEFAULT if self.engine is None else self.engine
