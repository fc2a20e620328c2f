"""Point kernels: positive definite similarities between points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .._checks import integer, positive, real
from .._frozen import Frozen
from .._typing import ArrayLike, FloatArray
from ..core import codes
from ..exceptions import InvalidParameterError
from ._base import point_blocks

__all__ = ["Gaussian", "Laplacian", "Linear", "PointKernel", "Polynomial"]


class PointKernel(Frozen):
    """Base of the point kernels."""

    code: ClassVar[int]
    #: Whether the mean embedding is injective, so that MMD is a metric.
    characteristic: ClassVar[bool]

    @property
    def params(self) -> FloatArray:
        """Parameters for the compiled cores."""
        return np.zeros(1)

    def __call__(self, x: ArrayLike, y: ArrayLike | None = None) -> FloatArray:
        """Return the (n, m) kernel values between points x (n, d) and y (m, d)."""
        from ..core.points import kernel_block

        a, b, block = point_blocks(x, y)
        kernel_block(self.code, self.params, a, b, block)
        return block

    def diagonal(self, x: FloatArray) -> FloatArray:
        """Return k(x_i, x_i) for points x (n, d)."""
        return np.ones(len(x))


@dataclass(frozen=True)
class Linear(PointKernel):
    """``k(x, y) = <x, y>``."""

    code: ClassVar[int] = codes.LINEAR
    characteristic: ClassVar[bool] = False

    def diagonal(self, x: FloatArray) -> FloatArray:
        """Return ``|x_i|^2``."""
        return np.asarray(np.einsum("ik,ik->i", x, x))


@dataclass(frozen=True)
class Gaussian(PointKernel):
    """``k(x, y) = exp(-|x - y|^2 / (2 sigma^2)) = exp(-gamma |x - y|^2)``.

    Parameters
    ----------
    sigma, gamma : float
        Give exactly one. ``sigma`` is a length in the units of the points; gamma = 1 / (2 sigma^2).
    """

    sigma: float | None = None
    gamma: float | None = None
    code: ClassVar[int] = codes.GAUSSIAN
    characteristic: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if (self.sigma is None) == (self.gamma is None):
            raise InvalidParameterError(
                "ground.Gaussian takes exactly one of `sigma` (a length) and `gamma` (= 1 / (2 sigma^2))."
            )
        if self.sigma is not None:
            positive(self.sigma, "sigma")
        if self.gamma is not None:
            positive(self.gamma, "gamma")

    @property
    def rate(self) -> float:
        """The factor gamma of the squared distance in the exponent."""
        if self.gamma is not None:
            return float(self.gamma)
        assert self.sigma is not None  # by __post_init__
        return 0.5 / float(self.sigma) ** 2

    @property
    def params(self) -> FloatArray:
        """``[gamma]``."""
        return np.array([self.rate])


@dataclass(frozen=True)
class Polynomial(PointKernel):
    """``k(x, y) = (gamma <x, y> + coef0)^degree``, as scikit-learn's ``polynomial_kernel``.

    Parameters
    ----------
    degree : int
    coef0 : float
        At least 0, which keeps the kernel positive definite.
    gamma : float
    """

    degree: int = 3
    coef0: float = 1.0
    gamma: float = 1.0
    code: ClassVar[int] = codes.POLYNOMIAL
    characteristic: ClassVar[bool] = False

    def __post_init__(self) -> None:
        integer(self.degree, "degree", low=1)
        real(self.coef0, "coef0", low=0.0, remedy="A negative value makes the kernel indefinite.")
        positive(self.gamma, "gamma")

    @property
    def params(self) -> FloatArray:
        """``[gamma, coef0, degree]``."""
        return np.array([self.gamma, self.coef0, self.degree], dtype=np.float64)

    def diagonal(self, x: FloatArray) -> FloatArray:
        """Return ``(gamma |x_i|^2 + coef0)^degree``."""
        return np.asarray((self.gamma * np.einsum("ik,ik->i", x, x) + self.coef0) ** self.degree)


@dataclass(frozen=True)
class Laplacian(PointKernel):
    """``k(x, y) = exp(-gamma |x - y|_1)``, as scikit-learn's ``laplacian_kernel``.

    Parameters
    ----------
    gamma : float
    """

    gamma: float = 1.0
    code: ClassVar[int] = codes.LAPLACIAN
    characteristic: ClassVar[bool] = True

    def __post_init__(self) -> None:
        positive(self.gamma, "gamma")

    @property
    def params(self) -> FloatArray:
        """``[gamma]``."""
        return np.array([float(self.gamma)])
