"""Point kernels: positive definite similarities between points."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .._checks import integer, positive, real
from .._typing import FloatArray
from ..core import ground_codes
from ..exceptions import InvalidParameterError
from ._base import Ground, apply, symmetric


class PointKernel(Ground):
    """Base of the point kernels; one of your own defines ``between(x, y)``, positive definite.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> import numpy as np
    >>> from kermes import ground
    >>> @dataclass(frozen=True)
    ... class Cosine(ground.PointKernel):
    ...     def between(self, x, y):
    ...         return (x @ y.T) / np.outer(np.linalg.norm(x, axis=1), np.linalg.norm(y, axis=1))
    >>> Cosine()([[1.0, 0.0]], [[2.0, 0.0], [0.0, 3.0]])
    array([[1., 0.]])
    """

    #: Whether the mean embedding is known to be injective, so that MMD is a metric.
    characteristic: ClassVar[bool] = False
    _noun: ClassVar[str] = "point kernel"

    def diagonal(self, x: FloatArray) -> FloatArray:
        """Return k(x_i, x_i) for points x (n, d)."""
        parts = np.array_split(x, max(1, len(x) // 64))
        return np.concatenate([np.diagonal(self(part, part)) for part in parts])

    def table(self, points: FloatArray) -> FloatArray:
        """Return the (m, m) values between the points of a support; refuse a kernel that is not symmetric."""
        table = self(points, points)
        return table if self.code is not None else symmetric(table, self, self._noun)

    @staticmethod
    def _fill(code: int, params: FloatArray, x: FloatArray, y: FloatArray, out: FloatArray) -> None:
        from ..core.points import kernel_block

        kernel_block(code, params, x, y, out)


@dataclass(frozen=True)
class Linear(PointKernel):
    """``k(x, y) = <x, y>``."""

    code: ClassVar[Any] = ground_codes.LINEAR
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
    code: ClassVar[Any] = ground_codes.GAUSSIAN
    characteristic: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if (self.sigma is None) == (self.gamma is None):
            raise InvalidParameterError(
                "ground.Gaussian takes exactly one of `sigma` (a length) and `gamma` (= 1 / (2 sigma^2))."
            )
        if self.sigma is not None:
            positive(self.sigma, "sigma")
            real(self.sigma, "sigma", low=1e-150, high=1e150, remedy="Its square must be a number; scale the points.")
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

    def diagonal(self, x: FloatArray) -> FloatArray:
        """Return ones."""
        return np.ones(len(x))


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
    code: ClassVar[Any] = ground_codes.POLYNOMIAL
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
        with np.errstate(over="ignore"):  # as in compiled values: divergences refuse what is not finite
            return np.asarray((self.gamma * np.einsum("ik,ik->i", x, x) + self.coef0) ** self.degree)


@dataclass(frozen=True)
class Laplacian(PointKernel):
    """``k(x, y) = exp(-gamma |x - y|_1)``, as scikit-learn's ``laplacian_kernel``.

    Parameters
    ----------
    gamma : float
    """

    gamma: float = 1.0
    code: ClassVar[Any] = ground_codes.LAPLACIAN
    characteristic: ClassVar[bool] = True

    def __post_init__(self) -> None:
        positive(self.gamma, "gamma")

    @property
    def params(self) -> FloatArray:
        """``[gamma]``."""
        return np.array([float(self.gamma)])

    def diagonal(self, x: FloatArray) -> FloatArray:
        """Return ones."""
        return np.ones(len(x))


@dataclass(frozen=True)
class KernelFunction(PointKernel):
    """A point kernel from a function.

    Parameters
    ----------
    function : callable
        Takes points x (n, d) and y (m, d), and returns the (n, m) kernel values between them. One compiled by
        ``numba.njit`` takes two points (d,) and returns one value. Kernels compare by the identity of their functions.
    """

    function: Callable[..., Any]

    def between(self, x: FloatArray, y: FloatArray) -> FloatArray:
        """Call the function."""
        return apply(self.function, x, y)  # type: ignore[no-any-return]


def as_point_kernel(ground: Any) -> PointKernel:
    """Return a point kernel, or the point kernel that a function of two arrays of points is."""
    if isinstance(ground, PointKernel):
        return ground
    if callable(ground) and not isinstance(ground, (Ground, type)):
        return KernelFunction(ground)
    raise InvalidParameterError(
        f"`ground` must be a point kernel such as ground.Gaussian(sigma=1.0), or a function of two arrays of points; "
        f"got {ground!r}."
    )
